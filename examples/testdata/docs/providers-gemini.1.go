package main

import (
	"os"

	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	drive.Check(os.WriteFile("manual.txt", []byte("Press the button."), 0o600))
	main_()
}
