package adk

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

func streamOf[M MessageType](texts ...string) *schema.StreamReader[M] {
	var chunks []M
	for _, text := range texts {
		chunks = append(chunks, dialectOf[M]().chunk(text))
	}
	return schema.StreamReaderFromArray(chunks)
}

func brokenStream[M MessageType](err error) *schema.StreamReader[M] {
	r, w := schema.Pipe[M](2)
	w.Send(dialectOf[M]().chunk("a"), nil)
	w.Send(dialectOf[M]().nothing, err)
	w.Close()
	return r
}

var errBroken = errors.New("the line broke")

// Rules agent/V-2, runtime/E5.
func TestVariant_GetMessageReadsTheStream(t *testing.T) {
	t.Run("ordinary", testGetVariant[ordinary])
	t.Run("agentic", testGetVariant[agentic])
}

func testGetVariant[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	whole := &TypedMessageVariant[M]{Message: d.answer("whole")}
	m, err := whole.GetMessage()
	require.NoError(t, err)
	require.Equal(t, "assistant: whole", d.line(m))

	m, err = new(TypedMessageVariant[M]).GetMessage()
	require.NoError(t, err)
	require.Equal(t, "nil", d.line(m))

	m, err = (&TypedMessageVariant[M]{IsStreaming: true, MessageStream: streamOf[M]("a", "b")}).GetMessage()
	require.NoError(t, err)
	require.Equal(t, "assistant: ab", d.line(m))

	r, w := schema.Pipe[M](1)
	w.Send(d.nothing, errBroken)
	m, err = (&TypedMessageVariant[M]{IsStreaming: true, MessageStream: r}).GetMessage()
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, "nil", d.line(m))
	require.True(t, w.Send(d.nothing, nil), "the stream is closed")
	w.Close()
}

func roundTrip[M MessageType](t *testing.T, v *TypedMessageVariant[M]) *TypedMessageVariant[M] {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, gob.NewEncoder(&buf).Encode(v))
	back := &TypedMessageVariant[M]{}
	require.NoError(t, gob.NewDecoder(&buf).Decode(back))
	return back
}

// Rules agent/V-3, agent/V-4, runtime/E7.
func TestVariant_IsSavedAsOneMessage(t *testing.T) {
	t.Run("ordinary", testVariantGob[ordinary])
	t.Run("agentic", testVariantGob[agentic])
}

func testVariantGob[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	m := d.answer("whole", wanted{"echo", "1", "{}"})
	EnsureMessageID(m)
	back := roundTrip(t, &TypedMessageVariant[M]{Message: m, Role: schema.Tool, ToolName: "echo",
		AgenticRole: schema.AgenticRoleTypeUser})
	require.Equal(t, m, back.Message)
	require.Nil(t, back.MessageStream)
	require.Equal(t, []any{false, schema.Tool, "echo", schema.AgenticRoleTypeUser},
		[]any{back.IsStreaming, back.Role, back.ToolName, back.AgenticRole})

	back = roundTrip(t, &TypedMessageVariant[M]{IsStreaming: true, MessageStream: streamOf[M]("a", "b"),
		Role: schema.Assistant})
	require.True(t, back.IsStreaming)
	require.Equal(t, schema.Assistant, back.Role)
	chunk, err := back.MessageStream.Recv()
	require.NoError(t, err)
	require.Equal(t, "assistant: ab", d.line(chunk), "one chunk")
	_, err = back.MessageStream.Recv()
	require.Error(t, err)

	back = roundTrip(t, &TypedMessageVariant[M]{})
	require.Equal(t, &TypedMessageVariant[M]{}, back)

	text := "error receiving message stream"
	joining := "cannot concat message stream"
	if _, is := any(m).(agentic); is {
		text, joining = "error receiving agentic message stream", "cannot concat agentic message stream"
	}
	_, err = (&TypedMessageVariant[M]{IsStreaming: true, MessageStream: brokenStream[M](errBroken)}).GobEncode()
	require.ErrorIs(t, err, errBroken)
	require.ErrorContains(t, err, text)
	_, err = (&TypedMessageVariant[M]{IsStreaming: true,
		MessageStream: schema.StreamReaderFromArray([]M{d.nothing})}).GobEncode()
	require.ErrorContains(t, err, joining)
	require.Error(t, new(TypedMessageVariant[M]).GobDecode([]byte("rubbish")))
}

