package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	said := make(chan string, 1)
	loop := newLoop(drive.Agent(drive.Model(adktest.Says("Hello.").Seeing("user: Hello?"))), checkpoint.NewMemoryStore(), "loop")
	said <- "Hello?"
	close(said)
	drive.Check(talk(drive.Context(), loop, said).ExitReason)
}
