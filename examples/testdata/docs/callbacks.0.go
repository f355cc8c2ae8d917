package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	tool := drive.Tool("clock", adktest.Says("noon"))
	runner := drive.Runner(drive.Agent(drive.Model(adktest.Calls(adktest.Call("clock", "{}")), adktest.Says("It is noon.")), tool))
	drive.Equal(drive.Text(ask(drive.Context(), runner, "What time is it?")), "It is noon.")
}
