package kit

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/schema/claude"
)

// scripted is an engine that answers with given chunks and keeps what it was sent.
type scripted[M Message] struct {
	chunks []M
	err    error
	sent   []M
	closed atomic.Int32
}

func (s *scripted[M]) Info() Info {
	return Info{Type: "Test", Provider: "test", System: "test", Host: "host", Redactor: NewRedactor("test")}
}

func (s *scripted[M]) Settings(opts []model.Option) *Settings {
	return &Settings{Options: model.GetCommonOptions(nil, opts...)}
}

func (s *scripted[M]) Open(_ context.Context, in []M, _ []model.Option, _ bool) (Chunks[M], error) {
	s.sent = in
	return &scriptedChunks[M]{s: s}, nil
}

type scriptedChunks[M Message] struct {
	s    *scripted[M]
	next int
}

func (c *scriptedChunks[M]) Next() (M, error) {
	if c.next == len(c.s.chunks) {
		if c.s.err != nil {
			return nil, c.s.err
		}
		return nil, io.EOF
	}
	c.next++
	return c.s.chunks[c.next-1], nil
}

func (c *scriptedChunks[M]) Finish() { c.s.closed.Add(1) }
func (c *scriptedChunks[M]) Close()  { c.s.closed.Add(1) }

// randomBlocks returns an answer as a provider with blocks may give it.
func randomBlocks(r *rand.Rand) []*schema.ContentBlock {
	var blocks []*schema.ContentBlock
	text := func(n int) string { return string(bytes.Repeat([]byte("aé\n"), r.IntN(n))) + fmt.Sprint(r.IntN(1000)) }
	extra := func(b *schema.ContentBlock) *schema.ContentBlock {
		if r.IntN(3) == 0 {
			b.Extra = map[string]any{"test_signature": text(9)}
		}
		return b
	}
	for range 1 + r.IntN(6) {
		switch r.IntN(7) {
		case 0:
			t := &schema.AssistantGenText{Text: text(5)}
			if r.IntN(2) == 0 {
				t.ClaudeExtension = &claude.AssistantGenTextExtension{Citations: []*claude.TextCitation{{
					Type: claude.TextCitationTypePageLocation, PageLocation: &claude.CitationPageLocation{CitedText: "é"},
				}}}
			}
			blocks = append(blocks, extra(schema.NewContentBlock(t)))
		case 1:
			blocks = append(blocks, schema.NewContentBlock(&schema.AssistantGenText{Text: text(5)}))
		case 2:
			th := &schema.Reasoning{Text: text(5)}
			if r.IntN(2) == 0 {
				th.Signature = text(30)
			}
			if r.IntN(4) == 0 {
				th.Text = ""
				th.Signature = "only"
			}
			blocks = append(blocks, extra(schema.NewContentBlock(th)))
		case 3:
			blocks = append(blocks, extra(schema.NewContentBlock(&schema.FunctionToolCall{
				CallID: fmt.Sprint("call", len(blocks)), Name: "f", Arguments: `{"a":` + text(3) + `}`,
			})))
		case 4:
			blocks = append(blocks, extra(schema.NewContentBlock(&schema.ServerToolCall{
				Name: "web_search", CallID: "s", Arguments: map[string]any{"q": text(4)},
			})), schema.NewContentBlock(&schema.ServerToolResult{Name: "web_search", CallID: "s", Content: text(9)}))
		case 5:
			blocks = append(blocks, extra(schema.NewContentBlock(&schema.AssistantGenImage{Base64Data: text(9), MIMEType: "image/png"})))
		case 6:
			blocks = append(blocks, extra(schema.NewContentBlock(&schema.MCPToolApprovalRequest{ID: "1", Name: "x"})))
		}
	}
	return blocks
}

