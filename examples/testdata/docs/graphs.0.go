package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	main_()
	m := drive.Model(adktest.Says("42.").SeeingLast("user: What is it?"))
	answerer, err := newAnswerer(drive.Context(), drive.Finds("It is 42."), m)
	drive.Check(err)
	answer, err := ask(drive.Context(), answerer, "What is it?")
	drive.Check(err)
	drive.Equal(answer, "42.")
}
