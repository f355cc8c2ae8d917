package main

import (
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	for _, redacting := range []adk.ChatModelAgentMiddleware{newMiddleware(), newAudit()} {
		agent, err := adk.NewChatModelAgent(drive.Context(), &adk.ChatModelAgentConfig{Name: "a",
			Model:       drive.Model(adktest.Calls(adktest.Call("look", "{}")), adktest.Says("Seen.").SeeingLast("tool look#call_1: account ********")),
			ToolsConfig: drive.Tools(drive.Tool("look", adktest.Says("account 12345678"))), Handlers: []adk.ChatModelAgentMiddleware{redacting}})
		drive.Check(err)
		drive.Equal(drive.Text(drive.Runner(agent).Query(drive.Context(), "Look.")), "Seen.")
	}
}
