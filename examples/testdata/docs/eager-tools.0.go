package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	runner, err := newRunner(drive.Context(), drive.Model(adktest.Calls(adktest.Call("look", "{}")), adktest.Says("Done.")),
		[]tool.BaseTool{drive.Tool("look", adktest.Says("seen"))})
	drive.Check(err)
	drive.Equal(drive.Text(runner.Query(drive.Context(), "Look.")), "Done.")
}
