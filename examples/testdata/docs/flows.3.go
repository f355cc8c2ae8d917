package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
	"github.com/weftgo/weft/flow/agent/react"
	"github.com/weftgo/weft/schema"
)

func driver() {
	researcher, err := react.NewAgent(drive.Context(), &react.AgentConfig{ToolCallingModel: drive.ToolCaller(adktest.Says("a fact"))})
	drive.Check(err)
	team, err := newTeam(drive.Context(), drive.ToolCaller(adktest.Calls(adktest.Call("researcher", `{"reason":"facts"}`))), drive.Model(), researcher)
	drive.Check(err)
	answer, err := team.Generate(drive.Context(), []*schema.Message{schema.UserMessage("A fact, please.")})
	drive.Check(err)
	drive.Equal(answer.Content, "a fact")
}
