package anthropic

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

func callStart(index int, id string) string {
	return blockStart(index, `{"type":"tool_use","id":"`+id+`","name":"x","input":{}}`)
}

func callDelta(index int, piece string) string {
	return blockDelta(index, `{"type":"input_json_delta","partial_json":"`+piece+`"}`)
}

// A cutCall is what an agent goes by: the arguments of a call, and whether it is marked as complete.
type cutCall struct {
	arguments string
	whole     bool
}

func callsOf(m *schema.AgenticMessage) (calls []cutCall) {
	for _, b := range m.ContentBlocks {
		if b.FunctionToolCall != nil {
			calls = append(calls, cutCall{b.FunctionToolCall.Arguments, model.IsWholeCall(b.Extra)})
		}
	}
	return calls
}

// Rules providers/K47, providers/K49.
func TestStream_OnlyCallsThatAnotherBlockFollowedAreMarkedInAnswersThatWereCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		stop   string
		events []string
		want   []cutCall
	}{
		"no delta":                 {"max_tokens", []string{callStart(0, "a"), blockStop(0)}, []cutCall{{"", false}}},
		"no delta, no stop":        {"max_tokens", []string{callStart(0, "a")}, []cutCall{{"", false}}},
		"complete JSON":            {"max_tokens", []string{callStart(0, "a"), callDelta(0, `{\"p\":1}`), blockStop(0)}, []cutCall{{`{"p":1}`, false}}},
		"one behind another":       {"max_tokens", []string{callStart(0, "a"), callDelta(0, `{\"p\":1}`), blockStop(0), callStart(1, "b"), blockStop(1)}, []cutCall{{`{"p":1}`, true}, {"", false}}},
		"without arguments":        {"model_context_window_exceeded", []string{callStart(0, "a"), blockStop(0), callStart(1, "b"), callDelta(1, `{\"p`)}, []cutCall{{"{}", true}, {`{"p`, false}}},
		"text behind":              {"refusal", append([]string{callStart(0, "a"), callDelta(0, `{}`), blockStop(0)}, textEvents(1, "so")...), []cutCall{{"{}", true}}},
		"broken, and text behind":  {"max_tokens", append([]string{callStart(0, "a"), callDelta(0, `{\"p`), blockStop(0)}, textEvents(1, "so")...), []cutCall{{`{"p`, false}}},
		"a good answer":            {"tool_use", []string{callStart(0, "a"), blockStop(0), callStart(1, "b"), blockStop(1)}, []cutCall{{"{}", false}, {"{}", false}}},
		"a good one without stops": {"tool_use", []string{callStart(0, "a"), callStart(1, "b"), callDelta(1, `{\"p\":1}`)}, []cutCall{{"{}", false}, {`{"p":1}`, false}}},
	} {
		got, err := streamed(t, sse(messageEvents(c.stop, c.events)...))
		require.NoError(t, err, name)
		require.Equal(t, c.want, callsOf(got), name)
		require.Equal(t, c.stop, model.FinishWord(got))
	}
}

func TestWhole_OnlyCallsThatAnotherBlockFollowedAreMarkedInAnswersThatWereCutOff(t *testing.T) {
	first, last := `{"type":"tool_use","id":"a","name":"x","input":{}}`, `{"type":"tool_use","id":"b","name":"x","input":{"p":""}}`
	for stop, want := range map[string][]cutCall{
		"max_tokens": {{"{}", true}, {`{"p":""}`, false}}, "tool_use": {{"{}", false}, {`{"p":""}`, false}},
	} {
		got, err := newAgentic(t, whole(answer(stop, first, last))).Generate(t.Context(), questionBlocks)
		require.NoError(t, err)
		require.Equal(t, want, callsOf(got), stop)
		m, err := newChat(t, whole(answer(stop, first, last))).Generate(t.Context(), question)
		require.NoError(t, err)
		require.Equal(t, stop == "max_tokens", model.IsWholeCall(m.ToolCalls[0].Extra))
	}
	got, err := newAgentic(t, whole(answer("max_tokens", first))).Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	require.Equal(t, []cutCall{{"", false}}, callsOf(got))
}

