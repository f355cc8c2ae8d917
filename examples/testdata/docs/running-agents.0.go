package main

import (
	"os"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	in, out, err := os.Pipe()
	drive.Check(err)
	os.Stdin = in
	_, err = out.WriteString("I am Ana.\nWho am I?\n")
	drive.Check(err)
	drive.Check(out.Close())
	drive.Check(chat(drive.Context(), drive.Runner(drive.Agent(drive.Model(adktest.Says("Hello."),
		adktest.Says("Ana.").Seeing("user: I am Ana.", "assistant: Hello.", "user: Who am I?"))))))
}
