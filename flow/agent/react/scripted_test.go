package react

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/flow/agent"
	"github.com/weftgo/weft/schema"
)

var (
	background = context.Background()
	errBoom    = errors.New("boom")
)

// turn is one answer of a model, in chunks.
type turn []*schema.Message

// say is an answer in one chunk for each word.
func say(words ...string) turn {
	var t turn
	for _, w := range words {
		t = append(t, schema.AssistantMessage(w, nil))
	}
	return t
}

// calls adds a chunk with tool calls, each "name#id arguments".
func (t turn) calls(calls ...string) turn {
	var tcs []schema.ToolCall
	for i, c := range calls {
		what, args, _ := strings.Cut(c, " ")
		name, id, _ := strings.Cut(what, "#")
		index := i
		tcs = append(tcs, schema.ToolCall{Index: &index, ID: id, Function: schema.FunctionCall{Name: name, Arguments: args}})
	}
	return append(t, schema.AssistantMessage("", tcs))
}

// scripted is a model that gives its turns one after another.
type scripted struct {
	mu    sync.Mutex
	turns []turn
	// seen are the inputs, as lines.
	seen [][]string
	opts []*model.Options
	// bound are the tools that WithTools was called with.
	bound []*schema.ToolInfo
	// touch is done to every input.
	touch func([]*schema.Message)
}

func script(turns ...turn) *scripted { return &scripted{turns: turns} }

func (m *scripted) next(input []*schema.Message, opts []model.Option) (turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, lines(input))
	m.opts = append(m.opts, model.GetCommonOptions(nil, opts...))
	if m.touch != nil {
		m.touch(input)
	}
	if len(m.turns) == 0 {
		return nil, errBoom
	}
	t := m.turns[0]
	m.turns = m.turns[1:]
	return t, nil
}

func (m *scripted) Generate(_ context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	t, err := m.next(input, opts)
	if err != nil {
		return nil, err
	}
	return schema.ConcatMessages(t)
}

func (m *scripted) Stream(_ context.Context, input []*schema.Message,
	opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	t, err := m.next(input, opts)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray(t), nil
}

func (m *scripted) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	m.bound = tools
	return m, nil
}

func line(m *schema.Message) string {
	if m == nil {
		return "nil"
	}
	text := m.Content
	for _, p := range m.UserInputMultiContent {
		text += string(p.Type) + ":" + p.Text
	}
	if m.Role == schema.Tool {
		return fmt.Sprintf("tool %s#%s: %s", m.ToolName, m.ToolCallID, text)
	}
	for _, c := range m.ToolCalls {
		text += fmt.Sprintf("[%s#%s]", c.Function.Name, c.ID)
	}
	return string(m.Role) + ": " + text
}

func lines(ms []*schema.Message) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = line(m)
	}
	return out
}

// toolFunc is an invokable tool.
type toolFunc struct {
	name string
	run  func(ctx context.Context, args string) (string, error)
	// infos counts the calls of Info.
	infos *int
}

func (t toolFunc) Info(context.Context) (*schema.ToolInfo, error) {
	if t.infos != nil {
		*t.infos++
	}
	return &schema.ToolInfo{Name: t.name, Desc: t.name}, nil
}

func (t toolFunc) InvokableRun(ctx context.Context, args string, _ ...tool.Option) (string, error) {
	if t.run == nil {
		return t.name + "(" + args + ")", nil
	}
	return t.run(ctx, args)
}

// streamTool is a streamable tool.
type streamTool struct {
	name string
	run  func(ctx context.Context, args string) (*schema.StreamReader[string], error)
}

func (t streamTool) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: t.name, Desc: t.name}, nil
}

func (t streamTool) StreamableRun(
	ctx context.Context, args string, _ ...tool.Option,
) (*schema.StreamReader[string], error) {
	return t.run(ctx, args)
}

func chunks(parts ...string) func(context.Context, string) (*schema.StreamReader[string], error) {
	return func(context.Context, string) (*schema.StreamReader[string], error) {
		return schema.StreamReaderFromArray(parts), nil
	}
}

func user(text string) []*schema.Message { return []*schema.Message{schema.UserMessage(text)} }

func newAgent(t *testing.T, conf *AgentConfig) *Agent {
	t.Helper()
	a, err := NewAgent(background, conf)
	require.NoError(t, err)
	return a
}

func withTools(conf AgentConfig, tools ...tool.BaseTool) *AgentConfig {
	conf.ToolsConfig.Tools = tools
	return &conf
}

// runner runs an agent and gives the result as a line, or its error.
type runner func(a *Agent, input []*schema.Message, opts ...agent.AgentOption) (string, error)

// runners are both ways to run an agent.
var runners = map[string]runner{
	"Generate": func(a *Agent, input []*schema.Message, opts ...agent.AgentOption) (string, error) {
		m, err := a.Generate(background, input, opts...)
		return line(m), err
	},
	"Stream": func(a *Agent, input []*schema.Message, opts ...agent.AgentOption) (string, error) {
		s, err := a.Stream(background, input, opts...)
		if err != nil {
			return "", err
		}
		m, err := schema.ConcatMessageStream(s)
		return line(m), err
	},
}

// inStream returns what a run shows with Stream, and otherwise with Generate.
func inStream(t *testing.T, streamed, generated string) string {
	if strings.HasSuffix(t.Name(), "/Stream") {
		return streamed
	}
	return generated
}

// inBothForms runs a test with Generate and with Stream.
func inBothForms(t *testing.T, test func(t *testing.T, run runner)) {
	for name, run := range runners {
		t.Run(name, func(t *testing.T) { test(t, run) })
	}
}
