package ollama

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

// sentMessages returns the messages that a call sends to a strict server.
func sentMessages(t *testing.T, in []*schema.Message, change ...func(*Config)) string {
	t.Helper()
	server := kittest.Server(t, kittest.Ollama(), kittest.OllamaStream("ok"))
	joined(t, modelAt(t, server.URL, change...), in)
	var sent struct{ Messages json.RawMessage }
	require.NoError(t, json.Unmarshal(server.Requests()[0].Body, &sent))
	return string(sent.Messages)
}

func callOf(id, name, arguments string) schema.ToolCall {
	return schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: name, Arguments: arguments}}
}

func photo(data string) schema.MessageInputPart {
	return schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{
		MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"},
	}}
}

// The server pairs calls and results by order and name.
// Rules providers/O2, providers/G15.
func TestHistory_ResultsAreInTheOrderOfTheCalls(t *testing.T) {
	require.JSONEq(t, `[{"role":"user","content":"question"},
		{"role":"assistant","content":"","tool_calls":[
			{"function":{"name":"look","arguments":{"n":1}}},
			{"function":{"name":"look","arguments":{"n":2}}},
			{"function":{"name":"hear","arguments":{}}}]},
		{"role":"tool","content":"one","tool_name":"look"},
		{"role":"tool","content":"two","tool_name":"look"},
		{"role":"tool","content":"three","tool_name":"hear"},
		{"role":"user","content":"and?"}]`,
		sentMessages(t, []*schema.Message{
			question[0],
			schema.AssistantMessage("", []schema.ToolCall{
				callOf("1", "look", `{"n":1}`), callOf("2", "look", `{"n":2}`), callOf("3", "hear", "")}),
			schema.ToolMessage("three", "3"), schema.ToolMessage("two", "2"), schema.ToolMessage("one", "1"),
			schema.UserMessage("and?"),
		}))
}

// The IDs of newer servers.
// Rules providers/K12, providers/G15.
func TestHistory_OnlyIDsOfTheServerAreSentBack(t *testing.T) {
	answer := kittest.JSON(`{"model":"m","message":{"role":"assistant","content":"","tool_calls":[` +
		`{"id":"call_a","function":{"name":"look","arguments":{}}},{"function":{"name":"look","arguments":{}}}]},` + done)
	server := kittest.Server(t, kittest.Ollama(), answer, answer, kittest.Always(kittest.OllamaStream("ok")))
	m := modelAt(t, server.URL)
	history := question
	for range 2 { // the ID recurs
		turn, err := m.Generate(t.Context(), history, model.WithTools(tools))
		require.NoError(t, err)
		require.Equal(t, "call_a", turn.ToolCalls[0].ID)
		history = append(history[:len(history):len(history)], stored(t, turn),
			schema.ToolMessage("b", turn.ToolCalls[1].ID), schema.ToolMessage("a", "call_a"))
	}
	joined(t, m, history)
	sent := string(server.Requests()[2].Body)
	require.Contains(t, sent, `{"role":"tool","content":"a","tool_name":"look","tool_call_id":"call_a"},`+
		`{"role":"tool","content":"b","tool_name":"look"}`)
	require.Contains(t, sent, `{"id":"call_a_2","function":{"name":"look","arguments":{}}}`)
	require.Contains(t, sent, `"tool_call_id":"call_a_2"`)

	elsewhere := modelAt(t, kittest.Server(t, kittest.Ollama(), kittest.Always(kittest.OllamaStream("ok"))).URL)
	elsewhere.engine.origin.Host = "elsewhere"
	sentThere, err := elsewhere.engine.newCall(true, nil).body(t.Context(), history)
	require.NoError(t, err)
	require.NotContains(t, string(sentThere), "call_a")
}

// stored returns a message as a checkpoint gives it back.
func stored(t *testing.T, m *schema.Message) *schema.Message {
	t.Helper()
	data, err := json.Marshal(m)
	require.NoError(t, err)
	var fromJSON, fromGob schema.Message
	require.NoError(t, json.Unmarshal(data, &fromJSON))
	var b bytes.Buffer
	require.NoError(t, gob.NewEncoder(&b).Encode(&fromJSON))
	require.NoError(t, gob.NewDecoder(&b).Decode(&fromGob))
	return &fromGob
}

// Equal conversations are equal bytes, also after a checkpoint.
// Rules providers/K9, providers/K37.
func TestHistory_RoundTripThroughStorage(t *testing.T) {
	server := kittest.Server(t, kittest.Ollama(), toolTurn, kittest.Always(kittest.OllamaStream("ok")))
	m := modelAt(t, server.URL)
	turn := joined(t, m, question, model.WithTools(tools))
	for _, answer := range []*schema.Message{turn, stored(t, turn)} {
		joined(t, m, []*schema.Message{question[0], answer,
			schema.ToolMessage("1", turn.ToolCalls[0].ID), schema.ToolMessage("2", turn.ToolCalls[1].ID)})
	}
	requests := server.Requests()
	require.Equal(t, string(requests[1].Body), string(requests[2].Body))
	require.Contains(t, string(requests[1].Body), `"thinking":"hm"`)
	require.Contains(t, string(requests[1].Body), `{"n":9007199254740993}`)
}