// Rules agent/V-5, runtime/E4.
func TestEvent_FromMessageKeepsMessageAndStream(t *testing.T) {
	m, s := chatDialect.answer("x"), streamOf[ordinary]("a")
	e := EventFromMessage(m, nil, schema.Tool, "echo")
	require.Equal(t, &MessageVariant{Message: m, Role: schema.Tool, ToolName: "echo"}, e.Output.MessageOutput)
	e = EventFromMessage(m, s, schema.Assistant, "")
	require.Equal(t, &MessageVariant{IsStreaming: true, Message: m, MessageStream: s, Role: schema.Assistant},
		e.Output.MessageOutput)

	am, as := agenticDialect.answer("x"), streamOf[agentic]("a")
	ae := EventFromAgenticMessage(am, as, schema.AgenticRoleTypeUser)
	require.Equal(t, &TypedMessageVariant[agentic]{IsStreaming: true, Message: am, MessageStream: as,
		AgenticRole: schema.AgenticRoleTypeUser},
		ae.Output.MessageOutput)
	require.False(t, EventFromAgenticMessage(am, nil, "").Output.MessageOutput.IsStreaming)
}

// Rules agent/V-6, runtime/E6.
func TestEvent_GetMessageKeepsTheEventReadable(t *testing.T) {
	t.Run("ordinary", testGetEvent[ordinary])
	t.Run("agentic", testGetEvent[agentic])
}

func testGetEvent[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	for _, none := range []*TypedAgentEvent[M]{nil, {}, {Output: &TypedAgentOutput[M]{}}} {
		m, e, err := TypedGetMessage(none)
		require.NoError(t, err)
		require.Equal(t, "nil", d.line(m))
		require.Same(t, none, e)
	}
	whole := &newMessageEvent(d.answer("whole"), nil).event
	m, e, err := TypedGetMessage(whole)
	require.NoError(t, err)
	require.Same(t, whole, e)
	require.Equal(t, "assistant: whole", d.line(m))

	stream := &newMessageEvent(d.nothing, streamOf[M]("a", "b")).event
	for range 3 { // again and again
		m, e, err = TypedGetMessage(stream)
		require.NoError(t, err)
		require.Same(t, stream, e)
		require.Equal(t, "assistant: ab", d.line(m))
	}
	require.Equal(t, "assistant: ab", d.line(readOne(t, stream).message))

	broken := &newMessageEvent(d.nothing, brokenStream[M](errBroken)).event
	m, _, err = TypedGetMessage(broken)
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, "nil", d.line(m))
	require.ErrorIs(t, readOne(t, broken).broken, errBroken)
}

// Rule agent/V-9.
func TestRunStep_IsItsAgentsName(t *testing.T) {
	a := RunStep{agentName: "a"}
	require.Equal(t, "a", a.String())
	require.True(t, a.Equals(RunStep{agentName: "a"}))
	require.False(t, a.Equals(RunStep{}))
	var buf bytes.Buffer
	require.NoError(t, gob.NewEncoder(&buf).Encode([]RunStep{a, {agentName: "b"}}))
	var back []RunStep
	require.NoError(t, gob.NewDecoder(&buf).Decode(&back))
	require.Equal(t, []RunStep{{agentName: "a"}, {agentName: "b"}}, back)
}

func TestEvent_GobRoundTrip(t *testing.T) {
	t.Run("ordinary", testEventGob[ordinary])
	t.Run("agentic", testEventGob[agentic])
}

