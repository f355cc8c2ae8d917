package main

import (
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	main_()
	counter, err := newCounter().Compile(drive.Context())
	drive.Check(err)
	words, err := counter.Invoke(drive.Context(), " Two words ")
	drive.Check(err)
	drive.Equal(words, 2)
}
