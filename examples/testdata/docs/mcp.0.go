package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

// driver finds a server of files as npx: see drive.Main.
func driver() {
	drive.Check(run(drive.Context(), drive.ToolCaller(adktest.Calls(adktest.Call("list_directory", `{"path":"/data"}`)),
		adktest.Says("One file.").SeeingLast("tool list_directory#call_1: a file in /data"))))
}
