package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

func TestReasoning_ComesBackAsItCame(t *testing.T) {
	for name, c := range map[string]struct{ fields string }{
		"reasoning_content":     {`"reasoning_content":"t"`},
		"reasoning":             {`"reasoning":"t"`},
		"with details":          {`"reasoning":"t","reasoning_details":[{"type":"reasoning.text","text":"t","signature":"s","index":0},{"type":"reasoning.encrypted","data":"x","index":1}]`},
		"details without texts": {`"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			sent := strings.TrimPrefix(c.fields, `"reasoning":"t",`) // the details have the text
			want := `[{"role":"assistant","content":"a",` + sent + `}]`
			m := answerOf(t, `{"choices":[{"message":{"content":"a",`+c.fields+`}}]}`)
			require.JSONEq(t, want, sentMessages(t, unchanged, m))
			m = joined(t, stream(t, newModel(t,
				streaming(`data: {"choices":[{"delta":{"content":"a",`+c.fields+`}}]}`+"\n\n"+stopChunk+doneChunk))))
			require.JSONEq(t, want, sentMessages(t, unchanged, m))
		})
	}
}

func TestReasoning_Streamed(t *testing.T) {
	body := `data: {"choices":[{"delta":{"reasoning":"th","reasoning_details":[{"type":"reasoning.text","text":"th","index":0,"format":"f","signature":null}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"reasoning":"ought","reasoning_details":[{"type":"reasoning.text","text":"ought","index":0}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"sig","index":0}]}}]}` +
		"\n\n" +
		`data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\n\n" + doneChunk
	m := joined(t, stream(t, newModel(t, streaming(body))))
	require.Equal(t, "thought", m.ReasoningContent)
	require.Equal(t, "a", m.Content)
	require.JSONEq(t, `[{"role":"assistant","content":"a","reasoning_details":[
		{"type":"reasoning.text","text":"thought","signature":"sig","index":0,"format":"f"}]}]`,
		sentMessages(t, unchanged, m))
}

func TestReasoning_DetailsThatAreNotPiecesOfOne(t *testing.T) {
	for name, list := range map[string]string{
		"indexes":    `[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.text","text":"b","index":1}]`,
		"types":      `[{"type":"reasoning.summary","summary":"a","index":0},{"type":"reasoning.text","text":"b","index":0}]`,
		"signed":     `[{"type":"reasoning.text","text":"a","signature":"s"},{"type":"reasoning.text","text":"b","signature":"s2"}]`,
		"IDs":        `[{"type":"reasoning.summary","summary":"a","id":"1"},{"type":"reasoning.summary","summary":"b","id":"2"}]`,
		"encrypted":  `[{"type":"reasoning.encrypted","data":"a","index":0},{"type":"reasoning.encrypted","data":"b","index":0}]`,
		"half index": `[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.text","text":"b"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			m := answerOf(t, `{"choices":[{"message":{"reasoning_details":`+list+`}}]}`)
			got, err := json.Marshal(GetReasoningDetails(m))
			require.NoError(t, err)
			require.JSONEq(t, list, string(got))
		})
	}
	m := answerOf(t,
		`{"choices":[{"message":{"reasoning_details":[{"type":"reasoning.summary","summary":"a","index":0},{"type":"reasoning.summary","summary":"b","id":"i","index":0},7,null]}}]}`)
	got, err := json.Marshal(GetReasoningDetails(m))
	require.NoError(t, err)
	require.JSONEq(t, `[{"type":"reasoning.summary","summary":"ab","id":"i","index":0}]`, string(got))
}

func TestReasoning_Replay(t *testing.T) {
	received := answerOf(t, `{"choices":[{"message":{"content":"a","reasoning":"t","reasoning_details":[{"type":"x"}]}}]}`)
	foreign := &schema.Message{Role: schema.Assistant, Content: "a", ReasoningContent: "t"}
	inParts := &schema.Message{Role: schema.Assistant, Content: "a", AssistantGenMultiContent: []schema.MessageOutputPart{
		{Type: schema.ChatMessagePartTypeReasoning, Reasoning: &schema.MessageOutputReasoning{Text: "t"}},
	}}
	openAI := func(c *Config) { c.BaseURL = "" }
	as := func(r ReasoningReplay) func(*Config) { return func(c *Config) { c.ReasoningReplay = r } }
	none := `{"role":"assistant","content":"a"}`
	for name, c := range map[string]struct {
		change func(*Config)
		m      *schema.Message
		want   string
	}{
		"auto": {unchanged, received,
			`{"role":"assistant","content":"a","reasoning_details":[{"type":"x"}]}`},
		"auto, foreign": {unchanged, foreign, none},
		"auto, OpenAI":  {openAI, received, none},
		"never":         {as(ReasoningReplayNever), received, none},
		"reasoning": {as(ReasoningReplayAsReasoning), foreign,
			`{"role":"assistant","content":"a","reasoning":"t"}`},
		"content": {as(ReasoningReplayAsReasoningContent), foreign,
			`{"role":"assistant","content":"a","reasoning_content":"t"}`},
		"content, in parts": {as(ReasoningReplayAsReasoningContent), inParts,
			`{"role":"assistant","content":"a","reasoning_content":"t"}`},
		"content, no thinking": {as(ReasoningReplayAsReasoningContent), schema.AssistantMessage("a", nil), none},
	} {
		t.Run(name, func(t *testing.T) {
			require.JSONEq(t, "["+c.want+"]", sentMessages(t, c.change, c.m))
		})
	}
}
