package main

import (
	"context"

	"github.com/weftgo/weft/examples/internal/drive"
	"github.com/weftgo/weft/schema"
)

func driver() {
	main_()
	m, err := newModel(drive.Context(), func(context.Context) (string, error) { return "token", nil })
	drive.Check(err)
	answer, err := m.Generate(drive.Context(), []*schema.Message{schema.UserMessage("Hello?")})
	drive.Check(err)
	drive.Equal(answer.Content, drive.Answer)
}
