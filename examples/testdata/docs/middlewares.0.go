package main

import (
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	for length, want := range map[int]string{5: "xxxxx", 5000: strings.Repeat("x", 4000) + "\n(cut: look returned 5000 bytes)"} {
		agent, err := adk.NewChatModelAgent(drive.Context(), &adk.ChatModelAgentConfig{Name: "a",
			Model:       drive.Model(adktest.Calls(adktest.Call("look", "{}")), adktest.Says("Seen.").SeeingLast("tool look#call_1: "+want)),
			ToolsConfig: drive.Tools(drive.Tool("look", adktest.Says(strings.Repeat("x", length)))),
			Handlers:    []adk.ChatModelAgentMiddleware{&tidy{limit: 4000}}})
		drive.Check(err)
		drive.Equal(drive.Text(drive.Runner(agent).Query(drive.Context(), "Look.")), "Seen.")
	}
	plain, err := newAgent(drive.Context(), drive.Model(adktest.Says("Hello.")))
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(plain).Query(drive.Context(), "Hello?")), "Hello.")
}
