package mcpserve_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
	"github.com/weftgo/weft/schema"
)

// costing is an answer that says what it used, the last chunk of several if it is streamed.
func costing(m *schema.Message, input, output int) adktest.Answer {
	end := &schema.Message{Role: schema.Assistant, ResponseMeta: &schema.ResponseMeta{
		Usage: &schema.TokenUsage{PromptTokens: input, CompletionTokens: output, TotalTokens: input + output}}}
	return adktest.Messages(m, end)
}

// Structured content says what the whole run has used, what came before it was interrupted and the calls of agents
// inside of it included.
// Rule mcp/MS2.
func TestAgent_SaysWhatItUsed(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprint("streaming ", streaming), func(t *testing.T) {
			helper, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "helper", Description: "Helps.",
				Model: adktest.NewModel(t, costing(schema.AssistantMessage("helped", nil), 1000, 100))})
			require.NoError(t, err)
			call1 := []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "helper", Arguments: `{"request":"x"}`}}}
			call2 := []schema.ToolCall{{ID: "2", Function: schema.FunctionCall{Name: "print", Arguments: `{}`}}}
			agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "refund",
				Model: adktest.NewModel(t, costing(schema.AssistantMessage("", call1), 10, 1),
					costing(schema.AssistantMessage("", call2), 20, 2), costing(schema.AssistantMessage("done", nil), 30, 3)),
				ToolsConfig: adktest.Tools(adk.NewAgentTool(t.Context(), helper), clientTool(t))})
			require.NoError(t, err)
			runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: adktest.NewStore(),
				EnableStreaming: streaming})
			s := newServer(t, mcpserve.Config{})
			require.NoError(t, mcpserve.AddAgent(s, runner, mcpserve.AgentOptions{Name: "refund", Description: "Refunds.",
				Structured: true}))
			client := connect(t, s, mcpserve.HTTPOptions{}, nil)
			result := call(t, client, answered(t, call(t, client, request), "accept", map[string]any{"text": "printed"}))
			require.Equal(t, "done", text(t, result))
			require.Equal(t, map[string]any{"input": 1060.0, "output": 106.0, "total": 1166.0},
				result.StructuredContent.(map[string]any)["usage"])
		})
	}
}
