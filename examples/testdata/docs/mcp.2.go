package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/examples/internal/drive"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/runs"
)

type sure struct{}

func (sure) Asks() runs.Question {
	return runs.Question{Kind: "question", Text: "Are you sure?",
		Schema: json.RawMessage(`{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}`)}
}

func driver() {
	ctx := drive.Context()
	refund, err := utils.InferTool("refund", "Refunds.", func(ctx context.Context, _ struct{}) (string, error) {
		if target, answered, reply := tool.GetResumeContext[any](ctx); target && answered {
			return fmt.Sprint("refunded: ", reply), nil
		}
		return "", tool.Interrupt(ctx, sure{})
	})
	drive.Check(err)
	server, err := mcpserve.New(mcpserve.Config{Name: "desk", Keys: [][]byte{[]byte("0123456789abcdef0123456789abcdef")}})
	drive.Check(err)
	drive.Check(mcpserve.AddAgent(server, drive.Runner(drive.Agent(drive.Model(adktest.Calls(adktest.Call("refund", "{}")), adktest.Says("Refunded.")), refund)),
		mcpserve.AgentOptions{Name: "refund", Description: "Refunds an order."}))
	handler, err := server.Handler(mcpserve.HTTPOptions{})
	drive.Check(err)
	web := httptest.NewServer(handler)
	defer web.Close()
	desk, err := mcptool.New(mcptool.Config{Name: "desk", URL: web.URL})
	drive.Check(err)
	defer desk.Close()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "clerk", Handlers: []adk.ChatModelAgentMiddleware{desk.Middleware()},
		Model: drive.Model(adktest.Calls(adktest.Call("refund", `{"request":"Refund order 7."}`)), adktest.Says("Done."))})
	drive.Check(err)
	runner := drive.Runner(agent)
	event := drive.Question(runner.Query(ctx, "Refund order 7.", adk.WithCheckPointID("r-1")))
	drive.Check(answer(ctx, runner, "r-1", event.Action.Interrupted.InterruptContexts[0]))
}
