package main

import (
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	ctx, store := drive.Context(), checkpoint.NewMemoryStore()
	runner := adk.NewRunner(ctx, adk.RunnerConfig{CheckPointStore: store, Durability: adk.EveryStep, KeepSteps: true,
		Agent: drive.Agent(drive.Model(adktest.Calls(adktest.Call("look", "{}")), adktest.Says("Seen."), adktest.Says("Seen again.")), drive.Tool("look", adktest.Says("seen")))})
	chat, err := conversation.New(store, "ana")
	drive.Check(err)
	drive.Equal(drive.Text(runner.Query(ctx, "Look.", chat.RunOption(conversation.HistoryOptions{}), adk.WithCheckPointID("r-1"))), "Seen.")
	steps, err := adk.Steps(ctx, store, "r-1")
	drive.Check(err)
	for _, s := range steps {
		if s.Kind == adk.StepResult {
			drive.Check(adk.Fork(ctx, store, "r-1", adk.ForkOptions{At: s.N, NewID: "r-2"}))
		}
	}
	drive.Check(continues(ctx, runner, chat, "r-1", "r-2"))
}
