package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	clerk, err := newClerk(drive.Context(), drive.Model(adktest.Calls(adktest.Call("look", "{}")), adktest.Says("Seen.")),
		drive.Tools(drive.Tool("look", adktest.Says("seen"))))
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(clerk).Query(drive.Context(), "Look.")), "Seen.")
}
