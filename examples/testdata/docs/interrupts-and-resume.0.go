package main

import (
	"context"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	pay, err := utils.InferTool("pay", "Pays.", func(ctx context.Context, _ struct{}) (string, error) { return ask(ctx, "How much?") })
	drive.Check(err)
	m := drive.Model(adktest.Calls(adktest.Call("pay", "{}")), adktest.Says("Done.").SeeingLast("tool pay#call_1: 5 euros"))
	drive.Check(talk(drive.Context(), drive.Runner(drive.Agent(m, pay)), "r-1", "Pay.", func(question any) string {
		drive.Equal(question, "How much?")
		return "5 euros"
	}))
}
