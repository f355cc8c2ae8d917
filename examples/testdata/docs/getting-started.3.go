package main

import (
	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	agent := drive.Weft(weft.Config{}, adktest.Says("Hello."), adktest.Says("Ana.").Seeing("user: I am Ana.", "assistant: Hello.", "user: Who am I?"))
	drive.Check(talk(drive.Context(), agent, "ana", "I am Ana."))
	drive.Check(talk(drive.Context(), agent, "ana", "Who am I?"))
}
