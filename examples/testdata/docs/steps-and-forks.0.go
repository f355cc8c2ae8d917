package main

import (
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	ctx, store := drive.Context(), checkpoint.NewMemoryStore()
	agent := drive.Agent(drive.Model(adktest.Calls(adktest.Call("weather", "{}")), adktest.Says("Go out."),
		adktest.Says("Stay in.").SeeingLast("tool weather#call_1: snow, -5 °C")), drive.Tool("weather", adktest.Says("sunny")))
	runner := newRunner(ctx, agent, store)
	drive.Equal(drive.Text(runner.Query(ctx, "What to do?", adk.WithCheckPointID("r-1"))), "Go out.")
	drive.Check(show(ctx, store, "r-1"))
	steps, err := adk.Steps(ctx, store, "r-1")
	drive.Check(err)
	for _, s := range steps {
		if s.Kind == adk.StepResult {
			drive.Check(otherwise(ctx, runner, store, "r-1", s.N))
		}
	}
}
