package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/filesystem/local"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	files, err := local.NewBackend(drive.Context(), &local.Config{Root: "."})
	drive.Check(err)
	clerk, err := newClerk(drive.Context(), drive.Model(adktest.Calls(adktest.Call("read_file", `{"file_path":"/nothing"}`)), adktest.Says("No such file.")), files)
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(clerk).Query(drive.Context(), "Read.")), "No such file.")
}
