package main

import (
	"github.com/weftgo/weft/examples/internal/drive"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

func driver() {
	main_()
	m, err := openai.NewChatModel(drive.Context(), &openai.Config{APIKey: "key", Model: "gpt-5-mini", RawHook: keepModeration})
	drive.Check(err)
	answer, err := m.Generate(drive.Context(), []*schema.Message{schema.UserMessage("Hello?")})
	drive.Check(err)
	drive.Equal(answer.Extra["moderation"], `{"flagged":false}`)
}
