package serve

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// meteredModel asks by a tool, and then says what it was answered. Each answer uses 10 tokens more than the one before.
type meteredModel struct{ calls *atomic.Int32 }

func (m meteredModel) Generate(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	n := int(m.calls.Add(1))
	answer := schema.AssistantMessage("Thank you.", nil)
	if history[len(history)-1].Role == schema.User {
		answer = schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "ask", Arguments: `{}`}}})
	}
	answer.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 10 * n, CompletionTokens: n,
		TotalTokens: 11 * n}}
	return answer, nil
}

func (m meteredModel) Stream(
	ctx context.Context, history []*schema.Message, opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, history, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

// metered makes an agent of it.
func metered(t *testing.T, calls *atomic.Int32) adk.Agent {
	t.Helper()
	ask, err := utils.InferTool("ask", "Asks.", func(ctx context.Context, _ struct{}) (string, error) {
		if _, answered, text := tool.GetResumeContext[string](ctx); answered {
			return text, nil
		}
		return "", tool.Interrupt(ctx, "May I?")
	})
	require.NoError(t, err)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "desk", Description: "helps",
		Model: meteredModel{calls}, ToolsConfig: adktest.Tools(tool.BaseTool(ask))})
	require.NoError(t, err)
	return agent
}

// A run shows what all of it has used: what was asked by one process and answered in another one is added up. A run of
// which nothing is known shows nothing.
// Rule serving/SV6.
func TestServer_ShowsWhatARunHasUsed(t *testing.T) {
	dir, calls := t.TempDir(), new(atomic.Int32)
	first := newDesk(t, stores(t, dir), metered(t, calls))
	run := first.call(201, "POST", "/agents/desk/runs", `{"input":"Ask!"}`, "Prefer", "wait=10")
	require.Equal(t, map[string]any{"input": 10.0, "output": 1.0, "total": 11.0}, run["usage"])
	require.NoError(t, first.srv.Shutdown(t.Context()))

	second := newDesk(t, stores(t, dir), metered(t, calls))
	open := second.call(200, "GET", "/questions", "")["questions"].([]any)[0].(map[string]any)["id"].(string)
	run = second.call(202, "POST", "/runs/"+run["id"].(string)+"/replies", `{"replies":{"`+open+`":"you may"}}`, "Prefer", "wait=10")
	require.Equal(t, "done", run["status"])
	whole := map[string]any{"input": 30.0, "output": 3.0, "total": 33.0}
	require.Equal(t, whole, run["usage"])
	require.Equal(t, whole, second.call(200, "GET", "/runs", "")["runs"].([]any)[0].(map[string]any)["usage"])

	silent := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{}, adktest.Says("Hello.")))
	run = silent.call(201, "POST", "/agents/desk/runs", `{"input":"Hi"}`, "Prefer", "wait=10")
	require.Equal(t, "done", run["status"])
	require.NotContains(t, run, "usage")
}
