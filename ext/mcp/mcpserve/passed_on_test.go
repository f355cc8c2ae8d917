package mcpserve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
	"github.com/weftgo/weft/ext/mcp/mcptool"
)

// What an MCP server asks an agent that is one itself is asked the client, and its answer goes all the way back.
// Rules mcp/MS4, mcp/MC22.
func TestAgent_PassesQuestionsOfOtherServersOn(t *testing.T) {
	bank := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil)
	bank.AddTool(&mcp.Tool{Name: "pay", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if said, ok := r.Params.InputResponses["sum"].(*mcp.ElicitResult); ok {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("paid ", said.Content["sum"])}}}, nil
			}
			return &mcp.CallToolResult{RequestState: "s", InputRequests: mcp.InputRequestMap{"sum": &mcp.ElicitParams{Message: "How much?",
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}`)}}}, nil
		})
	tools, err := mcptool.New(mcptool.Config{Name: "bank", Transport: func(context.Context) (mcp.Transport, error) {
		here, there := mcp.NewInMemoryTransports()
		_, err := bank.Connect(context.Background(), there, nil)
		return here, err
	}})
	require.NoError(t, err)
	defer tools.Close()
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "refund",
		Model:    adktest.NewModel(t, adktest.Calls(adktest.Call("pay", `{}`)), adktest.Says("done").SeeingLast("tool pay#call_1: paid 5")),
		Handlers: []adk.ChatModelAgentMiddleware{tools.Middleware()}})
	require.NoError(t, err)
	s := newServer(t, mcpserve.Config{})
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: adktest.NewStore()})
	require.NoError(t, mcpserve.AddAgent(s, runner, mcpserve.AgentOptions{Name: "refund", Description: "Refunds."}))
	client := connect(t, s, mcpserve.HTTPOptions{}, nil)
	asked := call(t, client, request)
	asked = call(t, client, answered(t, asked, "accept", map[string]any{"sum": "much"}))
	for _, r := range asked.InputRequests {
		require.Contains(t, r.(*mcp.ElicitParams).Message, "bank asks: How much?\nThe answer before was refused: sum")
	}
	require.Equal(t, "done", text(t, call(t, client, answered(t, asked, "accept", map[string]any{"sum": 5}))))
}

// A question of a tool is answered with a text.
func TestAgent_AsksPlainQuestions(t *testing.T) {
	for action, want := range map[string]string{"accept": "Paris", "decline": "the user declined"} {
		city := adktest.NewTool("city", adktest.Does(func(ctx context.Context, _ string) (string, error) {
			if _, ok, answer := tool.GetResumeContext[string](ctx); ok {
				return answer, nil
			}
			return "", tool.Interrupt(ctx, "Which city?")
		}).Repeated())
		s := desk(t, mcpserve.Config{}, city, adktest.Calls(adktest.Call("city", `{}`)),
			adktest.Says("done").SeeingLast("tool city#call_1: "+want))
		client := connect(t, s, mcpserve.HTTPOptions{}, nil)
		result := call(t, client, answered(t, call(t, client, request), action, map[string]any{"answer": "Paris"}))
		require.Equal(t, "done", text(t, result))
	}
}