func testEventGob[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	for _, e := range []*TypedAgentEvent[M]{
		{AgentName: "a", RunPath: []RunStep{{agentName: "a"}}, Output: &TypedAgentOutput[M]{
			MessageOutput: &TypedMessageVariant[M]{Message: d.answer("x"), Role: schema.Assistant}}},
		{AgentName: "a", Action: NewExitAction()},
		{AgentName: "a", Action: NewTransferToAgentAction("b")},
		{AgentName: "a", Action: NewBreakLoopAction("a")},
	} {
		var buf bytes.Buffer
		require.NoError(t, gob.NewEncoder(&buf).Encode(e))
		back := &TypedAgentEvent[M]{}
		require.NoError(t, gob.NewDecoder(&buf).Decode(back))
		require.Equal(t, e, back)
	}
}

func TestEvent_JSON(t *testing.T) {
	t.Run("ordinary", testEventJSON[ordinary])
	t.Run("agentic", testEventJSON[agentic])
}

func testEventJSON[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	e := &newMessageEvent(d.answer("x"), nil).event
	e.Action = NewTransferToAgentAction("b")
	b, err := json.Marshal(e)
	require.NoError(t, err)
	back := &TypedAgentEvent[M]{}
	require.NoError(t, json.Unmarshal(b, back))
	require.Equal(t, "assistant: x", d.line(back.Output.MessageOutput.Message))
	require.Equal(t, e.Action, back.Action)

	stream := &newMessageEvent(d.nothing, streamOf[M]("a")).event
	_, err = json.Marshal(stream)
	require.NoError(t, err, "trace handlers encode events")
	require.Equal(t, "assistant: a", d.line(readOne(t, stream).message), "encoding reads nothing")
}

func TestActions(t *testing.T) {
	require.Equal(t, &AgentAction{Exit: true}, NewExitAction())
	require.Equal(t, "b", NewTransferToAgentAction("b").TransferToAgent.DestAgentName)
	require.Equal(t, &BreakLoopAction{From: "a"}, NewBreakLoopAction("a").BreakLoop)
}

// Rules agent/ID-1, batteries/I-2, batteries/I-3, batteries/I-4.
func TestMessageID_IsKeptInACopyOfExtra(t *testing.T) {
	t.Run("ordinary", testMessageID[ordinary])
	t.Run("agentic", testMessageID[agentic])
}

func testMessageID[M MessageType](t *testing.T) {
	d, ops := dialectOf[M](), opsOf[M]()
	EnsureMessageID(d.nothing)
	require.Empty(t, GetMessageID(d.nothing))
	m := d.answer("x")
	require.Empty(t, GetMessageID(m))
	shared := map[string]any{"k": "v"}
	ops.replaceExtra(m, shared)
	EnsureMessageID(m)
	id := GetMessageID(m)
	require.Regexp(t, regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), id)
	require.Equal(t, map[string]any{"k": "v"}, shared, "copy on write")
	require.Equal(t, map[string]any{"k": "v", "_eino_msg_id": id}, ops.extra(m))
	EnsureMessageID(m)
	require.Equal(t, id, GetMessageID(m))
	ops.replaceExtra(m, map[string]any{"_eino_msg_id": 7})
	require.Empty(t, GetMessageID(m), "not a string")
	ids := map[string]bool{}
	for range 1000 {
		ids[newMessageID()] = true
	}
	require.Len(t, ids, 1000)
}

// TestStreamCanceled_MatchesByType: errors of this type are equal whatever their pointers are, so that one that was
// saved and restored still matches.
// Rule agent/B19.26.
func TestStreamCanceled_MatchesByType(t *testing.T) {
	require.True(t, new(StreamCanceledError).Is(ErrStreamCanceled))
	require.False(t, new(StreamCanceledError).Is(io.EOF))
	var buf bytes.Buffer
	require.NoError(t, gob.NewEncoder(&buf).Encode(map[string]any{"e": ErrStreamCanceled}))
	var out map[string]any
	require.NoError(t, gob.NewDecoder(&buf).Decode(&out))
	require.ErrorIs(t, out["e"].(error), ErrStreamCanceled)
}

