package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	main_()
	for _, found := range []drive.Finds{"", "It is 42."} {
		want := "system: Answer from these documents:\n- It is 42.\n"
		if found == "" {
			want = "system: Answer from these documents:\n(none: say that nothing was found)"
		}
		answerer, err := newAnswerer(drive.Context(), found, drive.Model(adktest.Says("So.").Seeing(want, "user: What is it?")))
		drive.Check(err)
		_, err = answerer.Invoke(drive.Context(), "What is it?")
		drive.Check(err)
	}
}
