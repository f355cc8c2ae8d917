package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	planner, err := newPlanner(drive.Context(), drive.Model(
		adktest.Calls(adktest.Call("TaskCreate", `{"subject":"Cook","description":"Cook for six."}`)), adktest.Says("Planned.")))
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(planner).Query(drive.Context(), "Plan.")), "Planned.")
}
