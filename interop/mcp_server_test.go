package interop

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
	"github.com/weftgo/weft/schema"
)

// asker is a model that calls a tool some times in a row, and then says what it got.
type asker struct{ times int }

func (a *asker) Generate(_ context.Context, messages []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	answers := 0
	for _, m := range messages {
		if m.Role == schema.Tool {
			answers++
		}
	}
	last := messages[len(messages)-1]
	if answers == a.times {
		return schema.AssistantMessage("Hello, "+last.Content+"!", nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "call", Function: schema.FunctionCall{Name: "ask", Arguments: "{}"}}}), nil
}

func (a *asker) Stream(ctx context.Context, messages []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := a.Generate(ctx, messages, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}

func (a *asker) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return a, nil }

// addAsker serves an agent that asks its user some times in a row.
func addAsker(t *testing.T, server *mcpserve.Server, name string, times int) {
	t.Helper()
	ask, err := utils.InferTool("ask", "Asks the user.", func(ctx context.Context, _ struct{}) (string, error) {
		if _, answered, answer := tool.GetResumeContext[string](ctx); answered {
			return answer, nil
		}
		return "", tool.Interrupt(ctx, "What is your name?")
	})
	require.NoError(t, err)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "asker", Model: &asker{times},
		ToolsConfig: adktest.Tools(ask)})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: adktest.NewStore()})
	require.NoError(t, mcpserve.AddAgent(server, runner, mcpserve.AgentOptions{Name: name, Description: "Asks for a name.",
		Input: schema.NewParamsOneOfByRawJSON(json.RawMessage(`{"type":"object"}`))}))
}

// The suite answers agents that ask their user as clients of the newest version do, and tries to deceive them. What it
// wants to be asked by names of its own, or of a model, is left out.
func TestMCP_AgentsThatAskConform(t *testing.T) {
	node, script := suite(t)
	server, err := mcpserve.New(mcpserve.Config{Name: "conformance", Keys: [][]byte{make([]byte, 32)}})
	require.NoError(t, err)
	for name, times := range map[string]int{"test_input_required_result_elicitation": 1,
		"test_input_required_result_request_state": 1, "test_input_required_result_tampered_state": 1,
		"test_input_required_result_multi_round": 2} {
		addAsker(t, server, name, times)
	}
	handler, err := server.Handler(mcpserve.HTTPOptions{})
	require.NoError(t, err)
	web := httptest.NewServer(handler)
	defer web.Close()
	for _, scenario := range []string{"request-state", "multi-round", "missing-input-response", "result-type",
		"tampered-state", "ignore-extra-params", "validate-input", "unsupported-methods"} {
		t.Run(scenario, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), node, script, "server", "--url", web.URL, "--scenario",
				"input-required-result-"+scenario, "--spec-version", "2026-07-28")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
