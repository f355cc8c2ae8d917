package anthropic_test

import (
	"context"
	"encoding/base64"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// liveModel is cheap and knows everything that the test asks of it.
const liveModel = "claude-haiku-4-5"

// A red square of one pixel.
const redPixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="

// TestLive asks the real service, for a few cents, when WEFT_LIVE_ANTHROPIC holds a key.
func TestLive(t *testing.T) {
	key := os.Getenv("WEFT_LIVE_ANTHROPIC")
	if key == "" {
		t.Skip("set WEFT_LIVE_ANTHROPIC to a key")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m, err := anthropic.NewChatModel(ctx, &anthropic.Config{APIKey: key, Model: liveModel, MaxTokens: 3000})
	require.NoError(t, err)
	tokens := 0
	ask := func(in []*schema.Message, opts ...model.Option) *schema.Message {
		sr, err := m.Stream(ctx, in, opts...)
		require.NoError(t, err)
		got, err := schema.ConcatMessageStream(sr)
		require.NoError(t, err)
		require.Empty(t, kit.CheckUsage(got.ResponseMeta.Usage))
		tokens += got.ResponseMeta.Usage.TotalTokens
		return got
	}
	user := func(text string) []*schema.Message { return []*schema.Message{schema.UserMessage(text)} }
	add := model.WithTools([]*schema.ToolInfo{{Name: "add", Desc: "adds", ParamsOneOf: schema.NewParamsOneOfByParams(
		map[string]*schema.ParameterInfo{"a": {Type: schema.Integer, Required: true}, "b": {Type: schema.Integer, Required: true}})}})

	t.Run("text", func(t *testing.T) {
		got, err := m.Generate(ctx, user("Say yes."))
		require.NoError(t, err)
		require.Contains(t, strings.ToLower(got.Content), "yes")
	})
	t.Run("thinking and two calls", func(t *testing.T) {
		think := anthropic.WithThinking(anthropic.BudgetThinking(1024))
		in := user("Use the tool for both sums at once: 17+25 and 40+2.")
		got := ask(in, add, think)
		require.Len(t, got.ToolCalls, 2)
		require.NotEmpty(t, got.ReasoningContent)
		in = append(in, got, schema.ToolMessage("42", got.ToolCalls[0].ID), schema.ToolMessage("42", got.ToolCalls[1].ID))
		require.Contains(t, ask(in, add, think).Content, "42")
	})
	t.Run("structured", func(t *testing.T) {
		got := ask(user("Ann is 30."), anthropic.WithResponseFormat(&anthropic.ResponseFormat{
			RawSchema: []byte(`{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"],"additionalProperties":false}`),
		}))
		require.JSONEq(t, `{"age":30}`, got.Content)
	})
	t.Run("image", func(t *testing.T) {
		_, err := base64.StdEncoding.DecodeString(redPixel)
		require.NoError(t, err)
		data := redPixel
		m := schema.UserMessage("")
		m.UserInputMultiContent = []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "Which colour? One word."},
			{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{
				MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"}}},
		}
		require.NotEmpty(t, ask([]*schema.Message{m}).Content)
	})
	t.Run("search", func(t *testing.T) {
		got := ask(user("Search the web once: who won the last football world cup?"),
			anthropic.WithServerTools(anthropic.WebSearch{MaxUses: 1}.Tool()))
		ask([]*schema.Message{user("Search the web once: who won?")[0], got, schema.UserMessage("Thanks.")},
			anthropic.WithServerTools(anthropic.WebSearch{MaxUses: 1}.Tool()))
	})
	liveRest(ctx, t, m)
	t.Logf("%d tokens: at most %.3f USD", tokens, float64(tokens)*5/1e6)
}

func liveRest(ctx context.Context, t *testing.T, m *anthropic.ChatModel) {
	user := func(text string) []*schema.Message { return []*schema.Message{schema.UserMessage(text)} }
	t.Run("count", func(t *testing.T) {
		n, err := m.CountTokens(ctx, user("Say yes."))
		require.NoError(t, err)
		require.Positive(t, n)
	})
	t.Run("cancel", func(t *testing.T) {
		sr, err := m.Stream(ctx, user("Count to a thousand."))
		require.NoError(t, err)
		_, err = sr.Recv()
		require.NoError(t, err)
		sr.Close()
	})
}
