package main

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/examples/internal/drive"
)

// driver has a process stand still in a payment, as if it had died, and decides what became of it.
func driver() {
	ctx, store := drive.Context(), checkpoint.NewMemoryStore()
	for found, want := range map[bool]string{true: "paid before", false: "paid"} {
		id := fmt.Sprint("run-", found)
		calling := make(chan struct{})
		dies := drive.Tool("pay", adktest.Does(func(context.Context, string) (string, error) {
			close(calling)
			select {}
		}))
		dying := adk.NewRunner(ctx, adk.RunnerConfig{CheckPointStore: store, Durability: adk.EveryStep,
			Agent: drive.Agent(drive.Model(adktest.Calls(adktest.Call("pay", "{}"))), dies)})
		dying.Query(ctx, "Pay.", adk.WithCheckPointID(id))
		<-calling
		runner := adk.NewRunner(ctx, adk.RunnerConfig{CheckPointStore: store, Durability: adk.EveryStep, Lease: adk.LeaseOptions{Steal: true},
			Agent: drive.Agent(drive.Model(adktest.Says("Done.").SeeingLast("tool pay#call_1: "+want)), drive.Tool("pay", adktest.Says("paid")))})
		events, err := runner.Resume(ctx, id)
		drive.Check(err)
		events, err = decide(ctx, runner, id, drive.Question(events), func(string) (string, bool) { return "paid before", found })
		drive.Check(err)
		drive.Equal(drive.Text(events), "Done.")
	}
}
