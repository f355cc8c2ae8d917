package main

import (
	"errors"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/middlewares/budget"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	main_()
	ctx, store := drive.Context(), checkpoint.NewMemoryStore()
	limit, err := budget.New(ctx, &budget.Config{})
	drive.Check(err)
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "clerk", Handlers: []adk.ChatModelAgentMiddleware{limit},
		Model: drive.Model(adktest.Fails(errors.New("the machine broke")), adktest.Says("Done."))})
	drive.Check(err)
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: store, Durability: adk.EveryStep})
	account, err := budget.OpenAccount(ctx, store, "r-1", budget.Limits{ModelCalls: 100})
	drive.Check(err)
	for event := range runner.Query(budget.NewContext(ctx, account), "Go.", adk.WithCheckPointID("r-1")).All() {
		report(event)
	}
	events, err := resume(ctx, runner, store, "r-1")
	drive.Check(err)
	drive.Equal(drive.Text(events), "Done.")
}
