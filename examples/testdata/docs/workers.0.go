package main

import (
	"context"
	"time"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/examples/internal/drive"
	"github.com/weftgo/weft/runs"
)

func driver() {
	ctx, store := drive.Context(), checkpoint.NewMemoryStore()
	pay := weft.Func("pay", "Pays.", func(context.Context, struct{}) (string, error) { return "paid", nil })
	agent := drive.Weft(weft.Config{Tools: []weft.Tool{pay}, Approve: []string{"pay"}},
		adktest.Calls(adktest.Call("pay", "{}")), adktest.Says("done").SeeingLast("tool pay#call_1: paid"))
	go func() { _ = work(store, agent) }()
	drive.Check(submit(ctx, store))
	for { // its answer is on the way
		out, err := dispatch.New(store, dispatch.Config{}).Wait(ctx, "ticket-7")
		drive.Check(err)
		if out.Status == runs.Done {
			drive.Equal(out.Message.Content, "done")
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
