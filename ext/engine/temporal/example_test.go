package temporalengine_test

import (
	"context"
	"log"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/weftgo/weft/adk/dispatch"
	temporalengine "github.com/weftgo/weft/ext/engine/temporal"
	"github.com/weftgo/weft/ext/store/sqlite"
)

func Example() {
	ctx := context.Background()
	c, err := client.Dial(client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	store, err := sqlite.Open(ctx, "runs.db")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	dispatcher := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{ /* … */ }})
	engine, err := temporalengine.New(c, dispatcher, temporalengine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	w := worker.New(c, engine.TaskQueue(""), worker.Options{WorkerStopTimeout: 30 * time.Second})
	engine.Register(w)
	if err := w.Run(worker.InterruptCh()); err != nil {
		log.Fatal(err)
	}
}
