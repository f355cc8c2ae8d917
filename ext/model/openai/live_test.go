package openai

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// TestLive asks a real server of the Chat Completions API, for a cent at most. WEFT_LIVE_OPENAI is the key,
// WEFT_LIVE_OPENAI_URL and WEFT_LIVE_OPENAI_MODEL lead to another server.
func TestLive(t *testing.T) {
	key := os.Getenv("WEFT_LIVE_OPENAI")
	if key == "" {
		t.Skip("set WEFT_LIVE_OPENAI to a key to talk to OpenAI")
	}
	name := os.Getenv("WEFT_LIVE_OPENAI_MODEL")
	if name == "" {
		name = "gpt-4o-mini"
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m, err := NewChatModel(ctx, &Config{APIKey: key, BaseURL: os.Getenv("WEFT_LIVE_OPENAI_URL"), Model: name})
	require.NoError(t, err)
	got, err := m.Generate(ctx, []*schema.Message{schema.UserMessage("Say hello.")})
	require.NoError(t, err)
	require.NotEmpty(t, got.Content)
	require.Empty(t, kit.CheckUsage(got.ResponseMeta.Usage))

	ask := []*schema.Message{schema.UserMessage("What is the weather in Rome and in Oslo? Call the tool for both at once.")}
	called := joined(t, streamOf(ctx, t, m, ask, model.WithTools(weatherTool), model.WithToolChoice(schema.ToolChoiceForced)))
	require.NotEmpty(t, called.ToolCalls)
	history := append(ask, called)
	for _, call := range called.ToolCalls {
		history = append(history, schema.ToolMessage("sunny", call.ID, schema.WithToolName("weather")))
	}
	answer := joined(t, streamOf(ctx, t, m, history, model.WithTools(weatherTool)))
	require.Contains(t, answer.Content, "sunny")
	t.Log(answer.Content, answer.Extra[kit.UsageRawKey], answer.Extra[kit.UsageCostKey])

	sr := streamOf(ctx, t, m, []*schema.Message{schema.UserMessage("Count to a thousand.")})
	_, err = sr.Recv()
	require.NoError(t, err)
	sr.Close()
}

func streamOf(
	ctx context.Context, t *testing.T, m *ChatModel, in []*schema.Message, opts ...model.Option,
) *schema.StreamReader[*schema.Message] {
	t.Helper()
	sr, err := m.Stream(ctx, in, opts...)
	require.NoError(t, err)
	return sr
}
