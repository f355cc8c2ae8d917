package main

import (
	"os"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	drive.Check(os.WriteFile("AGENTS.md", []byte("Use tabs."), 0o600))
	coder, err := newCoder(drive.Context(), drive.Model(adktest.Says("Done.")))
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(coder).Query(drive.Context(), "Add a test.")), "Done.")
}
