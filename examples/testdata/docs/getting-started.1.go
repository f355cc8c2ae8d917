package main

import (
	"context"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	clock := weft.Func("clock", "Tells the time.", func(context.Context, struct{}) (string, error) { return "noon", nil })
	agent := drive.Weft(weft.Config{Tools: []weft.Tool{clock}}, adktest.Calls(adktest.Call("clock", "{}")), adktest.Streams("It is ", "noon."))
	drive.Check(show(drive.Context(), agent, "What time is it?"))
}
