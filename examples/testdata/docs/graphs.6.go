package main

import (
	"context"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/drive"
	"github.com/weftgo/weft/schema"
)

func driver() {
	chain := compose.NewChain[string, *schema.Message]()
	chain.AppendLambda(compose.InvokableLambda(func(_ context.Context, text string) ([]*schema.Message, error) {
		return []*schema.Message{schema.UserMessage(text)}, nil
	})).AppendChatModel(drive.Model(adktest.Says("Yes.")))
	r, err := chain.Compile(drive.Context(), compose.WithGraphName("asking"))
	drive.Check(err)
	answer, err := traced(drive.Context(), r, "Is it?")
	drive.Check(err)
	drive.Equal(answer.Content, "Yes.")
}
