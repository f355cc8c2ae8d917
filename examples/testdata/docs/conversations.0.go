package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	ctx := drive.Context()
	store, err := conversation.NewStore(checkpoint.NewMemoryStore())
	drive.Check(err)
	m := drive.Model(adktest.Says("Hello, Ana."), adktest.Says("Ana.").Seeing("user: I am Ana.", "assistant: Hello, Ana.", "user: Who am I?"))
	runner := drive.Runner(drive.Agent(m))
	drive.Check(answer(ctx, runner, store, "ana", "I am Ana."))
	drive.Check(answer(ctx, runner, store, "ana", "Who am I?"))
}
