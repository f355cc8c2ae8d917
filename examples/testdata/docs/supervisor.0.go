package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	team, err := newTeam(drive.Context(), drive.Model(
		adktest.Calls(adktest.Call("transfer_to_agent", `{"agent_name":"researcher"}`)), adktest.Says("The moon."), adktest.Says("It is the moon.")))
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(team).Query(drive.Context(), "Why?")), "It is the moon.")
}
