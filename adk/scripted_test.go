package adk

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// The tests of agents run with models that follow a script, for both kinds of message through one body. A message is
// compared as the line that it is in a transcript:
//
//	system: be brief
//	user: hi
//	assistant: let me see [echo#c1 {"q":1}]
//	tool echo#c1: result

// dialect writes and reads messages of one kind.
type dialect[M MessageType] struct {
	answer func(text string, calls ...wanted) M
	// chunk is a piece of an answer.
	chunk func(text string, calls ...wanted) M
	// nothing is a nil message.
	nothing M
	line    func(m M) string
}

// wanted is a tool call.
type wanted struct{ name, id, args string }

func (w wanted) String() string { return fmt.Sprintf("[%s#%s %s]", w.name, w.id, w.args) }

func chatAnswer(text string, calls ...wanted) *schema.Message {
	m := schema.AssistantMessage(text, nil)
	for _, c := range calls {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{
			ID: c.id, Type: "function", Function: schema.FunctionCall{Name: c.name, Arguments: c.args}})
	}
	return m
}

func agenticAnswer(text string, calls ...wanted) *schema.AgenticMessage {
	m := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}
	if text != "" {
		m.ContentBlocks = append(m.ContentBlocks, schema.NewContentBlock(&schema.AssistantGenText{Text: text}))
	}
	for _, c := range calls {
		m.ContentBlocks = append(m.ContentBlocks, schema.NewContentBlock(
			&schema.FunctionToolCall{CallID: c.id, Name: c.name, Arguments: c.args}))
	}
	return m
}

// agenticChunk numbers the blocks: text is block 0, calls follow.
func agenticChunk(text string, calls ...wanted) *schema.AgenticMessage {
	m := agenticAnswer(text, calls...)
	first := 0
	if text == "" {
		first = 1
	}
	for i, b := range m.ContentBlocks {
		b.StreamingMeta = &schema.StreamingMeta{Index: first + i}
	}
	return m
}

var chatDialect = dialect[*schema.Message]{
	answer: chatAnswer,
	chunk:  chatAnswer,
	line: func(m *schema.Message) string {
		if m == nil {
			return "nil"
		}
		text := m.Content
		for _, p := range m.UserInputMultiContent {
			text += string(p.Type) + "(" + p.Text + ")"
		}
		if m.Role == schema.Tool {
			return fmt.Sprintf("tool %s#%s: %s", m.ToolName, m.ToolCallID, text)
		}
		return string(m.Role) + ": " + joined(text, m.ToolCalls, func(c schema.ToolCall) wanted {
			return wanted{c.Function.Name, c.ID, c.Function.Arguments}
		})
	},
}

var agenticDialect = dialect[*schema.AgenticMessage]{
	answer: agenticAnswer,
	chunk:  agenticChunk,
	line: func(m *schema.AgenticMessage) string {
		if m == nil {
			return "nil"
		}
		var text string
		var calls []wanted
		for _, b := range m.ContentBlocks {
			switch {
			case b.UserInputText != nil:
				text += b.UserInputText.Text
			case b.AssistantGenText != nil:
				text += b.AssistantGenText.Text
			case b.FunctionToolCall != nil:
				calls = append(calls, wanted{b.FunctionToolCall.Name, b.FunctionToolCall.CallID, b.FunctionToolCall.Arguments})
			case b.FunctionToolResult != nil:
				for _, c := range b.FunctionToolResult.Content {
					if c.Text != nil {
						text += c.Text.Text
					}
				}
				return fmt.Sprintf("tool %s#%s: %s", b.FunctionToolResult.Name, b.FunctionToolResult.CallID, text)
			}
		}
		return string(m.Role) + ": " + joined(text, calls, func(w wanted) wanted { return w })
	},
}

func joined[C any](text string, calls []C, of func(C) wanted) string {
	parts := []string{}
	if text != "" {
		parts = append(parts, text)
	}
	for _, c := range calls {
		parts = append(parts, of(c).String())
	}
	return strings.Join(parts, " ")
}

func (d *dialect[M]) lines(ms []M) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = d.line(m)
	}
	return out
}

