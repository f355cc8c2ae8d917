package gemini_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// TestLive talks to the real service, for a few cents. WEFT_LIVE_GEMINI has the API key, WEFT_LIVE_GEMINI_MODEL another
// model than gemini-2.5-flash.
func TestLive(t *testing.T) {
	key := os.Getenv("WEFT_LIVE_GEMINI")
	if key == "" {
		t.Skip("WEFT_LIVE_GEMINI has no API key")
	}
	conf := &gemini.Config{APIKey: key, Model: "gemini-2.5-flash"}
	if name := os.Getenv("WEFT_LIVE_GEMINI_MODEL"); name != "" {
		conf.Model = name
	}
	m := chat(t, conf)
	question := []*schema.Message{schema.UserMessage("What is 2 + 3, and what is 2 * 3? Use both tools at the same time.")}
	begin, tokens := time.Now(), 0
	count := func(t *testing.T, answer *schema.Message) {
		require.Empty(t, kit.CheckUsage(answer.ResponseMeta.Usage))
		tokens += answer.ResponseMeta.Usage.TotalTokens
	}
	defer func() { t.Logf("%d tokens in %s", tokens, time.Since(begin)) }()
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		t.Run("tools/"+name, func(t *testing.T) {
			answer, err := ask(t.Context(), m, question, stream, functions("add", "multiply"))
			require.NoError(t, err)
			require.NotEmpty(t, answer.ToolCalls)
			count(t, answer)
			history := []*schema.Message{question[0], stored(t, answer)}
			for _, call := range answer.ToolCalls {
				history = append(history, schema.ToolMessage("7", call.ID, schema.WithToolName(call.Function.Name)))
			}
			answer, err = ask(t.Context(), m, history, stream, functions("add", "multiply"))
			require.NoError(t, err)
			count(t, answer)
		})
		t.Run("structured/"+name, func(t *testing.T) {
			answer, err := ask(t.Context(), m, []*schema.Message{schema.UserMessage("Name a city.")}, stream,
				gemini.WithResponseJSONSchema(object{"type": "object", "properties": object{"city": object{"type": "string"}}}))
			require.NoError(t, err)
			require.Contains(t, answer.Content, `"city"`)
			count(t, answer)
		})
	}
	t.Run("search", func(t *testing.T) {
		answer, err := m.Generate(t.Context(), []*schema.Message{schema.UserMessage("What is in the news today?")},
			gemini.WithServerTools(gemini.GoogleSearch()))
		require.NoError(t, err)
		require.NotNil(t, gemini.GetGroundMetadata(answer))
		count(t, answer)
	})
	t.Run("describe and count", func(t *testing.T) {
		info, err := m.ModelInfo(t.Context())
		require.NoError(t, err)
		require.Positive(t, info.InputTokenLimit)
		n, err := m.CountTokens(t.Context(), question, model.WithTools(nil))
		require.NoError(t, err)
		require.Positive(t, n)
	})
}