// Rules agent/V-7, agent/V-8.
func TestEvent_CopiesHaveTheirOwnStreams(t *testing.T) {
	t.Run("ordinary", testEventCopies[ordinary])
	t.Run("agentic", testEventCopies[agentic])
}

// testEventCopies: what a copy shares with its event and what it does not.
func testEventCopies[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	e := &newMessageEvent(d.answer("whole"), nil).event
	e.AgentName, e.RunPath = "a", []RunStep{{"a"}}
	e.Action, e.Err, e.Output.CustomizedOutput = NewExitAction(), errBroken, &struct{ n int }{1}
	c := copyEvent(e)
	require.Equal(t, e, c)
	require.Same(t, e.Action, c.Action)
	require.Same(t, e.Output.CustomizedOutput, c.Output.CustomizedOutput)
	require.True(t, e.Output.MessageOutput.Message == c.Output.MessageOutput.Message)
	c.RunPath[0].agentName, c.Output.MessageOutput.ToolName, c.Output.CustomizedOutput = "b", "t", nil
	require.Equal(t, "a", e.RunPath[0].agentName)
	require.Empty(t, e.Output.MessageOutput.ToolName)
	require.NotNil(t, e.Output.CustomizedOutput)

	require.Equal(t, &TypedAgentEvent[M]{Err: errBroken}, copyEvent(&TypedAgentEvent[M]{Err: errBroken}))
	require.NotNil(t, copyEvent(&TypedAgentEvent[M]{Output: &TypedAgentOutput[M]{}}).Output)

	s := &newMessageEvent(d.nothing, streamOf[M]("a", "b")).event
	other := copyEvent(s)
	require.NotSame(t, s.Output.MessageOutput.MessageStream, other.Output.MessageOutput.MessageStream)
	for _, reader := range []*TypedAgentEvent[M]{other, s} {
		require.Equal(t, "assistant: ab", d.line(readOne(t, reader).message), "each has all of the stream")
	}

	// rule agent/V-8: a reader that drops both has given the stream up.
	r, w := schema.Pipe[M](1)
	copyEvent(&newMessageEvent(d.nothing, r).event)
	r = nil
	require.Eventually(t, func() bool {
		runtime.GC()
		return w.Send(d.chunk("x"), nil)
	}, 10*time.Second, time.Millisecond, "the producer learns that nobody reads")
	w.Close()
}

// TestMessages_TextForOutputKeysAndAgentTools: the text of a message, for output keys and agents as tools.
// Rule agent/T-3.
func TestMessages_TextForOutputKeysAndAgentTools(t *testing.T) {
	for _, m := range []*schema.Message{chatAnswer("said", wanted{"t", "1", "{}"}),
		{Content: "said", ReasoningContent: "thought"}} {
		require.Equal(t, "said", chatOps.text(m))
	}
	for want, blocks := range map[string][]*schema.ContentBlock{
		"": nil,
		"one\ntwo": {nil, schema.NewContentBlock(&schema.AssistantGenText{Text: "one"}),
			schema.NewContentBlock(&schema.FunctionToolCall{Name: "t"}),
			schema.NewContentBlock(&schema.Reasoning{Text: "thought"}),
			schema.NewContentBlock(&schema.AssistantGenText{Text: "two"}), {Type: schema.ContentBlockTypeAssistantGenText}},
		"\n": {schema.NewContentBlock(&schema.AssistantGenText{}), schema.NewContentBlock(&schema.AssistantGenText{})},
	} {
		require.Equal(t, want, agenticOps.text(&schema.AgenticMessage{ContentBlocks: blocks}))
	}
}
