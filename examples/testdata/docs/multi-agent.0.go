package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	main_()
	team, err := newTeam(drive.Context(), drive.Model(
		adktest.Calls(adktest.Call("transfer_to_agent", `{"agent_name":"newsroom"}`)), adktest.Says("A fact."), adktest.Says("An article.")))
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(team).Query(drive.Context(), "Write.")), "An article.")
}
