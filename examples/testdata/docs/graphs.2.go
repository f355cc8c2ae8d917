package main

import (
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	main_()
	writer, err := newWriter().Compile(drive.Context())
	drive.Check(err)
	text, err := writer.Invoke(drive.Context(), "a letter")
	drive.Check(err)
	drive.Equal(text, "draft of draft of draft of a letter, shorter, shorter, shorter")
}
