package main

import (
	"os"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	drive.Check(os.WriteFile("README.md", []byte("Read me."), 0o600))
	root, err := os.Getwd()
	drive.Check(err)
	clerk, err := newClerk(drive.Context(), drive.Model(adktest.Calls(adktest.Call("read_file", `{"file_path":"`+root+`/README.md"}`)), adktest.Says("Done.")), ".")
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(clerk).Query(drive.Context(), "Read.")), "Done.")
}