// streamed cuts an answer into chunks.
func streamed(t *testing.T, r *rand.Rand, blocks []*schema.ContentBlock) (chunks []*schema.AgenticMessage) {
	t.Helper()
	add := func(b schema.ContentBlock, index int) {
		b.StreamingMeta = &schema.StreamingMeta{Index: 3 * index}
		chunks = append(chunks, &schema.AgenticMessage{
			Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{&b},
		})
	}
	for i, b := range blocks {
		switch {
		case b.AssistantGenText != nil && b.AssistantGenText.ClaudeExtension == nil && len(b.AssistantGenText.Text) > 1:
			head, tail := *b, schema.ContentBlock{Type: b.Type}
			head.AssistantGenText = &schema.AssistantGenText{Text: b.AssistantGenText.Text[:1]}
			tail.AssistantGenText = &schema.AssistantGenText{Text: b.AssistantGenText.Text[1:]}
			add(head, i)
			add(tail, i)
		case b.FunctionToolCall != nil:
			head, tail := *b, schema.ContentBlock{Type: b.Type}
			head.FunctionToolCall = &schema.FunctionToolCall{CallID: b.FunctionToolCall.CallID, Name: b.FunctionToolCall.Name}
			tail.FunctionToolCall = &schema.FunctionToolCall{Arguments: b.FunctionToolCall.Arguments}
			add(head, i)
			add(tail, i)
		case b.Reasoning != nil:
			head, tail := *b, schema.ContentBlock{Type: b.Type}
			head.Reasoning = &schema.Reasoning{Text: b.Reasoning.Text}
			tail.Reasoning = &schema.Reasoning{Signature: b.Reasoning.Signature}
			add(head, i)
			add(tail, i)
		default:
			add(*b, i)
		}
	}
	last := &schema.AgenticMessage{
		Role:         schema.AgenticRoleTypeAssistant,
		ResponseMeta: &schema.AgenticResponseMeta{ID: "r", Model: "m", Provider: "test", TokenUsage: &schema.TokenUsage{TotalTokens: 3}},
	}
	SetFinishReason(last, "end_turn")
	Origin{"test", "host", "messages"}.Mark(&last.Extra)
	if r.IntN(2) == 0 {
		last.ResponseMeta.ClaudeExtension = &claude.ResponseMetaExtension{StopReason: "end_turn"}
	}
	return append(chunks, last)
}

// What a provider said goes back to it exactly, through chat messages, gob and JSON, streamed and not.
// Rules providers/K23, providers/K44, providers/K45.
func TestProjection_NothingIsLost(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		blocks := randomBlocks(r)
		engine := &scripted[*schema.AgenticMessage]{chunks: streamed(t, r, blocks)}
		m := NewModel(ChatOf(engine))
		whole, err := m.Generate(t.Context(), []*schema.Message{schema.UserMessage("q")})
		require.NoError(t, err, seed)
		sr, err := m.Stream(t.Context(), []*schema.Message{schema.UserMessage("q")})
		require.NoError(t, err, seed)
		joined, err := schema.ConcatMessageStream(sr)
		require.NoError(t, err, seed)
		require.Equal(t, whole, joined, seed)
		require.Equal(t, "end_turn", whole.ResponseMeta.FinishReason)
		require.NotContains(t, whole.Extra, finishKey)

		var buf bytes.Buffer
		var viaGob, viaJSON schema.Message
		require.NoError(t, gob.NewEncoder(&buf).Encode(whole))
		require.NoError(t, gob.NewDecoder(&buf).Decode(&viaGob))
		data, err := json.Marshal(&viaGob)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &viaJSON))
		history := []*schema.Message{schema.UserMessage("q"), &viaJSON}
		for _, call := range viaJSON.ToolCalls {
			history = append(history, schema.ToolMessage("ok", call.ID))
		}
		_, err = m.Generate(t.Context(), history)
		require.NoError(t, err)
		back := engine.sent[1].ContentBlocks
		want, err := json.Marshal(blocks)
		require.NoError(t, err)
		got, err := json.Marshal(back)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got), "seed %d", seed)
		require.Equal(t, blocks, BlocksOfAnswer(whole)[:len(blocks)], seed)
	}
}