func dialectOf[M MessageType]() *dialect[M] {
	var d any = &agenticDialect
	if _, ok := any((*dialect[M])(nil)).(*dialect[*schema.Message]); ok {
		d = &chatDialect
	}
	return d.(*dialect[M])
}

// matrix runs a test for both kinds of message, streaming and not.
func matrix(t *testing.T, ordinary, agentic func(t *testing.T, streaming bool)) {
	t.Helper()
	for kind, body := range map[string]func(*testing.T, bool){"ordinary": ordinary, "agentic": agentic} {
		t.Run(kind+"/whole", func(t *testing.T) { body(t, false) })
		t.Run(kind+"/streaming", func(t *testing.T) { body(t, true) })
	}
}

// scripted is a model that gives its answers one after the other, and records what it was asked.
type scripted[M MessageType] struct {
	// answers has one answer a call, in chunks; the last one is repeated.
	answers [][]M
	// hook, if set, sees a call first. An error is the model's.
	hook func(ctx context.Context, turn int, history []M) error

	mu        sync.Mutex
	histories [][]M
	options   [][]model.Option
}

// says makes a model of whole answers.
func says[M MessageType](answers ...M) *scripted[M] {
	m := &scripted[M]{}
	for _, a := range answers {
		m.answers = append(m.answers, []M{a})
	}
	return m
}

func (m *scripted[M]) next(ctx context.Context, history []M, opts []model.Option) ([]M, error) {
	m.mu.Lock()
	turn := len(m.histories)
	m.histories = append(m.histories, append([]M(nil), history...))
	m.options = append(m.options, opts)
	m.mu.Unlock()
	if m.hook != nil {
		if err := m.hook(ctx, turn, history); err != nil {
			return nil, err
		}
	}
	return m.answers[min(turn, len(m.answers)-1)], nil
}

func (m *scripted[M]) Generate(ctx context.Context, history []M, opts ...model.Option) (answer M, err error) {
	chunks, err := m.next(ctx, history, opts)
	if err != nil {
		return answer, err
	}
	if len(chunks) == 1 {
		return chunks[0], nil
	}
	return messageRuntimeOf[M]().concat(ctx, schema.StreamReaderFromArray(chunks))
}

func (m *scripted[M]) Stream(ctx context.Context, history []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	chunks, err := m.next(ctx, history, opts)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray(chunks), nil
}

// transcript returns what the model saw on each call.
func (m *scripted[M]) transcript() [][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([][]string, len(m.histories))
	for i, h := range m.histories {
		out[i] = dialectOf[M]().lines(h)
	}
	return out
}

func (m *scripted[M]) calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.histories)
}

// modelFunc is a model of two functions.
type modelFunc[M MessageType] struct {
	generate func(ctx context.Context, history []M, opts ...model.Option) (M, error)
	stream   func(ctx context.Context, history []M, opts ...model.Option) (*schema.StreamReader[M], error)
}

func (m *modelFunc[M]) Generate(ctx context.Context, history []M, opts ...model.Option) (M, error) {
	return m.generate(ctx, history, opts...)
}

func (m *modelFunc[M]) Stream(ctx context.Context, history []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	return m.stream(ctx, history, opts...)
}

type named string

func (n named) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: string(n), Desc: "a tool"}, nil
}

type toolFunc struct {
	named
	run func(ctx context.Context, args string) (string, error)
}

func (f *toolFunc) InvokableRun(ctx context.Context, args string, _ ...tool.Option) (string, error) {
	return f.run(ctx, args)
}

// echo is a tool that returns its arguments in brackets.
func echo(name string) tool.BaseTool {
	return &toolFunc{named(name), func(_ context.Context, args string) (string, error) { return "<" + args + ">", nil }}
}

type streamToolFunc struct {
	named
	run func(ctx context.Context, args string) (*schema.StreamReader[string], error)
}

func (f *streamToolFunc) StreamableRun(
	ctx context.Context, args string, _ ...tool.Option,
) (*schema.StreamReader[string], error) {
	return f.run(ctx, args)
}

