package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	agent, err := newAgent(drive.Context(), drive.ToolCaller(
		adktest.Calls(adktest.Call("plan", `{"steps":["Look."]}`)), adktest.Says("Two are late."),
		adktest.Calls(adktest.Call("respond", `{"response":"Two suppliers."}`))), nil)
	drive.Check(err)
	drive.Contains(drive.Text(drive.Runner(agent).Query(drive.Context(), "Who is late?")), "Two suppliers.")
}