// Rule providers/K45.
func TestProjection_AChangedMessageLosesItsSignedPartsTogether(t *testing.T) {
	blocks := []*schema.ContentBlock{
		schema.NewContentBlock(&schema.Reasoning{Text: "hm", Signature: "sig"}),
		schema.NewContentBlock(&schema.AssistantGenText{Text: "answer"}),
		schema.NewContentBlock(&schema.FunctionToolCall{CallID: "1", Name: "f"}),
		schema.NewContentBlock(&schema.FunctionToolCall{CallID: "2", Name: "f"}),
	}
	blocks[2].Extra = map[string]any{"test_signature": "x"}
	engine := &scripted[*schema.AgenticMessage]{chunks: []*schema.AgenticMessage{{
		Role: schema.AgenticRoleTypeAssistant, ContentBlocks: blocks,
	}}}
	m, err := NewModel(ChatOf(engine)).Generate(t.Context(), []*schema.Message{schema.UserMessage("q")})
	require.NoError(t, err)
	for name, change := range map[string]func(*schema.Message){
		"text":            func(m *schema.Message) { m.Content = "another answer" },
		"call removed":    func(m *schema.Message) { m.ToolCalls = m.ToolCalls[1:] },
		"thought removed": func(m *schema.Message) { m.ReasoningContent = "" },
		"part removed":    func(m *schema.Message) { m.AssistantGenMultiContent = nil },
		"bad layout":      func(m *schema.Message) { m.Extra = map[string]any{layoutKey: "{"} },
	} {
		changed := *m
		change(&changed)
		got := BlocksOfAnswer(&changed)
		for _, b := range got {
			require.Nil(t, b.Reasoning, name)
			require.Empty(t, b.Extra, name)
		}
		require.NotEmpty(t, got)
	}
}

func TestBlocksOf_ChatAnswersAsBlocks(t *testing.T) {
	engine := &scripted[*schema.Message]{chunks: []*schema.Message{
		{Role: schema.Assistant, ReasoningContent: "h"}, {Role: schema.Assistant, ReasoningContent: "m"},
		{Role: schema.Assistant, Content: "a"}, {Role: schema.Assistant, Content: "b", Extra: map[string]any{"origin": "x/y/z"}},
		{Role: schema.Assistant, ToolCalls: []schema.ToolCall{
			{Index: new(1), ID: "2", Function: schema.FunctionCall{Name: "g"}}, {Index: new(0), ID: "1", Function: schema.FunctionCall{Name: "f"}},
		}},
		{Role: schema.Assistant, ToolCalls: []schema.ToolCall{{Index: new(0), Function: schema.FunctionCall{Arguments: "{}"}}}},
		{Role: schema.Assistant, Content: "c", ResponseMeta: &schema.ResponseMeta{FinishReason: "tool_calls", ID: "r"}},
	}}
	m := NewModel(BlocksOf(engine))
	sr, err := m.Stream(t.Context(), []*schema.AgenticMessage{
		schema.SystemAgenticMessage("s"),
		schema.UserAgenticMessage("q"),
		{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
			schema.NewContentBlock(&schema.Reasoning{Text: "t", Signature: "s"}),
			schema.NewContentBlock(&schema.AssistantGenText{Text: "x"}),
			schema.NewContentBlock(&schema.FunctionToolCall{CallID: "1", Name: "f", Arguments: "{}"}),
		}},
		{Role: schema.AgenticRoleTypeUser, ContentBlocks: []*schema.ContentBlock{
			schema.FunctionToolResultAgenticMessage("1", "f", "r").ContentBlocks[0],
			schema.NewContentBlock(&schema.UserInputText{Text: "more"}),
			schema.NewContentBlock(&schema.UserInputImage{URL: "https://i"}),
		}},
	})
	require.NoError(t, err)
	out, err := schema.ConcatAgenticMessages(all(t, sr))
	require.NoError(t, err)
	require.Equal(t, []*schema.ContentBlock{
		schema.NewContentBlock(&schema.Reasoning{Text: "hm"}),
		schema.NewContentBlock(&schema.AssistantGenText{Text: "ab"}),
		schema.NewContentBlock(&schema.FunctionToolCall{CallID: "2", Name: "g", Arguments: "{}"}),
		schema.NewContentBlock(&schema.FunctionToolCall{CallID: "1", Name: "f", Arguments: "{}"}),
		schema.NewContentBlock(&schema.AssistantGenText{Text: "c"}),
	}, out.ContentBlocks)
	require.Equal(t, FinishToolCalls, FinishOf(out))

	var roles []schema.RoleType
	for _, m := range engine.sent {
		roles = append(roles, m.Role)
	}
	require.Equal(t, []schema.RoleType{schema.System, schema.User, schema.Assistant, schema.Tool, schema.User}, roles)
	require.Equal(t, "t", engine.sent[2].ReasoningContent)
	require.Equal(t, "r", engine.sent[3].Content)
	require.Len(t, engine.sent[4].UserInputMultiContent, 2)
	require.Eventually(t, func() bool { return engine.closed.Load() == 1 }, time.Second, time.Millisecond)
}

