package main

import (
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	found, err := letters(drive.Context(), drive.Finds("a letter from Rome"))
	drive.Check(err)
	drive.Equal(len(found), 1)
}
