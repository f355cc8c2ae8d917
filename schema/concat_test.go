package schema

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/concat"
)

func mustConcat(t *testing.T, msgs ...*Message) *Message {
	t.Helper()
	m, err := ConcatMessages(msgs)
	require.NoError(t, err)
	return m
}

func concatError(t *testing.T, msgs ...*Message) string {
	t.Helper()
	m, err := ConcatMessages(msgs)
	require.Error(t, err)
	require.Nil(t, m)
	return err.Error()
}

// Rule schema/C10.
func TestConcatMessages_IsFreshAndLeavesEmptyFieldsNil(t *testing.T) {
	require.Equal(t, &Message{}, mustConcat(t))
	one := UserMessage("x")
	got := mustConcat(t, one)
	require.Equal(t, one, got)
	require.NotSame(t, one, got)
	empty := &Message{
		MultiContent: []ChatMessagePart{}, UserInputMultiContent: []MessageInputPart{},
		AssistantGenMultiContent: []MessageOutputPart{},
		ToolCalls:                []ToolCall{}, Extra: map[string]any{},
	}
	require.Equal(t, &Message{}, mustConcat(t, empty))
	require.Equal(t, &Message{}, mustConcat(t, empty, empty))
}

// richMessage fills everything, so that whatever is shared or changed shows.
func richMessage(i int) *Message {
	media := func() MessagePartCommon {
		return MessagePartCommon{Base64Data: pointer("b"), MIMEType: "m", Extra: map[string]any{"k": "v"}}
	}
	extra := func() map[string]any { return map[string]any{"s": "x", "m": map[string]any{"k": "y"}} }
	return &Message{
		Role: Assistant, Content: "c", Name: "n", ToolCallID: "id", ToolName: "tn", ReasoningContent: "r", Extra: extra(),
		MultiContent: []ChatMessagePart{
			{Type: ChatMessagePartTypeText, Text: "t"},
			{Type: ChatMessagePartTypeImageURL, ImageURL: &ChatMessageImageURL{URL: "u", Extra: extra()},
				AudioURL: &ChatMessageAudioURL{Extra: extra()},
				VideoURL: &ChatMessageVideoURL{Extra: extra()}, FileURL: &ChatMessageFileURL{Extra: extra()}},
		},
		UserInputMultiContent: []MessageInputPart{
			{Type: ChatMessagePartTypeText, Text: "t", Extra: extra()},
			{Type: ChatMessagePartTypeImageURL, Image: &MessageInputImage{MessagePartCommon: media()},
				Audio: &MessageInputAudio{media()},
				Video: &MessageInputVideo{media()}, File: &MessageInputFile{MessagePartCommon: media()}, Extra: extra()},
			{Type: ChatMessagePartTypeText, Text: "t", Extra: extra()},
		},
		AssistantGenMultiContent: []MessageOutputPart{
			{Type: ChatMessagePartTypeText, Text: "t", Extra: extra(), StreamingMeta: &MessageStreamingMeta{Index: 1}},
			{Type: ChatMessagePartTypeImageURL, Image: &MessageOutputImage{media()}, Video: &MessageOutputVideo{media()},
				Extra: extra()},
			{Type: ChatMessagePartTypeAudioURL, Audio: &MessageOutputAudio{media()}, Extra: extra()},
			{Type: ChatMessagePartTypeReasoning, Reasoning: &MessageOutputReasoning{Text: "t", Signature: "s"}, Extra: extra()},
			{Type: ChatMessagePartTypeText, Text: "t", Extra: extra(), StreamingMeta: &MessageStreamingMeta{Index: 1}},
		},
		ToolCalls: []ToolCall{
			{Index: pointer(i % 2), ID: "i" + fmt.Sprint(i%2), Type: "function",
				Function: FunctionCall{Name: "f", Arguments: "a"}, Extra: extra()},
			{ID: "whole", Extra: extra()},
		},
		ResponseMeta: &ResponseMeta{
			FinishReason: "stop", Usage: &TokenUsage{PromptTokens: i}, LogProbs: &LogProbs{Content: []LogProb{{Token: "t"}}},
		},
	}
}