func all[M Message](t *testing.T, sr *schema.StreamReader[M]) (items []M) {
	t.Helper()
	for m, err := range sr.All() {
		require.NoError(t, err)
		items = append(items, m)
	}
	return items
}

// Rules providers/K37, providers/K38.
func TestFilter_OthersGetWhatEverybodyUnderstands(t *testing.T) {
	answer := func(origin Origin) *schema.AgenticMessage {
		m := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
			schema.NewContentBlock(&schema.Reasoning{Text: "hm", Signature: "sig"}),
			schema.NewContentBlock(&schema.ServerToolCall{Name: "web_search", Arguments: map[string]any{"query": "weft"}}),
			schema.NewContentBlock(&schema.ServerToolResult{Name: "web_search", Content: "encrypted"}),
			schema.NewContentBlock(&schema.AssistantGenText{Text: "found", ClaudeExtension: &claude.AssistantGenTextExtension{}}),
			schema.NewContentBlock(&schema.FunctionToolCall{CallID: "1", Name: "f"}),
		}}
		m.ContentBlocks[4].Extra = map[string]any{"test_signature": "x", "mine": "y"}
		origin.Mark(&m.Extra)
		return m
	}
	own, kin := Origin{"test", "a", "x"}, Origin{"test", "b", "x"}
	f := Filter{Opaque: []string{"test_signature"}, Kinship: func(o Origin) Kinship {
		switch o {
		case own:
			return Own
		case kin:
			return Kin
		}
		return Foreign
	}}
	mine := answer(own)
	require.Same(t, mine, f.Blocks([]*schema.AgenticMessage{mine})[0])

	blocks := f.Blocks([]*schema.AgenticMessage{answer(kin)})[0].ContentBlocks
	require.Len(t, blocks, 4)
	require.Equal(t, "sig", blocks[0].Reasoning.Signature)
	require.Equal(t, `[web_search {"query":"weft"}]`, blocks[1].AssistantGenText.Text)
	require.Equal(t, "x", blocks[3].Extra["test_signature"])

	for _, origin := range []Origin{{}, {"other", "a", "x"}} {
		before := answer(origin)
		blocks = f.Blocks([]*schema.AgenticMessage{before})[0].ContentBlocks
		require.Len(t, blocks, 3)
		require.Nil(t, blocks[1].AssistantGenText.ClaudeExtension)
		require.Equal(t, map[string]any{"mine": "y"}, blocks[2].Extra)
		require.Equal(t, answer(origin), before, "the message of the user's history does not change")
	}
	f.Thinking = ForeignThinkingText
	blocks = f.Blocks([]*schema.AgenticMessage{answer(Origin{})})[0].ContentBlocks
	require.Equal(t, "<thinking>\nhm\n</thinking>", blocks[0].AssistantGenText.Text)

	m := schema.AssistantMessage("found", []schema.ToolCall{{ID: "1", Extra: map[string]any{"test_signature": "x"}}})
	m.ReasoningContent = "hm"
	m.Extra = map[string]any{layoutKey: "[]", "test_signature": "y", "mine": "z"}
	got := f.Messages([]*schema.Message{m, nil})[0]
	require.Equal(t, "<thinking>\nhm\n</thinking>\nfound", got.Content)
	require.Empty(t, got.ReasoningContent)
	require.Equal(t, map[string]any{"mine": "z"}, got.Extra)
	require.Nil(t, got.ToolCalls[0].Extra)
	require.Equal(t, "hm", m.ReasoningContent)
}