// Rules providers/K13, providers/K37, providers/K38, providers/K39.
func TestHistory_OfAnotherProvider(t *testing.T) {
	foreign := schema.AssistantMessage("Let me see.", []schema.ToolCall{
		callOf("toolu_1", "look", `{"city":"Ber`), callOf("toolu_2", "look", ""), callOf("toolu_3", "look", "[1]"),
	})
	foreign.ReasoningContent = "thought elsewhere"
	foreign.Extra = map[string]any{"origin": "anthropic/api.anthropic.com/messages"}
	in := []*schema.Message{question[0], foreign, schema.ToolMessage("a", "toolu_1"), schema.ToolMessage("", "toolu_2"),
		schema.ToolMessage("c", "toolu_3")}
	calls := `"tool_calls":[{"function":{"name":"look","arguments":{"_invalid":"{\"city\":\"Ber"}}},` +
		`{"function":{"name":"look","arguments":{}}},{"function":{"name":"look","arguments":{"value":[1]}}}]}`
	results := `{"role":"tool","content":"a","tool_name":"look"},{"role":"tool","content":"","tool_name":"look"},
		{"role":"tool","content":"c","tool_name":"look"}]`
	require.JSONEq(t, `[{"role":"user","content":"question"},{"role":"assistant","content":"Let me see.",`+calls+","+results,
		sentMessages(t, in))
	require.JSONEq(t, `[{"role":"user","content":"question"},
		{"role":"assistant","content":"<thinking>\nthought elsewhere\n</thinking>\nLet me see.",`+calls+","+results,
		sentMessages(t, in, func(c *Config) { c.ForeignThinking = kit.ForeignThinkingText }))
}

// Rules providers/K14, providers/K17.
func TestHistory_ImagesOfResultsFollowThem(t *testing.T) {
	seen := schema.ToolMessage("", "1")
	seen.UserInputMultiContent = []schema.MessageInputPart{photo("aGk=")}
	require.JSONEq(t, `[{"role":"user","content":"question"},
		{"role":"assistant","content":"","tool_calls":[
			{"function":{"name":"look","arguments":{}}},{"function":{"name":"look","arguments":{}}}]},
		{"role":"tool","content":"See the images in the next user message.","tool_name":"look"},
		{"role":"tool","content":"nothing","tool_name":"look"},
		{"role":"user","content":"Images returned by tool call 1, of look:","images":["aGk="]}]`,
		sentMessages(t, []*schema.Message{
			question[0], schema.AssistantMessage("", []schema.ToolCall{callOf("1", "look", ""), callOf("2", "look", "")}),
			seen, schema.ToolMessage("nothing", "2"),
		}))
}

func TestHistory_PartsOfMessages(t *testing.T) {
	text := func(s string) schema.MessageInputPart {
		return schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: s}
	}
	drawn := &schema.Message{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "He"}, {Type: schema.ChatMessagePartTypeText, Text: "re"},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageOutputImage{
			MessagePartCommon: schema.MessagePartCommon{URL: new("data:image/png;base64,aGk=")}}},
	}}
	spoken := &schema.Message{Role: schema.Assistant, Content: "transcript",
		AssistantGenMultiContent: []schema.MessageOutputPart{
			{Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageOutputAudio{}}}}
	require.JSONEq(t, `[{"role":"user","content":"a\nb","images":["aGk="]},
		{"role":"assistant","content":"Here","images":["aGk="]},{"role":"user","content":"q"},
		{"role":"assistant","content":"transcript"},{"role":"user","content":"q"}]`,
		sentMessages(t, []*schema.Message{
			{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{text("a"), photo("aGk="), text("b")}},
			drawn, schema.UserMessage("q"), spoken, schema.UserMessage("q"),
		}))
	m := modelAt(t, "http://127.0.0.1:1")
	for want, in := range map[string]*schema.Message{
		"part 0 (video_url)": {Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{
			{Type: schema.ChatMessagePartTypeVideoURL, Video: &schema.MessageOutputVideo{}}}},
		"part 0 (audio_url)": {Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageInputAudio{}}}},
		"give Base64Data": {Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{
			{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageOutputImage{
				MessagePartCommon: schema.MessagePartCommon{URL: new("https://i")}}}}},
	} {
		_, err := m.Generate(t.Context(), []*schema.Message{question[0], in})
		require.ErrorContains(t, err, "message 1")
		require.ErrorContains(t, err, want)
	}
}

// Rule providers/K16.
func TestHistory_ThatNobodyAcceptsIsAnErrorHere(t *testing.T) {
	m := modelAt(t, "http://127.0.0.1:1")
	for index, in := range map[int][]*schema.Message{
		0: {},
		1: {question[0], schema.ToolMessage("x", "1")},
		2: {question[0], schema.AssistantMessage("", []schema.ToolCall{callOf("1", "f", "")}), question[0]},
	} {
		_, err := m.Generate(t.Context(), in)
		var history *kit.HistoryError
		require.ErrorAs(t, err, &history)
		require.Equal(t, index, history.Index)
		require.ErrorIs(t, err, kit.ErrInvalid)
	}
}