// overwrite changes everything that can be reached from v.
func overwrite(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			overwrite(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			overwrite(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			overwrite(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			v.SetMapIndex(k, reflect.Zero(v.Type().Elem()))
		}
	case reflect.String:
		v.SetString("overwritten")
	case reflect.Int:
		v.SetInt(-1)
	}
}

// Rules schema/C10, schema/B15.3.8.
func TestConcatMessages_SharesNothing(t *testing.T) {
	for n := 1; n < 5; n++ {
		var chunks, want []*Message
		var acc MessageAccumulator
		for i := range n {
			chunks, want = append(chunks, richMessage(i)), append(want, richMessage(i))
			require.NoError(t, acc.Add(chunks[i]))
		}
		joined := mustConcat(t, chunks...)
		first, err := acc.Message()
		require.NoError(t, err)
		require.Equal(t, joined, first)
		overwrite(reflect.ValueOf(first))
		again, err := acc.Message()
		require.NoError(t, err)
		require.Equal(t, joined, again, "results share something")
		overwrite(reflect.ValueOf(joined))
		require.Equal(t, want, chunks, "a result shares something with the chunks")
	}
}

// Rule schema/C10.
func TestConcatMessages_MayRunConcurrently(t *testing.T) {
	chunks := []*Message{richMessage(0), richMessage(1), richMessage(2)}
	want := mustConcat(t, chunks...)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if got, err := ConcatMessages(chunks); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	wg.Wait()
}

// A field that is added to Message must be thought of here.
func TestConcatMessages_CoversEveryField(t *testing.T) {
	v := reflect.ValueOf(*mustConcat(t, richMessage(1), richMessage(1)))
	for i := range v.NumField() {
		require.False(t, v.Field(i).IsZero(), "%s is lost", v.Type().Field(i).Name)
	}
	usage := TokenUsage{}
	u := reflect.ValueOf(&usage).Elem()
	for i := range u.NumField() {
		f := u.Field(i)
		for f.Kind() == reflect.Struct {
			f = f.Field(0)
		}
		f.SetInt(int64(i + 1))
	}
	got := mustConcat(t, &Message{ResponseMeta: &ResponseMeta{Usage: &usage}}, &Message{})
	require.Equal(t, &usage, got.ResponseMeta.Usage)
	require.NotSame(t, &usage, got.ResponseMeta.Usage)
}

// Rule schema/C11.
func TestConcatMessages_RefusesNilChunks(t *testing.T) {
	require.Equal(t, "unexpected nil chunk in message stream, index: 0", concatError(t, nil))
	require.Equal(t, "unexpected nil chunk in message stream, index: 2", concatError(t, &Message{}, &Message{}, nil, nil))
}

// Rules schema/C12, schema/B15.3.10.
func TestConcatMessages_RefusesDifferentIdentities(t *testing.T) {
	got := mustConcat(t, &Message{}, &Message{Role: Tool, Name: "n"}, &Message{ToolCallID: "i", ToolName: "t"},
		&Message{Role: Tool, Name: "n"})
	require.Equal(t, &Message{Role: Tool, Name: "n", ToolCallID: "i", ToolName: "t"}, got)
	for want, chunks := range map[string][]*Message{
		"cannot concat messages with different roles: 'user' 'tool'":  {{Role: User}, {}, {Role: Tool}},
		"cannot concat messages with different names: 'a' 'b'":        {{Name: "a"}, {Name: "b"}},
		"cannot concat messages with different toolCallIDs: 'a' 'b'":  {{ToolCallID: "a"}, {ToolCallID: "b"}},
		"cannot concat messages with different toolNames: 'tn' 'tn2'": {{ToolName: "tn"}, {ToolName: "tn2"}},
	} {
		require.Equal(t, want, concatError(t, chunks...))
	}
}

// Rule schema/C13.
func TestConcatMessages_JoinsTexts(t *testing.T) {
	got := mustConcat(t, &Message{Content: "a", ReasoningContent: "1"}, &Message{}, &Message{Content: "b"},
		&Message{Content: "c", ReasoningContent: "2"})
	require.Equal(t, &Message{Content: "abc", ReasoningContent: "12"}, got)
}

// Rule schema/C14.
func TestConcatMessages_JoinsResponseMeta(t *testing.T) {
	require.Nil(t, mustConcat(t, &Message{}, &Message{}).ResponseMeta)
	got := mustConcat(t,
		&Message{ResponseMeta: &ResponseMeta{FinishReason: "a",
			Usage: &TokenUsage{PromptTokens: 5, CompletionTokens: 1,
				CompletionTokensDetails: CompletionTokensDetails{ReasoningTokens: 9}}}},
		&Message{},
		&Message{ResponseMeta: &ResponseMeta{FinishReason: "b", LogProbs: &LogProbs{Content: []LogProb{{Token: "1"}}}}},
		&Message{ResponseMeta: &ResponseMeta{Usage: &TokenUsage{PromptTokens: 3, CompletionTokens: 7, TotalTokens: 8,
			PromptTokenDetails: PromptTokenDetails{CachedTokens: 2}}, LogProbs: &LogProbs{Content: []LogProb{{Token: "2"}}}}},
	)
	require.Equal(t, &ResponseMeta{
		FinishReason: "b",
		Usage: &TokenUsage{
			PromptTokens: 5, CompletionTokens: 7, TotalTokens: 8, PromptTokenDetails: PromptTokenDetails{CachedTokens: 2},
			CompletionTokensDetails: CompletionTokensDetails{ReasoningTokens: 9},
		},
		LogProbs: &LogProbs{Content: []LogProb{{Token: "1"}, {Token: "2"}}},
	}, got.ResponseMeta)
	require.Equal(t, &ResponseMeta{}, mustConcat(t, &Message{ResponseMeta: &ResponseMeta{}}).ResponseMeta)
}

// Rule schema/C15.
func TestConcatMessages_JoinsExtra(t *testing.T) {
	require.Nil(t, mustConcat(t, &Message{Extra: map[string]any{}}, &Message{}).Extra)
	only := map[string]any{"k": unknownExtra{1}}
	require.Equal(t, only, mustConcat(t, &Message{}, &Message{Extra: only}, &Message{Extra: map[string]any{}}).Extra)
	got := mustConcat(t,
		&Message{Extra: map[string]any{"s": "a", "n": 1, "m": map[string]any{"x": "1"}, "nil": nil}},
		&Message{Extra: map[string]any{"s": "b", "n": 2, "m": map[string]any{"x": "2", "y": true}, "nil": "set"}},
		&Message{Extra: map[string]any{"s": nil, "new": []int{1}}})
	require.Equal(t, map[string]any{
		"s": "ab", "n": 2, "m": map[string]any{"x": "12", "y": true}, "nil": "set", "new": []int{1},
	}, got.Extra)
	require.Equal(t, "failed to concat message's extra: unexpected slice element type. Got int, expected string, key: k",
		concatError(t, &Message{Extra: map[string]any{"k": "a"}}, &Message{Extra: map[string]any{"k": 1}}))
	require.Contains(t, concatError(t, &Message{Extra: map[string]any{"k": unknownExtra{1}}},
		&Message{Extra: map[string]any{"k": unknownExtra{2}}}),
		"failed to concat message's extra: cannot concat multiple non-zero value of type schema.unknownExtra")
}

type unknownExtra struct{ A int }

// Rule schema/C16.
func TestConcatMessages_AppendsMultiContent(t *testing.T) {
	text := ChatMessagePart{Type: ChatMessagePartTypeText, Text: "t"}
	got := mustConcat(t, &Message{MultiContent: []ChatMessagePart{text, text}}, &Message{},
		&Message{MultiContent: []ChatMessagePart{text}})
	require.Equal(t, []ChatMessagePart{text, text, text}, got.MultiContent)
}

// Whatever is wrong, the first of these is reported: identity in order of arrival, then tool calls, extra, parts.
// Rule schema/C17.
func TestConcatMessages_ReportsTheFirstConflictInOrder(t *testing.T) {
	bad := map[string]any{"k": []int{1}}
	chunk := func(role RoleType, id string, extra map[string]any) *Message {
		return &Message{
			Role: role, Name: id, ToolCallID: id, ToolName: id, Extra: extra,
			ToolCalls:                []ToolCall{{Index: pointer(0), ID: id}},
			AssistantGenMultiContent: []MessageOutputPart{{Type: ChatMessagePartTypeText, Extra: extra}},
			UserInputMultiContent:    []MessageInputPart{{Type: ChatMessagePartTypeText, Extra: extra}},
		}
	}
	a, b := chunk(User, "a", bad), chunk(Tool, "b", bad)
	require.Contains(t, concatError(t, a, b, nil), "different roles")
	b.Role = User
	require.Contains(t, concatError(t, a, b), "different names")
	b.Name = "a"
	require.Contains(t, concatError(t, a, b), "different toolCallIDs")
	b.ToolCallID = "a"
	require.Contains(t, concatError(t, a, b), "different toolNames")
	b.ToolName = "a"
	require.Contains(t, concatError(t, a, b, nil), "nil chunk")
	require.Contains(t, concatError(t, a, b), "different tool id")
	b.ToolCalls[0].ID = "a"
	require.Contains(t, concatError(t, a, b), "message's extra")
	b.Extra = nil
	require.Contains(t, concatError(t, a, b), "message's assistant multicontent")
	b.AssistantGenMultiContent = nil
	require.Contains(t, concatError(t, a, b), "message's user multicontent")
	b.UserInputMultiContent = nil
	mustConcat(t, a, b)
}

func calls(tcs ...ToolCall) *Message { return &Message{ToolCalls: tcs} }

// Rules schema/C20, schema/C22.
func TestConcatMessages_OrdersToolCallsByIndex(t *testing.T) {
	got := mustConcat(t,
		calls(ToolCall{Index: pointer(7), ID: "same"}, ToolCall{ID: "n1"}),
		calls(ToolCall{ID: "n1"}, ToolCall{Index: pointer(-1), ID: "same"}),
		calls(ToolCall{Index: pointer(2)}))
	require.Equal(t, []ToolCall{
		{ID: "n1"}, {ID: "n1"}, {Index: pointer(-1), ID: "same"}, {Index: pointer(2)}, {Index: pointer(7), ID: "same"},
	}, got.ToolCalls)
}

// Rules schema/C21, schema/B15.3.8.
func TestConcatMessages_MergesToolCallsOfOneIndex(t *testing.T) {
	got := mustConcat(t,
		calls(ToolCall{Index: pointer(0), Function: FunctionCall{Arguments: `{"a"`}}),
		calls(ToolCall{Index: pointer(1), ID: "other", Function: FunctionCall{Arguments: "x"}},
			ToolCall{Index: pointer(0), ID: "id", Type: "function"}),
		calls(ToolCall{Index: pointer(0), ID: "id", Type: "function", Function: FunctionCall{Name: "f", Arguments: ":1}"},
			Extra: map[string]any{"first": 1}}),
		calls(ToolCall{Index: pointer(0), Function: FunctionCall{Name: "f"}, Extra: map[string]any{"dropped": 1}}))
	require.Equal(t, []ToolCall{
		{Index: pointer(0), ID: "id", Type: "function", Function: FunctionCall{Name: "f", Arguments: `{"a":1}`},
			Extra: map[string]any{"first": 1}},
		{Index: pointer(1), ID: "other", Function: FunctionCall{Arguments: "x"}},
	}, got.ToolCalls)
	for want, chunks := range map[string][]*Message{
		"cannot concat ToolCalls with different tool id: 'a' 'b'": {calls(ToolCall{Index: pointer(0), ID: "a"}),
			calls(ToolCall{Index: pointer(0), ID: "b"})},
		"cannot concat ToolCalls with different tool type: 'a' 'b'": {calls(ToolCall{Index: pointer(0), Type: "a"}),
			calls(ToolCall{Index: pointer(0), Type: "b"})},
		"cannot concat ToolCalls with different tool name: 'a' 'b'": {calls(ToolCall{Index: pointer(0),
			Function: FunctionCall{Name: "a"}}), calls(ToolCall{Index: pointer(0), Function: FunctionCall{Name: "b"}})},
	} {
		require.Equal(t, want, concatError(t, chunks...))
	}
}

func TestToolCallAccumulator_ErrorLeavesItUnchanged(t *testing.T) {
	var acc ToolCallAccumulator
	require.Equal(t, ToolCall{}, acc.ToolCall())
	require.NoError(t, acc.Add(ToolCall{ID: "a", Function: FunctionCall{Arguments: "1"}}))
	require.Error(t, acc.Add(ToolCall{ID: "b", Type: "t", Function: FunctionCall{Arguments: "2"}}))
	require.NoError(t, acc.Add(ToolCall{Function: FunctionCall{Name: "f", Arguments: "3"}}))
	require.Equal(t, ToolCall{ID: "a", Function: FunctionCall{Name: "f", Arguments: "13"}}, acc.ToolCall())
}

func parts(ps ...MessageOutputPart) *Message { return &Message{AssistantGenMultiContent: ps} }

// Rules schema/C30, schema/C31, schema/B15.3.7.
func TestConcatMessages_MergesAdjacentOutputParts(t *testing.T) {
	at := func(i int) *MessageStreamingMeta { return &MessageStreamingMeta{Index: i} }
	text := func(s string, meta *MessageStreamingMeta) MessageOutputPart {
		return MessageOutputPart{Type: ChatMessagePartTypeText, Text: s, StreamingMeta: meta}
	}
	thought := func(s, signature string) MessageOutputPart {
		return MessageOutputPart{Type: ChatMessagePartTypeReasoning,
			Reasoning: &MessageOutputReasoning{Text: s, Signature: signature}}
	}
	audio := func(c MessagePartCommon) MessageOutputPart {
		return MessageOutputPart{Type: ChatMessagePartTypeAudioURL, Audio: &MessageOutputAudio{c}}
	}
	data := func(s, mime string) MessageOutputPart {
		return audio(MessagePartCommon{Base64Data: &s, MIMEType: mime})
	}
	url := audio(MessagePartCommon{URL: pointer("u")})
	both := audio(MessagePartCommon{URL: pointer("u"), Base64Data: pointer("b")})
	noAudio := MessageOutputPart{Type: ChatMessagePartTypeAudioURL}
	noThought := MessageOutputPart{Type: ChatMessagePartTypeReasoning}
	image := MessageOutputPart{Type: ChatMessagePartTypeImageURL,
		Image: &MessageOutputImage{MessagePartCommon{Base64Data: pointer("i")}}}
	for _, tt := range []struct {
		name     string
		in, want []MessageOutputPart
	}{
		{"texts", []MessageOutputPart{text("a", nil), text("b", nil), text("c", nil)}, []MessageOutputPart{text("abc", nil)}},
		{"same index", []MessageOutputPart{text("a", at(0)), text("b", at(0))}, []MessageOutputPart{text("ab", at(0))}},
		{"adjacency", []MessageOutputPart{text("a", at(0)), text("b", at(1)), text("c", at(0))},
			[]MessageOutputPart{text("a", at(0)), text("b", at(1)), text("c", at(0))}},
		{"index and none", []MessageOutputPart{text("a", at(0)), text("b", nil), text("c", at(0))},
			[]MessageOutputPart{text("a", at(0)), text("b", nil), text("c", at(0))}},
		{"reasoning", []MessageOutputPart{thought("a", "s1"), thought("b", ""), noThought, thought("", "s2")},
			[]MessageOutputPart{thought("ab", "s2")}},
		{"no reasoning", []MessageOutputPart{noThought, noThought}, []MessageOutputPart{thought("", "")}},
		{"one without reasoning", []MessageOutputPart{noThought}, []MessageOutputPart{noThought}},
		{"audio data", []MessageOutputPart{data("a", ""), data("b", "m1"), data("", "m2")},
			[]MessageOutputPart{data("ab", "m1")}},
		{"audio by URL", []MessageOutputPart{url, url}, []MessageOutputPart{url, url}},
		{"audio data and URL", []MessageOutputPart{data("a", ""), url, data("b", ""), both, data("c", "")},
			[]MessageOutputPart{data("a", ""), url, data("b", ""), both, data("c", "")}},
		{"audio data and nothing", []MessageOutputPart{data("a", ""), noAudio, data("b", "")},
			[]MessageOutputPart{data("a", ""), noAudio, data("b", "")}},
		{"images", []MessageOutputPart{image, image}, []MessageOutputPart{image, image}},
		{"kinds", []MessageOutputPart{text("a", nil), thought("b", ""), text("c", nil)},
			[]MessageOutputPart{text("a", nil), thought("b", ""), text("c", nil)}},
	} {
		require.Equal(t, tt.want, mustConcat(t, parts(tt.in...)).AssistantGenMultiContent, tt.name)
		var chunks []*Message
		for _, p := range tt.in {
			chunks = append(chunks, parts(p), &Message{})
		}
		require.Equal(t, tt.want, mustConcat(t, chunks...).AssistantGenMultiContent, tt.name)
	}
}

// Rule schema/C32.
func TestConcatMessages_JoinsExtraOfOutputParts(t *testing.T) {
	withExtra := func(typ ChatMessagePartType, extra, media map[string]any) MessageOutputPart {
		p := MessageOutputPart{Type: typ, Extra: extra}
		if typ == ChatMessagePartTypeAudioURL {
			p.Audio = &MessageOutputAudio{MessagePartCommon{Base64Data: pointer("x"), Extra: media}}
		}
		return p
	}
	got := mustConcat(t, parts(
		withExtra(ChatMessagePartTypeAudioURL, map[string]any{"p": "1"}, map[string]any{"m": "1"}),
		withExtra(ChatMessagePartTypeAudioURL, map[string]any{"p": "2"}, map[string]any{"m": "2"}),
		withExtra(ChatMessagePartTypeText, nil, nil), withExtra(ChatMessagePartTypeText, map[string]any{}, nil),
	)).AssistantGenMultiContent
	require.Equal(t, map[string]any{"p": "12"}, got[0].Extra)
	require.Equal(t, map[string]any{"m": "12"}, got[0].Audio.Extra)
	require.Nil(t, got[1].Extra)

	bad := map[string]any{"k": []int{1}}
	const prefix = "failed to concat message's assistant multicontent: "
	for typ, want := range map[ChatMessagePartType]string{
		ChatMessagePartTypeText:      "failed to concat text part extra: ",
		ChatMessagePartTypeReasoning: "failed to concat reasoning part extra: ",
		ChatMessagePartTypeAudioURL:  "failed to concat audio part extra: ",
	} {
		require.Contains(t, concatError(t, parts(withExtra(typ, bad, nil), withExtra(typ, bad, nil))), prefix+want)
	}
	require.Contains(t, concatError(t,
		parts(withExtra(ChatMessagePartTypeAudioURL, nil, bad), withExtra(ChatMessagePartTypeAudioURL, nil, bad))),
		prefix+"failed to concat audio extra: ")
}

// Rules schema/C35, schema/B15.3.8.
func TestConcatMessages_MergesAdjacentInputTexts(t *testing.T) {
	text := func(s string, extra map[string]any) MessageInputPart {
		return MessageInputPart{Type: ChatMessagePartTypeText, Text: s, Extra: extra}
	}
	image := MessageInputPart{Type: ChatMessagePartTypeImageURL,
		Image: &MessageInputImage{MessagePartCommon: MessagePartCommon{URL: pointer("u")}}}
	got := mustConcat(t,
		&Message{UserInputMultiContent: []MessageInputPart{text("a", map[string]any{"k": "1"}),
			text("b", map[string]any{"k": "2"})}},
		&Message{UserInputMultiContent: []MessageInputPart{text("c", nil), image, image, text("d", nil)}})
	require.Equal(t, []MessageInputPart{text("abc", map[string]any{"k": "12"}), image, image, text("d", nil)},
		got.UserInputMultiContent)
	bad := map[string]any{"k": []int{1}}
	require.Contains(t, concatError(t,
		&Message{UserInputMultiContent: []MessageInputPart{text("a", bad), text("b", bad)}}),
		"failed to concat message's user multicontent: failed to concat text part extra: ")
}

// Rules schema/C40, schema/B15.3.13.
func TestConcatMessageArray_JoinsPositionByPosition(t *testing.T) {
	a, b, c := UserMessage("a"), UserMessage("b"), ToolMessage("c", "id")
	got, err := ConcatMessageArray([][]*Message{{a, nil, nil, b}, {nil, nil, c, nil}, {b, nil, nil, nil}})
	require.NoError(t, err)
	require.Equal(t, []*Message{UserMessage("ab"), nil, c, b}, got)
	require.Same(t, c, got[2])
	require.Same(t, b, got[3])
	_, err = ConcatMessageArray([][]*Message{{a}, {a}, {a, b}})
	require.EqualError(t, err, "unexpected array length. Got 2, expected 1")
	_, err = ConcatMessageArray([][]*Message{{a}, {c}})
	require.ErrorContains(t, err, "different roles")
	got, err = ConcatMessageArray(nil)
	require.NoError(t, err)
	require.Nil(t, got)
	got, err = ConcatMessageArray([][]*Message{{}, {}})
	require.NoError(t, err)
	require.Empty(t, got)
}

// Rule schema/C41.
func TestConcatMessageStream_ReadsToTheEndAndCloses(t *testing.T) {
	got, err := ConcatMessageStream(StreamReaderFromArray([]*Message{UserMessage("a"), UserMessage("b")}))
	require.NoError(t, err)
	require.Equal(t, UserMessage("ab"), got)
	got, err = ConcatMessageStream(StreamReaderFromArray[*Message](nil))
	require.NoError(t, err)
	require.Equal(t, &Message{}, got)

	failed := errors.New("failed")
	for name, send := range map[string]func(*StreamWriter[*Message]){
		"error":              func(w *StreamWriter[*Message]) { w.Send(nil, failed) },
		"error after chunks": func(w *StreamWriter[*Message]) { w.Send(UserMessage("a"), nil); w.Send(nil, failed) },
		"conflict, then error": func(w *StreamWriter[*Message]) {
			w.Send(UserMessage("a"), nil)
			w.Send(SystemMessage("b"), nil)
			w.Send(nil, failed)
		},
	} {
		r, w := Pipe[*Message](5)
		send(w)
		got, err := ConcatMessageStream(r)
		require.Equal(t, failed, err, name)
		require.Nil(t, got)
		require.True(t, w.Send(nil, nil), "the stream is not closed")
	}
	for _, chunks := range [][]*Message{{UserMessage("a"), SystemMessage("b")}, {nil}} {
		r, w := Pipe[*Message](5)
		for _, chunk := range chunks {
			w.Send(chunk, nil)
		}
		w.Close()
		got, err = ConcatMessageStream(r)
		require.Error(t, err)
		require.NotErrorIs(t, err, io.EOF)
		require.Nil(t, got)
	}
}

// The types of this package are registered for streams and for maps.
// Rule schema/X3.
func TestConcat_MessageTypesAreRegistered(t *testing.T) {
	m, err := concat.Items([]map[string]any{
		{"m": UserMessage("a"), "l": []*Message{nil, UserMessage("1")}, "a": UserAgenticMessage("x"),
			"al": []*AgenticMessage{nil}, "t": &ToolResult{}},
		{"m": UserMessage("b"), "l": []*Message{nil, UserMessage("2")}, "a": &AgenticMessage{},
			"al": []*AgenticMessage{UserAgenticMessage("y")}, "t": &ToolResult{Parts: []ToolOutputPart{toolText("t", nil)}}},
	})
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"m": UserMessage("ab"), "l": []*Message{nil, UserMessage("12")}, "a": UserAgenticMessage("x"),
		"al": []*AgenticMessage{UserAgenticMessage("y")}, "t": &ToolResult{Parts: []ToolOutputPart{toolText("t", nil)}},
	}, m)
}

func TestMessageAccumulator_ErrorStays(t *testing.T) {
	var acc MessageAccumulator
	require.NoError(t, acc.Add(UserMessage("a")))
	err := acc.Add(SystemMessage("b"))
	require.ErrorContains(t, err, "different roles")
	require.Equal(t, err, acc.Add(UserMessage("c")))
	m, again := acc.Message()
	require.Nil(t, m)
	require.Equal(t, err, again)
}