// Rule providers/K12.
func TestCallIDs(t *testing.T) {
	mistral := IDRule{Max: 9, Exact: true, Allowed: Alphanumeric}
	ids := NewCallIDs(mistral)
	first := ids.Call("functions.weather:0")
	require.Regexp(t, "^[a-z0-9]{9}$", first)
	require.Equal(t, first, ids.Result("functions.weather:0"))
	require.Equal(t, "abcDEF123", ids.Call("abcDEF123"))
	second := ids.Call("functions.weather:0")
	require.NotEqual(t, first, second, "it is another call")
	require.Equal(t, second, ids.Result("functions.weather:0"))
	again := NewCallIDs(mistral)
	require.Equal(t, first, again.Call("functions.weather:0"), "the same every time")

	free := NewCallIDs(IDRule{})
	require.Equal(t, "x", free.Call("x"))
	require.Equal(t, "x_2", free.Call("x"), "two calls of one answer with one ID")
	require.Equal(t, "x", free.Result("x"))
	require.Equal(t, "x_2", free.Result("x"))
	require.Equal(t, "x_2", free.Call("x_2")[:3], "no ID is used twice")

	long := NewCallIDs(IDRule{Max: 40})
	require.Len(t, long.Call(string(bytes.Repeat([]byte("a"), 41))), 40)
}

// Rule providers/K13.
func TestArguments(t *testing.T) {
	for text, want := range map[string]string{
		"": "{}", " ": "{}", `{"a":1}`: `{"a":1}`, "null": `{"value":null}`, "[1]": `{"value":[1]}`, `"x"`: `{"value":"x"}`,
		`{"a":`: `{"_invalid":"{\"a\":"}`, "12": `{"value":12}`,
	} {
		require.Equal(t, want, string(ArgumentsObject(text)), text)
		require.Equal(t, want, ArgumentsText(text, true), text)
	}
	require.Equal(t, `{"a":`, ArgumentsText(`{"a":`, false))
	require.Equal(t, `{}`, ArgumentsText(``, false))
}

// Rules providers/K42, providers/K43.
func TestFinish(t *testing.T) {
	of := func(reason string) *schema.Message {
		return &schema.Message{Content: "x", ResponseMeta: &schema.ResponseMeta{FinishReason: reason}}
	}
	for reason, want := range map[string]Finish{
		"stop": FinishStop, "length": FinishLength, "max_tokens": FinishLength, "MAX_TOKENS": FinishLength, "SAFETY": FinishContentFilter,
		"refusal": FinishRefusal, "pause_turn": FinishPaused, "model_context_window_exceeded": FinishContextLength,
		"MALFORMED_FUNCTION_CALL": FinishMalformed, "something new": FinishUnknown, "": FinishUnknown,
	} {
		require.Equal(t, want, FinishOf(of(reason)), reason)
	}
	calls := of("STOP")
	calls.ToolCalls = make([]schema.ToolCall, 1)
	require.Equal(t, FinishToolCalls, FinishOf(calls))
	require.Equal(t, FinishUnknown, FinishOf((*schema.Message)(nil)))

	empty := &schema.Message{ReasoningContent: "hm", ResponseMeta: &schema.ResponseMeta{FinishReason: "MALFORMED_FUNCTION_CALL"}}
	require.True(t, IsEmpty(empty))
	err := CheckStopped("test", "MALFORMED_FUNCTION_CALL", "bad call", empty)
	require.EqualError(t, err, "test: the answer has no content: it ended with malformed (MALFORMED_FUNCTION_CALL): bad call")
	require.True(t, IsRetryable(err))
	require.NoError(t, CheckStopped("test", "length", "", of("length")))
	require.NoError(t, CheckStopped("test", "stop", "", &schema.Message{ResponseMeta: &schema.ResponseMeta{FinishReason: "stop"}}))
	require.ErrorIs(t, &StoppedError{Finish: FinishRefusal}, ErrContentFilter)
}

