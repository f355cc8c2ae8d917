package anthropic

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// stored returns a message that was stored and read again, in both ways that messages are stored.
func stored[M any](t *testing.T, m *M) *M {
	t.Helper()
	data, err := json.Marshal(m)
	require.NoError(t, err)
	fromJSON := new(M)
	require.NoError(t, json.Unmarshal(data, fromJSON))
	var b bytes.Buffer
	require.NoError(t, gob.NewEncoder(&b).Encode(fromJSON))
	fromGob := new(M)
	require.NoError(t, gob.NewDecoder(&b).Decode(fromGob))
	return fromGob
}

// answered are the results of the calls of searchEvents.
var answered = user(toolResult("toolu_1", "x"), toolResult("toolu_2", "y"))

// Holds providers/A15, providers/A24 and providers/A25: everything opaque is sent back byte for byte, after it was stored.
func TestReplay_OfBlocksThatWereStored(t *testing.T) {
	got, err := streamed(t, sse(searchEvents()...))
	require.NoError(t, err)
	require.Contains(t, sentMessages(t, searching, questionBlocks[0], stored(t, got), answered), sentBack)
}

// Holds providers/K44 and providers/K45.
func TestReplay_OfChatMessagesThatWereStored(t *testing.T) {
	for name, body := range map[string]string{
		"stream": sse(searchEvents()...), "whole": `{"type":"message","id":"msg_1","content":` + sentBack + `,"stop_reason":"tool_use"}`,
	} {
		transport := streaming(body)
		if name == "whole" {
			transport = whole(body)
		}
		sr, err := newChat(t, transport).Stream(t.Context(), question)
		require.NoError(t, err)
		got, err := schema.ConcatMessageStream(sr)
		require.NoError(t, err)
		require.Equal(t, "It is so: cited 日本 😀", got.Content)
		require.Equal(t, `für "dich"`, got.ReasoningContent)
		require.Len(t, got.ToolCalls, 2)
		got = stored(t, got)
		history := []*schema.Message{question[0], got, schema.ToolMessage("x", "toolu_1"), schema.ToolMessage("y", "toolu_2")}
		r := new(recorder)
		_, err = newChat(t, r, searching).Generate(t.Context(), history)
		require.NoError(t, err)
		require.Contains(t, string(r.bodies[0]), sentBack, name)

		got.Content = "somebody changed it" // the layout does not fit any more
		_, err = newChat(t, r).Generate(t.Context(), history)
		require.NoError(t, err)
		require.Contains(t, string(r.bodies[1]), `{"role":"assistant","content":[{"type":"text","text":"somebody changed it"},`+
			`{"type":"tool_use","id":"toolu_1","name":"a","input":{}},{"type":"tool_use","id":"toolu_2","name":"b","input":{"x":1}}]}`)
	}
}

// Holds providers/A15 and providers/K44 for chat messages: redacted and hidden thinking has no text to show.
func TestReplay_OfHiddenThinkingInChatMessages(t *testing.T) {
	blocks := `[{"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"thinking","thinking":"","signature":"c2ln"},` +
		`{"type":"text","text":"so"},{"type":"thinking","thinking":"hm","signature":"c2ln2"},{"type":"text","text":"and"}]`
	got, err := newChat(t, whole(`{"type":"message","id":"m","content":`+blocks+`,"stop_reason":"end_turn"}`)).Generate(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, "soand", got.Content)
	require.Equal(t, "hm", got.ReasoningContent)
	r := new(recorder)
	_, err = newChat(t, r).Generate(t.Context(), []*schema.Message{question[0], stored(t, got), question[0]})
	require.NoError(t, err)
	require.Contains(t, string(r.bodies[0]), `{"role":"assistant","content":`+blocks+`}`)
}

// from returns an answer of another place.
func from(m *schema.AgenticMessage, origin string) *schema.AgenticMessage {
	c := *m
	c.Extra = map[string]any{"origin": origin}
	return &c
}

