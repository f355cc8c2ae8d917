package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	drive.Check(ask(drive.Context(), drive.ToolCaller(adktest.Calls(adktest.Call("look", "{}")), adktest.Says("Done.")),
		[]tool.BaseTool{drive.Tool("look", adktest.Says("seen"))}, "Look."))
}