func TestModel_PanicsAndErrorsOfTheEngine(t *testing.T) {
	engine := &scripted[*schema.Message]{chunks: []*schema.Message{schema.AssistantMessage("a", nil)}, err: io.ErrUnexpectedEOF}
	m := NewModel[*schema.Message](engine)
	_, err := m.Generate(t.Context(), nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	sr, err := m.Stream(t.Context(), nil)
	require.NoError(t, err)
	_, err = sr.Recv()
	require.NoError(t, err)
	_, err = sr.Recv()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = sr.Recv()
	require.Equal(t, io.EOF, err)
	sr.Close()
	_, err = m.WithTools([]*schema.ToolInfo{nil})
	require.EqualError(t, err, "test: tool 0 is nil")
	require.Equal(t, `Test model "" at host`, fmt.Sprintf("%#v", m))
}

func TestDecodeOrdered_KeepsOrderAndDigits(t *testing.T) {
	const text = `{"b":{"z":1.50,"a":[1,null,true,{"y":"é","x":12345678901234567890}]},"a":"<&>"}`
	v, err := DecodeOrdered([]byte(text))
	require.NoError(t, err)
	out, err := Encode(v)
	require.NoError(t, err)
	require.Equal(t, text, string(out))
	for _, bad := range []string{"", "{", "{} {}", "[1", `{"a"}`} {
		_, err := DecodeOrdered([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestJoin_TheOnlyPieceIsAWholeAnswer(t *testing.T) {
	b := schema.NewContentBlockChunk(&schema.AssistantGenText{Text: "a"}, &schema.StreamingMeta{Index: 3})
	engine := &scripted[*schema.AgenticMessage]{chunks: []*schema.AgenticMessage{{
		Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{b},
	}}}
	m, err := NewModel[*schema.AgenticMessage](engine).Generate(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, []*schema.ContentBlock{schema.NewContentBlock(&schema.AssistantGenText{Text: "a"})}, m.ContentBlocks)
	require.NotNil(t, b.StreamingMeta)
}

func TestBlocksOf_AnAnswerThatCameInPiecesIsWholeForGenerate(t *testing.T) {
	engine := &scripted[*schema.Message]{chunks: []*schema.Message{
		schema.AssistantMessage("a", nil), schema.AssistantMessage("b", []schema.ToolCall{{Index: new(0), ID: "1"}}),
		{Role: schema.Assistant, ToolCalls: []schema.ToolCall{{Index: new(0), Function: schema.FunctionCall{Name: "f", Arguments: "{}"}}}},
	}}
	m, err := NewModel(BlocksOf(engine)).Generate(t.Context(), []*schema.AgenticMessage{schema.UserAgenticMessage("q")})
	require.NoError(t, err)
	require.Equal(t, []*schema.ContentBlock{
		schema.NewContentBlock(&schema.AssistantGenText{Text: "ab"}),
		schema.NewContentBlock(&schema.FunctionToolCall{CallID: "1", Name: "f", Arguments: "{}"}),
	}, m.ContentBlocks)
}
