package main

import (
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	text, err := pay(drive.Context(), "5 euros")
	drive.Check(err)
	drive.Equal(text, "paid 5 euros")
}