type enhancedToolFunc struct {
	named
	run func(ctx context.Context, args *schema.ToolArgument) (*schema.ToolResult, error)
}

func (f *enhancedToolFunc) InvokableRun(
	ctx context.Context, args *schema.ToolArgument, _ ...tool.Option,
) (*schema.ToolResult, error) {
	return f.run(ctx, args)
}

type enhancedStreamToolFunc struct {
	named
	run func(ctx context.Context, args *schema.ToolArgument) (*schema.StreamReader[*schema.ToolResult], error)
}

func (f *enhancedStreamToolFunc) StreamableRun(
	ctx context.Context, args *schema.ToolArgument, _ ...tool.Option,
) (*schema.StreamReader[*schema.ToolResult], error) {
	return f.run(ctx, args)
}

// setup is an agent for a test.
func setup[M MessageType](t testing.TB, m model.BaseModel[M], tools []tool.BaseTool,
	change ...func(*TypedChatModelAgentConfig[M]),
) *TypedChatModelAgent[M] {
	t.Helper()
	conf := &TypedChatModelAgentConfig[M]{
		Name:        "tester",
		Description: "an agent under test",
		Model:       m,
		ToolsConfig: ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
	}
	for _, c := range change {
		c(conf)
	}
	a, err := NewTypedChatModelAgent(context.Background(), conf)
	require.NoError(t, err)
	return a
}

// ask runs an agent through a runner on the message "hi".
func ask[M MessageType](ctx context.Context, a TypedAgent[M], streaming bool,
	opts ...AgentRunOption,
) *AsyncIterator[*TypedAgentEvent[M]] {
	r := NewTypedRunner(TypedRunnerConfig[M]{Agent: a, EnableStreaming: streaming})
	return r.Query(ctx, "hi", opts...)
}

// observed is an event that was read to its end.
type observed[M MessageType] struct {
	*TypedAgentEvent[M]
	message M
	chunks  []M
	// broken is the error that ended the event's stream.
	broken error
}

// id is the message ID of the event.
func (o *observed[M]) id() string { return GetMessageID(o.message) }

// read takes all events of a run, streams and all, as they come.
func read[M MessageType](t testing.TB, events *AsyncIterator[*TypedAgentEvent[M]]) (all []observed[M]) {
	t.Helper()
	for {
		e, ok := events.Next()
		if !ok {
			return all
		}
		all = append(all, readOne(t, e))
	}
}

func readOne[M MessageType](t testing.TB, e *TypedAgentEvent[M]) observed[M] {
	t.Helper()
	o := observed[M]{TypedAgentEvent: e}
	if e.Output == nil || e.Output.MessageOutput == nil {
		return o
	}
	v := e.Output.MessageOutput
	require.Equal(t, v.IsStreaming, v.MessageStream != nil)
	if !v.IsStreaming {
		o.message = v.Message
		return o
	}
	defer v.MessageStream.Close()
	for {
		chunk, err := v.MessageStream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			o.broken = err
			return o
		}
		o.chunks = append(o.chunks, chunk)
	}
	var err error
	o.message, err = messageRuntimeOf[M]().concat(context.Background(), schema.StreamReaderFromArray(o.chunks))
	require.NoError(t, err)
	return o
}

// linesOf are the messages of events, an error as "error".
func linesOf[M MessageType](all []observed[M]) (lines []string) {
	for i := range all {
		switch {
		case all[i].Err != nil:
			lines = append(lines, "error")
		case all[i].broken != nil:
			lines = append(lines, "broken stream")
		case all[i].Output != nil && all[i].Output.MessageOutput != nil:
			lines = append(lines, dialectOf[M]().line(all[i].message))
		default:
			lines = append(lines, "no message")
		}
	}
	return lines
}

// failure is the error that a run ended with: its last event and no other.
func failure[M MessageType](t testing.TB, all []observed[M]) error {
	t.Helper()
	require.NotEmpty(t, all, "a failed run has at least the event of its error")
	for _, o := range all[:len(all)-1] {
		require.NoError(t, o.Err, "only the last event may have an error")
	}
	err := all[len(all)-1].Err
	require.Error(t, err)
	return err
}
