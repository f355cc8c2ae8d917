package nats_test

import (
	"context"
	"log"

	natsgo "github.com/nats-io/nats.go"

	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/ext/store/nats"
)

func Example() {
	ctx := context.Background()
	conn, err := natsgo.Connect("nats://localhost:4222", natsgo.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	store, err := nats.New(ctx, nats.Config{Conn: conn, Replicas: 3})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	d := dispatch.New(store, dispatch.Config{})
	outcome, err := d.Wait(ctx, "ticket-7")
	if err != nil {
		log.Fatal(err)
	}
	log.Println(outcome.Status)
}
