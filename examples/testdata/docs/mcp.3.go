package main

import (
	"os"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
	"github.com/weftgo/weft/ext/mcp/mcptool"
)

func driver() {
	drive.Check(os.Setenv("MCP_KEY", "0123456789abcdef0123456789abcdef"))
	go func() { drive.Check(serve(drive.Context(), drive.Agent(drive.Model(adktest.Says("Refunded."))))) }()
	drive.Listens("http://localhost:8080/mcp")
	server, err := mcptool.New(mcptool.Config{Name: "desk", URL: "http://localhost:8080/mcp"})
	drive.Check(err)
	defer server.Close()
	agent, err := adk.NewChatModelAgent(drive.Context(), &adk.ChatModelAgentConfig{Name: "clerk",
		Model: drive.Model(adktest.Calls(adktest.Call("refund", `{"request":"Refund order 7."}`)),
			adktest.Says("Done.").SeeingLast("tool refund#call_1: Refunded.")),
		Handlers: []adk.ChatModelAgentMiddleware{server.Middleware()}})
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(agent).Query(drive.Context(), "Refund order 7.")), "Done.")
}
