package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	runner := drive.Runner(drive.Agent(drive.Model(adktest.Calls(adktest.Call("look", "{}")), adktest.Says("Done.")),
		lookup{drive.Tool("look", adktest.Says("seen"))}))
	drive.Equal(drive.Text(runner.Query(drive.Context(), "Look.")), "Done.")
}
