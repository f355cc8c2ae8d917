package redis_test

import (
	"context"
	"log"
	"log/slog"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/ext/store/redis"
)

func Example() {
	ctx := context.Background()
	client := goredis.NewClient(&goredis.Options{Addr: "localhost:6379"})
	defer client.Close()
	store, err := redis.New(ctx, redis.Config{Client: client, Logger: slog.Default()})
	if err != nil {
		log.Fatal(err)
	}
	d := dispatch.New(store, dispatch.Config{})
	outcome, err := d.Wait(ctx, "ticket-7")
	if err != nil {
		log.Fatal(err)
	}
	log.Println(outcome.Status)
}