// Holds providers/K37 and providers/K38.
func TestReplay_OfAnswersFromElsewhere(t *testing.T) {
	got, err := streamed(t, sse(searchEvents()...))
	require.NoError(t, err)
	calls := `{"type":"tool_use","id":"toolu_1","name":"a","input":{}},{"type":"tool_use","id":"toolu_2","name":"b","input":{"x":1}}]`
	texts := `{"type":"text","text":"[web_search {\"query\":\"töne\"}]"},{"type":"text","text":"It is so: "},{"type":"text","text":"cited 日本 😀"},`
	thinking := `{"type":"thinking","thinking":"für \"dich\"","signature":"c2ln"},`
	for origin, want := range map[string]string{
		"anthropic/api.anthropic.com/messages":                          sentBack,
		"anthropic/bedrock-runtime.us-east-1.amazonaws.com/aws.bedrock": `[` + thinking + texts + calls, // providers/K37: signatures are common
		"anthropic/x.googleapis.com/gcp.vertex_ai":                      `[` + thinking + texts + calls,
		"anthropic/api.moonshot.test/messages":                          `[` + texts + calls,
		"openai/api.openai.com/chat":                                    `[` + texts + calls,
		"":                                                              `[` + texts + calls,
	} {
		sentNow := sentMessages(t, unchanged, questionBlocks[0], from(got, origin), answered)
		require.Contains(t, sentNow, `{"role":"assistant","content":`+want, origin)
	}
	asText := func(c *Config) { c.ForeignThinking = kit.ForeignThinkingText }
	require.Contains(t, sentMessages(t, asText, questionBlocks[0], from(got, "openai/api.openai.com/chat"), answered),
		`{"type":"text","text":"<thinking>\nfür \"dich\"\n</thinking>"}`)
	gateway := func(c *Config) { c.BaseURL, c.Origin = "https://gateway.test", "api.anthropic.com" }
	require.Contains(t, sentMessages(t, gateway, questionBlocks[0], got, answered), sentBack)
	alone := func(c *Config) { c.BaseURL = "https://gateway.test" }
	require.NotContains(t, sentMessages(t, alone, questionBlocks[0], got, answered), "c2ln")
}

// Holds providers/A24: code that waits for results of tools gets its container back.
func TestReplay_ContainersThatWait(t *testing.T) {
	body := `{"type":"message","id":"msg_1","content":[
		{"type":"server_tool_use","id":"srv_1","name":"code_execution","input":{"code":"a()"}},
		{"type":"tool_use","id":"t1","name":"a","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srv_1"}}],
		"stop_reason":"tool_use","container":{"id":"cont_9","expires_at":"2030-01-01T00:00:00Z"}}`
	got, err := newAgentic(t, whole(body)).Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	got = stored(t, got)
	code := func(c *Config) { c.ServerTools = []ServerTool{CodeExecution()} }
	request := capture(t, code, []*schema.AgenticMessage{questionBlocks[0], got, user(toolResult("t1", "x"))})
	require.Equal(t, "cont_9", request["container"])
	request = capture(t, code, []*schema.AgenticMessage{questionBlocks[0], got, user(toolResult("t1", "x")), own(genText("done")), user(inputText("next"))})
	require.NotContains(t, request, "container")
}

// Holds providers/A25: citations that the application made are sent, too.
func TestReplay_CitationsOfEveryKind(t *testing.T) {
	list := `[{"type":"char_location","cited_text":"c","document_index":0,"document_title":"d","start_char_index":0,"end_char_index":3},` +
		`{"type":"page_location","cited_text":"c","document_index":1,"document_title":"d","start_page_number":1,"end_page_number":2},` +
		`{"type":"content_block_location","cited_text":"c","document_index":0,"document_title":"d","start_block_index":0,"end_block_index":1},` +
		`{"type":"web_search_result_location","cited_text":"c","url":"u","title":"t","encrypted_index":"e"}]`
	got, err := newAgentic(t, whole(answer("end_turn", `{"type":"text","text":"x","citations":`+list+`}`))).Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	require.Contains(t, sentMessages(t, unchanged, questionBlocks[0], got, user(inputText("on"))), `"citations":`+list)
	got.ContentBlocks[0].Extra = nil
	require.Contains(t, sentMessages(t, unchanged, questionBlocks[0], got, user(inputText("on"))), `"citations":`+list)
}