// A gateway that asks again when the service fails sends the beginning of two answers.
func TestStream_AMessageThatBeginsInsideAnotherIsAnErrorThatCanBeRetried(t *testing.T) {
	_, err := streamed(t, sse(append([]string{startEvent, callStart(0, "a"), callDelta(0, `{\"value\":\"Spark`)},
		messageEvents("tool_use", []string{callStart(1, "b"), callDelta(1, `{}`), blockStop(1)})...)...))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.True(t, kit.IsRetryable(err))
	got, err := streamed(t, sse(append([]string{startEvent}, messageEvents("end_turn", textEvents(0, "hi"))...)...))
	require.NoError(t, err, "nothing was out")
	require.Equal(t, "hi", got.ContentBlocks[0].AssistantGenText.Text)
}

// Servers that speak the API by themselves put text where Claude has none.
func TestStream_TextInBlocksOfAnotherKindIsShownInItsOwn(t *testing.T) {
	text := func(index int, s string) string { return blockDelta(index, `{"type":"text_delta","text":"`+s+`"}`) }
	thought := func(index int, s string) string {
		return blockDelta(index, `{"type":"thinking_delta","thinking":"`+s+`"}`)
	}
	for name, c := range map[string]struct {
		events        []string
		text, thought string
	}{
		"not begun":               {[]string{text(0, "he"), text(0, "y"), blockStop(0)}, "hey", ""},
		"in thinking":             {[]string{blockStart(0, `{"type":"thinking","thinking":""}`), thought(0, "h"), text(0, "hey"), thought(0, "m"), blockStop(0)}, "hey", "hm"},
		"in a call":               {[]string{callStart(0, "a"), text(0, "hey"), callDelta(0, `{}`), blockStop(0)}, "hey", ""},
		"behind the block":        {append(textEvents(0, "he"), text(0, "y")), "hey", ""},
		"thinking, not begun":     {append([]string{thought(5, "hm")}, textEvents(0, "hey")...), "hey", "hm"},
		"thinking in text":        {append([]string{blockStart(0, `{"type":"text","text":"he"}`), thought(0, "hm"), text(0, "y")}, blockStop(0)), "hey", "hm"},
		"more than one of a kind": {[]string{text(0, "he"), text(1, "y")}, "hey", ""},
	} {
		body := sse(messageEvents("end_turn", c.events)...)
		got, err := streamed(t, body)
		require.NoError(t, err, name)
		said, thinking := "", ""
		for _, b := range got.ContentBlocks {
			if b.AssistantGenText != nil {
				said += b.AssistantGenText.Text
			}
			if b.Reasoning != nil {
				thinking += b.Reasoning.Text
			}
		}
		require.Equal(t, c.text, said, name)
		require.Equal(t, c.thought, thinking, name)
		m, err := newChat(t, streaming(body)).Generate(t.Context(), question)
		require.NoError(t, err, name)
		require.Equal(t, c.text, m.Content, name)
	}
	_, err := streamed(t, sse(messageEvents("tool_use", []string{callDelta(0, `{}`)})...))
	require.ErrorContains(t, err, "a call that did not begin")
}

// Zeros that a gateway sends with the last counts do not replace those that it began with.
func TestUsage_ZerosAtTheEndDoNotReplaceCounts(t *testing.T) {
	got, err := streamed(t, sse(append(append([]string{
		`{"type":"message_start","message":{"id":"m","type":"message","usage":{"input_tokens":12,"cache_read_input_tokens":7,"output_tokens":1}}}`},
		textEvents(0, "x")...),
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":64}}`, stopEvent)...))
	require.NoError(t, err)
	require.Equal(t, 19, got.ResponseMeta.TokenUsage.PromptTokens)
	require.Equal(t, 7, got.ResponseMeta.TokenUsage.PromptTokenDetails.CachedTokens)
	require.Equal(t, 64, got.ResponseMeta.TokenUsage.CompletionTokens)
}

// Documents of other APIs are no empty answers, and a text instead of blocks is one.
func TestWhole_ContentThatIsNoListOfBlocks(t *testing.T) {
	got, err := newAgentic(t, whole(`{"type":"message","content":"hi","stop_reason":"end_turn"}`)).Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	require.Equal(t, "hi", got.ContentBlocks[0].AssistantGenText.Text)
	for _, body := range []string{
		`{"type":"message","stop_reason":"end_turn"}`, `{"id":"1","object":"chat.completion","choices":[]}`, `{"type":"message","content":null}`,
	} {
		_, err := newAgentic(t, whole(body)).Generate(t.Context(), questionBlocks)
		require.ErrorAs(t, err, new(*kit.NoAnswerError), body)
		require.True(t, kit.IsRetryable(err))
	}
}
