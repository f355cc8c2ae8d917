package openai_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

// TestResponsesLive talks to OpenAI, which costs a few cents. WEFT_LIVE_OPENAI is the key.
func TestResponsesLive(t *testing.T) {
	key := os.Getenv("WEFT_LIVE_OPENAI")
	if key == "" {
		t.Skip("set WEFT_LIVE_OPENAI to a key to talk to OpenAI")
	}
	conf := openai.ResponsesConfig{
		APIKey: key, Model: "gpt-5-mini", Reasoning: &openai.ResponsesReasoning{Effort: "low", Summary: "auto"},
	}
	used := 0
	ask := func(t *testing.T, change func(*openai.ResponsesConfig), in []*schema.AgenticMessage, stream bool, opts ...model.Option) *schema.AgenticMessage {
		own := conf
		if change != nil {
			change(&own)
		}
		answer, err := newResponsesAsker(t, &own)(t, in, stream, opts...)
		require.NoError(t, err)
		require.Empty(t, kit.CheckUsage(answer.ResponseMeta.TokenUsage))
		used += answer.ResponseMeta.TokenUsage.TotalTokens
		return answer
	}
	none := func(*openai.ResponsesConfig) {}
	add := &schema.ToolInfo{Name: "add", Desc: "Adds two numbers.", ParamsOneOf: schema.NewParamsOneOfByParams(
		map[string]*schema.ParameterInfo{"a": {Type: schema.Integer, Required: true}, "b": {Type: schema.Integer, Required: true}})}
	for _, stream := range []bool{false, true} {
		for name, change := range map[string]func(*openai.ResponsesConfig){"stateless": none, "stored": keepsResponses} {
			t.Run(name, func(t *testing.T) {
				in := userSays("Call add twice at the same time: 1 and 2, and 30 and 4. Then say both sums.")
				answer := ask(t, change, in, stream, model.WithTools([]*schema.ToolInfo{add}))
				in = append(in, answer)
				for _, b := range answer.ContentBlocks {
					if b.FunctionToolCall != nil {
						in = append(in, schema.FunctionToolResultAgenticMessage(b.FunctionToolCall.CallID, "add", "7"))
					}
				}
				require.Greater(t, len(in), 2)
				ask(t, change, in, stream, model.WithTools([]*schema.ToolInfo{add}))
			})
		}
	}
	t.Run("web search", func(t *testing.T) {
		ask(t, func(c *openai.ResponsesConfig) {
			c.ServerTools = []openai.ServerTool{openai.WebSearch(openai.WebSearchParams{})}
		}, userSays("Search the web: what is the newest version of Go?"), true)
	})
	t.Run("background", func(t *testing.T) {
		ask(t, func(c *openai.ResponsesConfig) { c.Background = true }, userSays("Say hi."), false)
	})
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := newResponses(t, &conf).Generate(ctx, userSays("Write a long story."))
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Logf("%d tokens", used)
}
