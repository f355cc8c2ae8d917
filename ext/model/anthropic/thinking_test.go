package anthropic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

func budget(c *Config) { c.MaxTokens, c.Thinking = 4000, BudgetThinking(2000) }

// Holds providers/A14.
func TestThinking_IsSentAndCheckedAgainstItsNeighbours(t *testing.T) {
	require.JSONEq(t, `{"type":"enabled","budget_tokens":2000}`, sent(t, "thinking", budget))
	require.JSONEq(t, `{"type":"adaptive"}`, sent(t, "thinking", unchanged, WithThinking(AdaptiveThinking())))
	require.JSONEq(t, `{"type":"adaptive","display":"omitted"}`,
		sent(t, "thinking", unchanged, WithThinking(&Thinking{Type: "adaptive", Display: "omitted"})))
	require.JSONEq(t, `{"type":"disabled"}`, sent(t, "thinking", budget, WithThinking(NoThinking())))
	require.JSONEq(t, `null`, sent(t, "thinking", budget, WithThinking(nil)))
	require.JSONEq(t, `4000`, sent(t, "max_tokens", budget))
	for text, change := range map[string]func(*Config){
		"Temperature must not be set beside Thinking": func(c *Config) { budget(c); c.Temperature = new(float32(0.5)) },
		"TopK must not be set beside Thinking":        func(c *Config) { budget(c); c.TopK = new(int32(5)) },
		"TopP must be at least 0.95 beside Thinking":  func(c *Config) { budget(c); c.TopP = new(float32(0.5)) },
		"BudgetTokens is 2000 and MaxTokens 2000":     func(c *Config) { budget(c); c.MaxTokens = 2000 },
	} {
		require.ErrorContains(t, refused(t, change, questionBlocks), text)
	}
	require.JSONEq(t, `0.97`, sent(t, "top_p", func(c *Config) { budget(c); c.TopP = new(float32(0.97)) }))
	for _, broken := range []*Thinking{{}, {Type: "enabled", BudgetTokens: 1023}, {Type: "adaptive", BudgetTokens: 2000},
		{Type: "adaptive", Display: "all"}} {
		require.ErrorContains(t, refused(t, unchanged, questionBlocks, WithThinking(broken)), "Thinking.")
	}
}

// Holds providers/A15.
func TestThinking_IsReplayedAsItCame(t *testing.T) {
	redacted := schema.NewContentBlock(&schema.Reasoning{})
	redacted.Extra = map[string]any{redactedKey: "ZGF0YQ=="}
	got := sentMessages(t, unchanged, user(inputText("hi")),
		own(thought("I see <b>", "sig1"), redacted, thought("", "sig2"), genText("so"), thought("again", "sig3"), toolCall("c1", "a", "")),
		user(toolResult("c1", "x")))
	require.Contains(t, got, `[{"type":"thinking","thinking":"I see <b>","signature":"sig1"},`+
		`{"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"thinking","thinking":"","signature":"sig2"},`+
		`{"type":"text","text":"so"},{"type":"thinking","thinking":"again","signature":"sig3"},`+
		`{"type":"tool_use","id":"c1","name":"a","input":{}}]`)
}

// Holds providers/A15: what comes in streams of every form is what is sent back.
func TestThinking_OfStreamsIsWholeWithItsSignature(t *testing.T) {
	body := sse(messageEvents("end_turn", []string{
		blockStart(0, `{"type":"thinking","thinking":"a","signature":""}`),
		blockDelta(0, `{"type":"thinking_delta","thinking":"b"}`), blockDelta(0, `{"type":"thinking_delta","thinking":""}`),
		blockDelta(0, `{"type":"signature_delta","signature":"sig1"}`), blockStop(0),
	}, []string{blockStart(1, `{"type":"redacted_thinking","data":"ZGF0YQ=="}`), blockStop(1)},
		[]string{blockStart(2, `{"type":"thinking","thinking":"","signature":"sig2"}`), blockStop(2)},
		textEvents(3, "so"))...)
	got, err := streamed(t, body)
	require.NoError(t, err)
	require.Equal(t, &schema.Reasoning{Text: "ab", Signature: "sig1"}, got.ContentBlocks[0].Reasoning)
	require.Equal(t, "ZGF0YQ==", got.ContentBlocks[1].Extra[redactedKey])
	require.Equal(t, &schema.Reasoning{Signature: "sig2"}, got.ContentBlocks[2].Reasoning)
	require.JSONEq(t, `[{"role":"user","content":[{"type":"text","text":"question"}]},{"role":"assistant","content":[
		{"type":"thinking","thinking":"ab","signature":"sig1"},{"type":"redacted_thinking","data":"ZGF0YQ=="},
		{"type":"thinking","thinking":"","signature":"sig2"},{"type":"text","text":"so"}]},
		{"role":"user","content":[{"type":"text","text":"go on"}]}]`,
		sentMessages(t, unchanged, questionBlocks[0], got, user(inputText("go on"))))
}

// Holds providers/A16.
func TestThinking_WithoutSignatureGoesToServersThatDoNotSign(t *testing.T) {
	const compatible = "https://api.moonshot.test/anthropic"
	at := func(c *Config) { c.BaseURL = compatible }
	unsigned := func(origin string) *schema.AgenticMessage {
		m := own(thought("hm", ""), genText("so"))
		m.Extra = map[string]any{"origin": origin}
		return m
	}
	got := sentMessages(t, at, user(inputText("hi")), unsigned("anthropic/api.moonshot.test/messages"), user(inputText("on")))
	require.Contains(t, got, `[{"type":"thinking","thinking":"hm"},{"type":"text","text":"so"}]`)
	got = sentMessages(t, unchanged, user(inputText("hi")), unsigned("anthropic/api.anthropic.com/messages"), user(inputText("on")))
	require.NotContains(t, got, "thinking")
	r := new(recorder)
	_, err := newAgentic(t, r, at).Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	require.Equal(t, compatible+"/v1/messages", r.requests[0].URL.String())
}

// Holds providers/A17.
func TestThinking_MissingFromAnOpenToolTurn(t *testing.T) {
	open := []*schema.AgenticMessage{
		user(inputText("hi")), own(thought("old", "s"), genText("fine")), user(inputText("go")),
		own(toolCall("c1", "a", "")), user(toolResult("c1", "x")),
	}
	r := new(recorder)
	got, err := newAgentic(t, r, budget).Generate(t.Context(), open)
	require.NoError(t, err)
	require.NotContains(t, r.body(t, 0), "thinking")
	require.Equal(t, `["thinking"]`, got.Extra[kit.DroppedSettingsKey])
	strict := func(c *Config) { budget(c); c.OnMissingThinking = MissingThinkingError }
	require.ErrorContains(t, refused(t, strict, open), "no thinking that can be sent back")

	closed := append(open[:len(open):len(open)], own(genText("done")), user(inputText("next")))
	loop := []*schema.AgenticMessage{
		user(inputText("hi")), own(thought("t", "s"), toolCall("c1", "a", "")), user(toolResult("c1", "x")),
		own(toolCall("c2", "a", "")), user(toolResult("c2", "x")),
	}
	for _, in := range [][]*schema.AgenticMessage{closed, loop} {
		require.Contains(t, capture(t, strict, in), "thinking")
	}
}
