package main

import (
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	main_()
	desk, err := newDesk().Compile(drive.Context())
	drive.Check(err)
	for count, want := range map[int]string{3: "tea is on its way", 11: "11 are too many"} {
		text, err := desk.Invoke(drive.Context(), order{Item: "tea", Count: count})
		drive.Check(err)
		drive.Equal(text, want)
	}
}
