package kit

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// callChunks are the chunks of an answer with two calls, of which the first gets the pieces.
func callChunks(word string, pieces ...string) []*schema.Message {
	call := func(i int, id, name, arguments string) *schema.Message {
		return &schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{{
			Index: &i, ID: id, Function: schema.FunctionCall{Name: name, Arguments: arguments},
		}}}
	}
	chunks := []*schema.Message{call(0, "c0", "f", "")}
	for _, p := range pieces {
		chunks = append(chunks, call(0, "", "", p))
	}
	return append(chunks, call(1, "c1", "g", `{"a":1}`),
		&schema.Message{Role: schema.Assistant, ResponseMeta: &schema.ResponseMeta{FinishReason: word}})
}

// argumentsOf returns the arguments of the first call, for each way to ask and each kind of message.
func argumentsOf(t *testing.T, chunks func() []*schema.Message) (got [4]string, errs [4]error) {
	t.Helper()
	ask := []*schema.Message{schema.UserMessage("q")}
	askBlocks := []*schema.AgenticMessage{schema.UserAgenticMessage("q")}
	plain := NewModel[*schema.Message](&scripted[*schema.Message]{chunks: chunks()})
	m, err := plain.Generate(t.Context(), ask)
	if errs[0] = err; err == nil {
		got[0] = m.ToolCalls[0].Function.Arguments
	}
	plain = NewModel[*schema.Message](&scripted[*schema.Message]{chunks: chunks()})
	sr, err := plain.Stream(t.Context(), ask)
	require.NoError(t, err)
	m, errs[1] = schema.ConcatMessageStream(sr)
	if errs[1] == nil {
		got[1] = m.ToolCalls[0].Function.Arguments
	}
	blocks := NewModel(BlocksOf(&scripted[*schema.Message]{chunks: chunks()}))
	b, err := blocks.Generate(t.Context(), askBlocks)
	if errs[2] = err; err == nil {
		got[2] = b.ContentBlocks[0].FunctionToolCall.Arguments
	}
	blocks = NewModel(BlocksOf(&scripted[*schema.Message]{chunks: chunks()}))
	br, err := blocks.Stream(t.Context(), askBlocks)
	require.NoError(t, err)
	var acc schema.AgenticMessageAccumulator
	for chunk, err := range br.All() {
		if errs[3] = err; err != nil {
			break
		}
		require.NoError(t, acc.Add(chunk))
	}
	if errs[3] == nil {
		b, err = acc.Message()
		require.NoError(t, err)
		got[3] = b.ContentBlocks[0].FunctionToolCall.Arguments
	}
	return got, errs
}

// Rule providers/K47.
func TestCalls_WithoutArgumentsGetAnEmptyObjectUnlessTheAnswerWasCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		word   string
		pieces []string
		want   string
	}{
		"nothing": {"tool_calls", nil, "{}"}, "empty": {"stop", []string{"", ""}, "{}"}, "null": {"tool_calls", []string{"null"}, "{}"},
		"no reason": {"", nil, "{}"}, "some": {"tool_calls", []string{`{"a"`, `:1}`}, `{"a":1}`},
		"cut off": {"length", nil, ""}, "cut off in the middle": {"length", []string{`{"a`}, `{"a`}, "filtered": {"content_filter", nil, ""},
		"no object": {"stop", []string{"5"}, "5"}, "no JSON": {"stop", []string{"{x}"}, "{x}"},
	} {
		got, errs := argumentsOf(t, func() []*schema.Message { return callChunks(c.word, c.pieces...) })
		require.NoError(t, errors.Join(errs[:]...), name)
		require.Equal(t, [4]string{c.want, c.want, c.want, c.want}, got, name)
	}
}

// An agent that starts tools early executes a call when its arguments are complete, so {} must not come while the answer
// may still be cut off.
func TestCalls_WithoutArgumentsGetThemBehindTheReason(t *testing.T) {
	sr, err := NewModel[*schema.Message](&scripted[*schema.Message]{chunks: callChunks("tool_calls")}).
		Stream(t.Context(), []*schema.Message{schema.UserMessage("q")})
	require.NoError(t, err)
	ended := false
	for m, err := range sr.All() {
		require.NoError(t, err)
		ended = ended || m.ResponseMeta != nil
		for _, c := range m.ToolCalls {
			require.Equal(t, ended, c.Function.Arguments == "{}")
		}
	}
	require.True(t, ended)
}

// Rule providers/K48.
func TestCalls_AnAnswerThatEndsInsideArgumentsIsAnError(t *testing.T) {
	for _, pieces := range [][]string{{`{"a":"b`}, {`{"a":`, `[1`}, {`"abc`}, {`{"a":"}"`}} {
		_, errs := argumentsOf(t, func() []*schema.Message { return callChunks("tool_calls", pieces...) })
		for _, err := range errs {
			var cut *CutCallError
			require.ErrorAs(t, err, &cut, pieces)
			require.Equal(t, CutCallError{Provider: "test", Tool: "f", CallID: "c0", Reason: "tool_calls"}, *cut)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.True(t, IsRetryable(err))
			require.Contains(t, err.Error(), `call "c0" of tool "f"`)
		}
	}
}

// The mark of a call reaches chat messages whatever else is attached to the call, and goes back from there.
func TestProjection_KeepsTheMarkOfWholeCallsAndTheReason(t *testing.T) {
	chunks := func() []*schema.AgenticMessage {
		block := func(call *schema.FunctionToolCall, extra map[string]any) *schema.AgenticMessage {
			b := schema.NewContentBlockChunk(call, &schema.StreamingMeta{Index: 3})
			b.Extra = extra
			return &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{b}}
		}
		var mark map[string]any
		model.MarkWholeCall(&mark)
		last := block(&schema.FunctionToolCall{}, mark)
		SetFinishReason(last, "max_tokens")
		return []*schema.AgenticMessage{
			block(&schema.FunctionToolCall{CallID: "c", Name: "f"}, map[string]any{"test_signature": "s"}), last,
		}
	}
	check := func(m *schema.Message, err error) {
		require.NoError(t, err)
		require.Equal(t, "max_tokens", model.FinishWord(m))
		require.Equal(t, "{}", m.ToolCalls[0].Function.Arguments)
		require.Equal(t, "s", m.ToolCalls[0].Extra["test_signature"])
		require.True(t, model.IsWholeCall(m.ToolCalls[0].Extra))
		blocks, err := MessagesToBlocks([]*schema.Message{schema.UserMessage("q"), m, schema.ToolMessage("r", "c")})
		require.NoError(t, err)
		require.Equal(t, "max_tokens", model.FinishWord(blocks[1]))
		require.True(t, model.IsWholeCall(blocks[1].ContentBlocks[0].Extra))
		back, err := BlocksToMessages(blocks)
		require.NoError(t, err)
		require.Equal(t, "max_tokens", model.FinishWord(back[1]))
		require.True(t, model.IsWholeCall(back[1].ToolCalls[0].Extra))
	}
	ask := []*schema.Message{schema.UserMessage("q")}
	check(NewModel(ChatOf(&scripted[*schema.AgenticMessage]{chunks: chunks()})).Generate(t.Context(), ask))
	sr, err := NewModel(ChatOf(&scripted[*schema.AgenticMessage]{chunks: chunks()})).Stream(t.Context(), ask)
	require.NoError(t, err)
	check(schema.ConcatMessageStream(sr))
}
