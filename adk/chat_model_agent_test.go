package adk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

type ordinary = *schema.Message
type agentic = *schema.AgenticMessage

func TestChatModelAgent_Constructor(t *testing.T) {
	_, err := NewChatModelAgent(context.Background(), nil)
	require.ErrorContains(t, err, "config is nil")
	_, err = NewChatModelAgent(context.Background(), &ChatModelAgentConfig{Name: "a"})
	require.EqualError(t, err, "agent 'Model' is required")

	tools := []tool.BaseTool{echo("echo")}
	conf := &ChatModelAgentConfig{Model: says(chatDialect.answer("done"))}
	conf.ToolsConfig.Tools = tools
	a, err := NewChatModelAgent(context.Background(), conf)
	require.NoError(t, err, "name and description may be empty")
	require.Equal(t, "ChatModel", a.GetType())
	tools[0], conf.Instruction = nil, "changed"
	require.Equal(t, []string{"assistant: done"}, linesOf(read(t, a.Run(context.Background(), &AgentInput{}))),
		"the agent must not look at the configuration later")
}

// Rules agent/ID-1, agent/ID-3, agent/ID-4, agent/ID-5, agent/R-1, agent/R-3, agent/R-8, agent/V-1.
func TestChatModelAgent_TurnByTurn(t *testing.T) {
	matrix(t, testTurnByTurn[ordinary], testTurnByTurn[agentic])
}

func testTurnByTurn[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	m := says(d.answer("let me see", wanted{"echo", "c1", `{"q":1}`}), d.answer("and", wanted{"echo", "c2", "no JSON"}),
		d.answer("done"))
	a := setup(t, m, []tool.BaseTool{echo("echo")}, func(c *TypedChatModelAgentConfig[M]) { c.Instruction = "be {brief}" })
	all := read(t, ask(context.Background(), a, streaming))
	require.Equal(t, []string{
		`assistant: let me see [echo#c1 {"q":1}]`,
		`tool echo#c1: <{"q":1}>`,
		`assistant: and [echo#c2 no JSON]`,
		`tool echo#c2: <no JSON>`,
		`assistant: done`,
	}, linesOf(all))
	first := []string{"system: be {brief}", "user: hi"}
	second := append(first[:2:2], linesOf(all)[:2]...)
	third := append(first[:2:2], linesOf(all)[:4]...)
	require.Equal(t, [][]string{first, second, third}, m.transcript())
	last := m.histories[2]
	for i := range all {
		e := &all[i]
		require.Equal(t, "tester", e.AgentName)
		require.Len(t, e.RunPath, 1)
		require.Equal(t, "tester", e.RunPath[0].String())
		require.Nil(t, e.Action)
		isTool := i%2 == 1
		require.Equal(t, streaming && !isTool, e.Output.MessageOutput.IsStreaming)
		checkRoles(t, e.Output.MessageOutput, isTool)
		require.NotEmpty(t, e.id(), "rule agent/ID-1")
		if i < 4 {
			require.Equal(t, e.id(), GetMessageID(last[i+2]),
				"rules agent/ID-3, agent/ID-4: the history has the ID of the event")
		}
	}
	require.Empty(t, GetMessageID(last[0]), "rule agent/ID-5: input has no ID")
	require.Empty(t, GetMessageID(last[1]))
	require.Len(t, idsOf(all), 5, "every message has an ID of its own")
}

func idsOf[M MessageType](all []observed[M]) map[string]bool {
	ids := map[string]bool{}
	for i := range all {
		ids[all[i].id()] = true
	}
	return ids
}

// checkRoles checks which of the two roles an event has. Rule agent/V-1.
func checkRoles[M MessageType](t *testing.T, v *TypedMessageVariant[M], isTool bool) {
	t.Helper()
	var got, want any = []any{v.Role, v.ToolName, v.AgenticRole}, []any{schema.Assistant, "", schema.AgenticRoleType("")}
	_, isAgentic := any(v.Message).(agentic)
	switch {
	case isAgentic && isTool:
		want = []any{schema.RoleType(""), "", schema.AgenticRoleTypeUser}
	case isAgentic:
		want = []any{schema.RoleType(""), "", schema.AgenticRoleTypeAssistant}
	case isTool:
		want = []any{schema.Tool, "echo", schema.AgenticRoleType("")}
	}
	require.Equal(t, want, got)
}

func TestChatModelAgent_BareRunHasNoPath(t *testing.T) {
	matrix(t, testBareRun[ordinary], testBareRun[agentic])
}

func testBareRun[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	a := setup(t, says(d.answer("done")), nil)
	all := read(t, a.Run(context.Background(), &TypedAgentInput[M]{EnableStreaming: streaming}))
	require.Equal(t, []string{"assistant: done"}, linesOf(all))
	require.Empty(t, all[0].AgentName)
	require.Empty(t, all[0].RunPath)
}

// Rules agent/ID-2, agent/W-3.
func TestChatModelAgent_ChunksAreTheModels(t *testing.T) {
	t.Run("ordinary", testChunks[ordinary])
	t.Run("agentic", testChunks[agentic])
}

func testChunks[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	m := &scripted[M]{answers: [][]M{{d.chunk("a"), d.chunk("b"), d.chunk("c")}}}
	all := read(t, ask(context.Background(), TypedAgent[M](setup(t, m, nil)), true))
	require.Len(t, all, 1)
	require.Len(t, all[0].chunks, 3, "as many chunks as the model sent")
	require.Equal(t, "assistant: abc", d.line(all[0].message))
	require.NotEmpty(t, GetMessageID(all[0].chunks[0]))
	for i, chunk := range all[0].chunks[1:] {
		require.Empty(t, GetMessageID(chunk), "rule agent/ID-2: only the first chunk has the ID")
		require.Same(t, any(m.answers[0][i+1]), any(chunk))
	}
	for _, chunk := range m.answers[0] {
		require.Empty(t, GetMessageID(chunk), "the model's own chunks stay unmarked")
	}
}

// Rule agent/ID-2.
func TestChatModelAgent_ModelsMessageStaysUnmarked(t *testing.T) {
	matrix(t, testUnmarked[ordinary], testUnmarked[agentic])
}

func testUnmarked[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	shared, own := d.answer("shared"), d.answer("own")
	EnsureMessageID(own)
	ids := map[string]bool{}
	for range 3 {
		a := setup(t, says(shared), nil)
		ids[read(t, ask(context.Background(), TypedAgent[M](a), streaming))[0].id()] = true
	}
	require.Len(t, ids, 3)
	require.Empty(t, GetMessageID(shared))
	all := read(t, ask(context.Background(), TypedAgent[M](setup(t, says(own), nil)), streaming))
	require.Equal(t, GetMessageID(own), all[0].id(), "an ID that is there is kept")
}

// Rule agent/R-9.
func TestChatModelAgent_RepeatedCallIDsAndMessages(t *testing.T) {
	matrix(t, testRepeated[ordinary], testRepeated[agentic])
}

func testRepeated[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	again := d.answer("", wanted{"echo", "same", ""})
	m := says(again, again, again, d.answer("done"))
	turns := 0
	count := &toolFunc{"echo", func(context.Context, string) (string, error) { turns++; return fmt.Sprint(turns), nil }}
	all := read(t, ask(context.Background(), TypedAgent[M](setup(t, m, []tool.BaseTool{count})), streaming))
	require.Equal(t, []string{
		"assistant: [echo#same ]", "tool echo#same: 1", "assistant: [echo#same ]", "tool echo#same: 2",
		"assistant: [echo#same ]", "tool echo#same: 3", "assistant: done",
	}, linesOf(all))
	require.Len(t, idsOf(all), 7)
	for i := range 6 {
		require.Equal(t, all[i].id(), GetMessageID(m.histories[3][i+1]))
	}
}

func TestChatModelAgent_ParallelTools(t *testing.T) {
	matrix(t, testParallel[ordinary], testParallel[agentic])
}

// testParallel: the tools wait for each other, in the reverse order of their calls.
func testParallel[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	const n = 5
	var turn [n + 1]chan struct{}
	var calls []wanted
	for i := range turn {
		turn[i] = make(chan struct{})
	}
	for i := range n {
		calls = append(calls, wanted{"echo", fmt.Sprint("c", i), fmt.Sprint(i)})
	}
	close(turn[n])
	var events atomic.Pointer[AsyncIterator[*TypedAgentEvent[M]]]
	waiting := &toolFunc{"echo", func(_ context.Context, args string) (string, error) {
		i := int(args[0] - '0')
		<-turn[i+1]
		return args, nil
	}}
	m := says(d.answer("", calls...), d.answer("done"))
	it := ask(context.Background(), TypedAgent[M](setup(t, m, []tool.BaseTool{waiting})), streaming)
	events.Store(it)
	var all []observed[M]
	for {
		e, ok := it.Next()
		if !ok {
			break
		}
		all = append(all, readOne(t, e))
		if i := n - (len(all) - 1); len(all) > 1 && i >= 0 && i < n {
			close(turn[i]) // that tool's event is out
		}
	}
	require.Equal(t, []string{"tool echo#c4: 4", "tool echo#c3: 3", "tool echo#c2: 2", "tool echo#c1: 1",
		"tool echo#c0: 0"},
		linesOf(all)[1:n+1], "rule agent/R-1: events in the order in which the tools end")
	require.Equal(t, []string{"tool echo#c0: 0", "tool echo#c1: 1", "tool echo#c2: 2", "tool echo#c3: 3",
		"tool echo#c4: 4"},
		m.transcript()[1][2:], "results in the order of the calls")
	for i := range n {
		require.Equal(t, all[n-i].id(), GetMessageID(m.histories[1][2+i]))
	}
}

func TestChatModelAgent_SequentialTools(t *testing.T) {
	matrix(t, testSequential[ordinary], testSequential[agentic])
}

func testSequential[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var running atomic.Int32
	one := &toolFunc{"echo", func(_ context.Context, args string) (string, error) {
		if running.Add(1) != 1 {
			return "", errors.New("two tools at once")
		}
		defer running.Add(-1)
		return args, nil
	}}
	m := says(d.answer("", wanted{"echo", "1", "a"}, wanted{"echo", "2", "b"}, wanted{"echo", "3", "c"}), d.answer("done"))
	a := setup(t, m, []tool.BaseTool{one},
		func(c *TypedChatModelAgentConfig[M]) { c.ToolsConfig.ExecuteSequentially = true })
	require.Equal(t, []string{"tool echo#1: a", "tool echo#2: b", "tool echo#3: c", "assistant: done"},
		linesOf(read(t, ask(context.Background(), TypedAgent[M](a), streaming)))[1:])
}

// Rule agent/R-8.
func TestChatModelAgent_ToolsKeepTheirFormInEitherMode(t *testing.T) {
	matrix(t, testToolKinds[ordinary], testToolKinds[agentic])
}

func testToolKinds[M MessageType](t *testing.T, streaming bool) {
	text := func(s string) *schema.ToolResult {
		return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: s}}}
	}
	enhanced := "text(xy)"
	if _, is := any(*new(M)).(agentic); is {
		enhanced = "xy"
	}
	for _, c := range []struct {
		tool    tool.BaseTool
		streams bool
		line    string
	}{
		{&toolFunc{"echo", func(context.Context, string) (string, error) { return "xy", nil }}, false, "xy"},
		{&toolFunc{"echo", func(context.Context, string) (string, error) { return "", nil }}, false, ""},
		{&streamToolFunc{"echo", func(context.Context, string) (*schema.StreamReader[string], error) {
			return schema.StreamReaderFromArray([]string{"x", "y"}), nil
		}}, true, "xy"},
		{&enhancedToolFunc{"echo", func(context.Context, *schema.ToolArgument) (*schema.ToolResult, error) {
			return text("xy"), nil
		}}, false, enhanced},
		{&enhancedStreamToolFunc{"echo",
			func(context.Context, *schema.ToolArgument) (*schema.StreamReader[*schema.ToolResult], error) {
				return schema.StreamReaderFromArray([]*schema.ToolResult{text("x"), text("y")}), nil
			}}, true, enhanced},
	} {
		t.Run(fmt.Sprintf("%T/%s", c.tool, c.line), func(t *testing.T) {
			d := dialectOf[M]()
			m := says(d.answer("", wanted{"echo", "c1", "{}"}), d.answer("done"))
			all := read(t, ask(context.Background(), TypedAgent[M](setup(t, m, []tool.BaseTool{c.tool})), streaming))
			require.Equal(t, "tool echo#c1: "+c.line, m.transcript()[1][2])
			require.Len(t, all, 3)
			e := all[1]
			checkRoles(t, e.Output.MessageOutput, true)
			require.Equal(t, c.streams, e.Output.MessageOutput.IsStreaming)
			require.Equal(t, e.id(), GetMessageID(m.histories[1][2]))
			if !c.streams {
				require.Equal(t, "tool echo#c1: "+c.line, d.line(e.message))
				return
			}
			require.Len(t, e.chunks, 2)
			require.Empty(t, GetMessageID(e.chunks[1]), "only the first chunk has the ID")
			checkToolChunks(t, e.chunks, e.message)
		})
	}
}

// checkToolChunks: chunks of an agentic result say that they belong to one block.
func checkToolChunks(t *testing.T, chunks, whole any) {
	messages, ok := chunks.([]agentic)
	if !ok {
		require.Equal(t, "echo", whole.(ordinary).ToolName)
		return
	}
	for _, m := range messages {
		require.Len(t, m.ContentBlocks, 1)
		require.Equal(t, &schema.StreamingMeta{Index: 0}, m.ContentBlocks[0].StreamingMeta)
	}
	require.Len(t, whole.(agentic).ContentBlocks, 1)
}

func TestChatModelAgent_PartsOfEnhancedResults(t *testing.T) {
	matrix(t, testParts[ordinary], testParts[agentic])
}

func testParts[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	run := func(parts ...schema.ToolOutputPart) []observed[M] {
		enhanced := &enhancedToolFunc{"echo", func(context.Context, *schema.ToolArgument) (*schema.ToolResult, error) {
			return &schema.ToolResult{Parts: parts}, nil
		}}
		m := says(d.answer("", wanted{"echo", "c1", ""}), d.answer("done"))
		all := read(t, ask(context.Background(), TypedAgent[M](setup(t, m, []tool.BaseTool{enhanced})), streaming))
		if len(all) == 3 {
			kept := opsOf[M]().withExtra(m.histories[1][2], opsOf[M]().extra(all[1].message))
			if am, is := any(kept).(agentic); is {
				am.ContentBlocks[0].StreamingMeta = nil // it distinguishes chunks of different calls
			}
			require.Equal(t, kept, all[1].message, "event and history say the same")
		}
		return all
	}
	all := run(schema.ToolOutputPart{Type: "nonsense"})
	require.Equal(t, []string{"assistant: [echo#c1 ]", "error"}, linesOf(all), "what cannot be converted fails the call")

	url := "http://example.com/x.png"
	all = run(schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: "a"},
		schema.ToolOutputPart{Type: schema.ToolPartTypeImage,
			Image: &schema.ToolOutputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}})
	require.Len(t, all, 3)
	switch m := any(all[1].message).(type) {
	case ordinary:
		require.Empty(t, m.Content)
		require.Equal(t, url, *m.UserInputMultiContent[1].Image.URL)
	case agentic:
		require.Len(t, m.ContentBlocks, 1)
		require.Equal(t, url, m.ContentBlocks[0].FunctionToolResult.Content[1].Image.URL)
	}

	all = run(schema.ToolOutputPart{Type: schema.ToolPartTypeToolSearchResult,
		ToolSearchResult: &schema.ToolSearchResult{}})
	require.Len(t, all, 3)
	if m, is := any(all[1].message).(agentic); is {
		require.Equal(t, "c1", m.ContentBlocks[0].ToolSearchFunctionToolResult.CallID)
		require.Equal(t, "echo", m.ContentBlocks[0].ToolSearchFunctionToolResult.Name)
	}
}

// Rule agent/W-7.
func TestChatModelAgent_EventsCarryTheProcessedResult(t *testing.T) {
	matrix(t, testProcessed[ordinary], testProcessed[agentic])
}

func testProcessed[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	quote := compose.ToolMiddleware{Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
		return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
			out, err := next(ctx, in)
			if err == nil {
				out.Result = "'" + out.Result + "'"
			}
			return out, err
		}
	}}
	m := says(d.answer("", wanted{"alias", "c1", "x"}), d.answer("done"))
	a := setup(t, m, []tool.BaseTool{echo("echo")}, func(c *TypedChatModelAgentConfig[M]) {
		c.ToolsConfig.ToolCallMiddlewares = []compose.ToolMiddleware{quote}
		c.ToolsConfig.ToolAliases = map[string]compose.ToolAliasConfig{"echo": {NameAliases: []string{"alias"}}}
	})
	all := read(t, ask(context.Background(), TypedAgent[M](a), streaming))
	require.Equal(t, []string{"assistant: [alias#c1 x]", "tool alias#c1: '<x>'", "assistant: done"}, linesOf(all))
	require.Equal(t, linesOf(all)[1], m.transcript()[1][2])
	require.Equal(t, all[1].id(), GetMessageID(m.histories[1][2]), "by the name that the model used")
}

// Rule agent/W-8.
func TestChatModelAgent_UnknownToolsHandlerSendsAnEvent(t *testing.T) {
	matrix(t, testUnknownTool[ordinary], testUnknownTool[agentic])
}

func testUnknownTool[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	m := says(d.answer("", wanted{"nosuch", "c1", "x"}, wanted{"echo", "c2", "y"}), d.answer("done"))
	a := setup(t, m, []tool.BaseTool{echo("echo")}, func(c *TypedChatModelAgentConfig[M]) {
		c.ToolsConfig.UnknownToolsHandler = func(_ context.Context, name, input string) (string, error) {
			return "no " + name + "(" + input + ")", nil
		}
		c.ToolsConfig.ExecuteSequentially = true
	})
	all := read(t, ask(context.Background(), TypedAgent[M](a), streaming))
	require.Equal(t, []string{"tool nosuch#c1: no nosuch(x)", "tool echo#c2: <y>", "assistant: done"}, linesOf(all)[1:])
	require.Equal(t, linesOf(all)[1:3], m.transcript()[1][2:])
	require.Equal(t, all[1].id(), GetMessageID(m.histories[1][2]))

	m = says(d.answer("", wanted{"nosuch", "c1", "x"}))
	all = read(t, ask(context.Background(), TypedAgent[M](setup(t, m, []tool.BaseTool{echo("echo")})), streaming))
	require.ErrorContains(t, failure(t, all), "nosuch")
}

// Rule agent/L-1.
func TestChatModelAgent_InfoFailureIsNotKept(t *testing.T) {
	matrix(t, testInfoFails[ordinary], testInfoFails[agentic])
}

type flakyInfo struct {
	tool.InvokableTool
	failures atomic.Int32
}

var errFlaky = errors.New("no info yet")

func (f *flakyInfo) Info(ctx context.Context) (*schema.ToolInfo, error) {
	if f.failures.Add(-1) >= 0 {
		return nil, errFlaky
	}
	return f.InvokableTool.Info(ctx)
}

func testInfoFails[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	flaky := &flakyInfo{InvokableTool: echo("echo").(tool.InvokableTool)}
	flaky.failures.Store(2)
	a := setup(t, says(d.answer("done")), []tool.BaseTool{flaky})
	for range 2 {
		all := read(t, ask(context.Background(), TypedAgent[M](a), streaming))
		require.Len(t, all, 1)
		err := failure(t, all)
		require.ErrorIs(t, err, errFlaky)
		require.ErrorContains(t, err, "ChatModelAgent getRunFunc error: ")
		require.Equal(t, "tester", all[0].AgentName)
	}
	require.Equal(t, []string{"assistant: done"}, linesOf(read(t, ask(context.Background(), TypedAgent[M](a), streaming))))
}

// Rule agent/R-2.
func TestChatModelAgent_StopsAtMaxIterations(t *testing.T) {
	matrix(t, testMaxIterations[ordinary], testMaxIterations[agentic])
}

func testMaxIterations[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	call := d.answer("", wanted{"echo", "c", "{}"})
	for limit, ok := range map[int]bool{5: false, 6: true} {
		m := says(call, call, call, call, call, d.answer("done"))
		a := setup(t, m, []tool.BaseTool{echo("echo")}, func(c *TypedChatModelAgentConfig[M]) { c.MaxIterations = limit })
		all := read(t, ask(context.Background(), TypedAgent[M](a), streaming))
		require.Equal(t, limit, m.calls())
		require.Len(t, all, 11)
		if ok {
			require.NoError(t, all[10].Err)
			continue
		}
		err := failure(t, all)
		require.ErrorIs(t, err, ErrExceedMaxIterations)
		require.ErrorContains(t, err,
			fmt.Sprintf("exceeds max iterations: agent 'tester' called its model %d times without an end; "+
				"MaxIterations of its config sets the limit", limit))
	}
	for _, limit := range []int{0, -1} {
		m := says(call)
		a := setup(t, m, []tool.BaseTool{echo("echo")}, func(c *TypedChatModelAgentConfig[M]) { c.MaxIterations = limit })
		require.ErrorIs(t, failure(t, read(t, ask(context.Background(), TypedAgent[M](a), streaming))),
			ErrExceedMaxIterations)
		require.Equal(t, 20, m.calls(), "the default")
	}
}

// Rule agent/R-5.
func TestChatModelAgent_WithoutToolsTheFirstAnswerIsFinal(t *testing.T) {
	matrix(t, testNoTools[ordinary], testNoTools[agentic])
}

func testNoTools[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	m := says(d.answer("I call", wanted{"echo", "c1", "{}"}))
	a := setup(t, m, nil)
	require.Equal(t, []string{"assistant: I call [echo#c1 {}]"},
		linesOf(read(t, ask(context.Background(), TypedAgent[M](a), streaming))))
	require.Equal(t, 1, m.calls())
	var none model.Options
	require.NotNil(t, model.GetCommonOptions(&none, m.options[0]...).Tools,
		"rule agent/L-10: an empty list is passed, too")
	require.Empty(t, none.Tools)
}

// Rules agent/G-1, agent/G-2, agent/G-3.
func TestChatModelAgent_InstructionIsATemplateOfSessionValues(t *testing.T) {
	matrix(t, testInstruction[ordinary], testInstruction[agentic])
}

func testInstruction[M MessageType](t *testing.T, streaming bool) {
	_, isAgentic := any(*new(M)).(agentic)
	d := dialectOf[M]()
	run := func(instruction string, opts ...AgentRunOption) ([]observed[M], *scripted[M]) {
		m := says(d.answer("done"))
		a := setup(t, m, nil, func(c *TypedChatModelAgentConfig[M]) { c.Instruction = instruction })
		return read(t, ask(context.Background(), TypedAgent[M](a), streaming, opts...)), m
	}
	values := WithSessionValues(map[string]any{"Name": "Ann", "n": 3})

	_, m := run("")
	require.Equal(t, [][]string{{"user: hi"}}, m.transcript(), "no system message without an instruction")
	_, m = run("I am {Name}, {")
	require.Equal(t, "system: I am {Name}, {", m.transcript()[0][0], "verbatim without session values")
	_, m = run("I am {Name}, {n}, {{x}}", values)
	if isAgentic {
		require.Equal(t, "system: I am {Name}, {n}, {{x}}", m.transcript()[0][0], "never formatted")
		return
	}
	require.Equal(t, "system: I am Ann, 3, {x}", m.transcript()[0][0])
	for _, bad := range []string{"I am {Missing}", "JSON: {\"a\": 1}", "open {"} {
		all, m := run(bad, values)
		err := failure(t, all)
		require.ErrorContains(t, err, "defaultGenModelInput: failed to format instruction using FString template")
		require.ErrorContains(t, err, "GenModelInput")
		require.Zero(t, m.calls())
	}
}

func TestChatModelAgent_GenModelInput(t *testing.T) {
	matrix(t, testGenModelInput[ordinary], testGenModelInput[agentic])
}

func testGenModelInput[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	m := says(d.answer("", wanted{"echo", "1", ""}), d.answer("done"))
	calls := 0
	errNo := errors.New("no input")
	gen := func(_ context.Context, instruction string, input *TypedAgentInput[M]) ([]M, error) {
		calls++
		require.Equal(t, "verbatim {", instruction)
		require.Equal(t, streaming, input.EnableStreaming)
		if calls > 1 {
			return nil, errNo
		}
		return append(input.Messages, opsOf[M]().user("more")), nil
	}
	a := setup(t, m, []tool.BaseTool{echo("echo")}, func(c *TypedChatModelAgentConfig[M]) {
		c.Instruction, c.GenModelInput = "verbatim {", gen
	})
	r := NewTypedRunner(TypedRunnerConfig[M]{Agent: a, EnableStreaming: streaming})
	room := append(make([]M, 0, 4), opsOf[M]().user("hi"))
	read(t, r.Run(context.Background(), room, WithSessionValues(map[string]any{"a": 1})))
	require.Equal(t, []string{"user: hi", "user: more"}, m.transcript()[0])
	require.Equal(t, 1, calls, "once a run")
	require.Equal(t, "nil", d.line(room[:2][1]), "the caller's array is not written to")
	require.ErrorIs(t, failure(t, read(t, r.Run(context.Background(), room))), errNo)
}

type modelFlavor struct{ v string }
type toolFlavor struct{ v string }

// Rules agent/L-10, agent/L-11.
func TestChatModelAgent_OptionsOfModelAndTools(t *testing.T) {
	matrix(t, testOptions[ordinary], testOptions[agentic])
}

type optionTool struct {
	named
	got chan string
}

func (o *optionTool) InvokableRun(_ context.Context, _ string, opts ...tool.Option) (string, error) {
	o.got <- tool.GetImplSpecificOptions(&toolFlavor{"none"}, opts...).v
	return "ok", nil
}

func testOptions[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	flavored := func(v string) AgentRunOption {
		return WithChatModelOptions([]model.Option{
			model.WrapImplSpecificOptFn(func(o *modelFlavor) { o.v = v }),
			model.WithTools([]*schema.ToolInfo{{Name: "overridden"}}),
		})
	}
	toolFlavored := func(v string) AgentRunOption {
		return WithToolOptions([]tool.Option{tool.WrapImplSpecificOptFn(func(o *toolFlavor) { o.v = v })})
	}
	for _, c := range []struct {
		name                string
		opts                []AgentRunOption
		wantModel, wantTool string
	}{
		{"none", nil, "none", "none"},
		{"set", []AgentRunOption{flavored("a"), toolFlavored("b")}, "a", "b"},
		{"last wins", []AgentRunOption{flavored("x"), flavored("a"), toolFlavored("y"), toolFlavored("b")}, "a", "b"},
		{"designated", []AgentRunOption{flavored("a").DesignateAgent("other", "tester"),
			toolFlavored("b").DesignateAgent("tester")}, "a", "b"},
		{"for another", []AgentRunOption{flavored("a").DesignateAgent("other"), toolFlavored("b").DesignateAgent("other")},
			"none", "none"},
		{"zero", []AgentRunOption{{}}, "none", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := says(d.answer("", wanted{"echo", "1", ""}), d.answer("done"))
			o := &optionTool{"echo", make(chan string, 1)}
			read(t, ask(context.Background(), TypedAgent[M](setup(t, m, []tool.BaseTool{o})), streaming, c.opts...))
			require.Equal(t, c.wantTool, <-o.got)
			require.Len(t, m.options, 2)
			for _, opts := range m.options {
				require.Equal(t, c.wantModel, model.GetImplSpecificOptions(&modelFlavor{"none"}, opts...).v)
				infos := model.GetCommonOptions(nil, opts...).Tools
				require.Len(t, infos, 1, "the agent's tools come last")
				require.Equal(t, "echo", infos[0].Name)
			}
		})
	}
}

// TestAgent_OfToolsWithOneNameTheLastIsOffered: and called. Providers refuse two of one name.
// Rule agent/L-4.
func TestAgent_OfToolsWithOneNameTheLastIsOffered(t *testing.T) {
	bubbled(t, testOneName[ordinary], testOneName[agentic])
}

func testOneName[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	first := &toolFunc{"t", func(context.Context, string) (string, error) { return "first", nil }}
	second := &toolFunc{"t", func(context.Context, string) (string, error) { return "second", nil }}
	m := says(d.answer("", wanted{"t", "c", object}), d.answer("done"))
	all := read(t, bare(t.Context(), setup(t, m, []tool.BaseTool{first, echo("u"), second}), streaming))
	require.Contains(t, linesOf(all), "tool t#c: second")
	require.Equal(t, []string{"u", "t"}, toolNames(m.options[0]))
}

// fired is one call of a callback handler.
type fired struct {
	timing, name, typ string
	component         components.Component
	payload           string
}

type recorder struct {
	mu   sync.Mutex
	wg   sync.WaitGroup
	seen []fired
}

func (r *recorder) note(timing string, info *callbacks.RunInfo, payload any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := fired{timing: timing, payload: fmt.Sprintf("%T", payload)}
	if info != nil {
		f.name, f.typ, f.component = info.Name, info.Type, info.Component
	}
	r.seen = append(r.seen, f)
}

func (r *recorder) handler() callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			r.note("start", info, in)
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			r.note("end", info, out)
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
			r.note("error", info, nil)
			return ctx
		}).
		OnStartWithStreamInputFn(func(
			ctx context.Context, info *callbacks.RunInfo, in *schema.StreamReader[callbacks.CallbackInput],
		) context.Context {
			in.Close()
			r.note("start-stream", info, nil)
			return ctx
		}).
		OnEndWithStreamOutputFn(func(ctx context.Context, info *callbacks.RunInfo,
			out *schema.StreamReader[callbacks.CallbackOutput],
		) context.Context {
			r.wg.Go(func() {
				var last any
				for chunk, err := range out.All() {
					if err == nil {
						last = chunk
					}
				}
				r.note("end-stream", info, last)
			})
			return ctx
		}).Build()
}

// of are the firings of one component, in their order.
func (r *recorder) of(component components.Component) (out []fired) {
	r.wg.Wait()
	for _, f := range r.seen {
		if f.component == component {
			out = append(out, f)
		}
	}
	return out
}

// Rule agent/W-1.
func TestChatModelAgent_ComponentCallbacks(t *testing.T) {
	matrix(t, testCallbacks[ordinary], testCallbacks[agentic])
}

func testCallbacks[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var none M
	m := says(d.answer("", wanted{"echo", "1", "{}"}), d.answer("done"))
	rec := &recorder{}
	ctx := callbacks.InitCallbacks(context.Background(), nil, rec.handler())
	all := read(t, ask(ctx, TypedAgent[M](setup(t, m, []tool.BaseTool{echo("echo")})), streaming))
	require.Equal(t, []string{"assistant: [echo#1 {}]", "tool echo#1: <{}>", "assistant: done"}, linesOf(all))

	end := "end"
	if streaming {
		end = "end-stream"
	}
	kind, typ := components.ComponentOfChatModel, components.Component("scripted")
	if _, is := any(none).(agentic); is {
		kind = components.ComponentOfAgenticModel
	}
	models := rec.of(kind)
	require.Len(t, models, 4, "once a call: %v", rec.seen)
	starts, ends := 0, 0
	for _, f := range models {
		require.Equal(t, "ChatModel", f.name)
		require.True(t, strings.HasPrefix(f.typ, string(typ)), f.typ)
		switch f.timing {
		case "start":
			starts++
			require.Equal(t, fmt.Sprintf("%T", []M(nil)), f.payload)
		case end:
			ends++
			require.Equal(t, fmt.Sprintf("%T", none), f.payload)
		}
	}
	require.Equal(t, []int{2, 2}, []int{starts, ends}, "%v", models)

	tools := rec.of(components.ComponentOfTool)
	require.Len(t, tools, 2, "%v", rec.seen)
	require.Equal(t, fired{"start", "echo", "toolFunc", components.ComponentOfTool, "string"}, tools[0])
	require.Equal(t, fired{"end", "echo", "toolFunc", components.ComponentOfTool, "string"}, tools[1])

	start, messages := "start", fmt.Sprintf("%T", []M(nil))
	if streaming {
		start, messages = "start-stream", "<nil>"
	}
	graph := compose.ComponentOfGraph
	require.Equal(t, []fired{{start, "tester", "", graph, messages}, {end, "tester", "", graph, fmt.Sprintf("%T", none)}},
		rec.of(graph))
	node := compose.ComponentOfToolsNode
	if kind == components.ComponentOfAgenticModel {
		node = compose.ComponentOfAgenticToolsNode
	}
	require.Equal(t, []fired{{"start", "ToolNode", "", node, fmt.Sprintf("%T", none)},
		{end, "ToolNode", "", node, fmt.Sprintf("%T", []M(nil))}}, rec.of(node))
}

// A streaming agent's graph and tools node end with a stream for callback handlers, also in a resumed run.
func TestChatModelAgent_StreamingRunsReportStreams(t *testing.T) {
	bubbled(t, testStreamReports[ordinary], testStreamReports[agentic])
}

func testStreamReports[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	rec := &recorder{}
	m := says(d.answer("", wanted{"ask", "1", "x"}, wanted{"echo", "2", "x"}), d.answer("done"))
	r := NewTypedRunner(TypedRunnerConfig[M]{Agent: setup(t, m, []tool.BaseTool{askTool("ask"), echo("echo")}),
		EnableStreaming: streaming, CheckPointStore: memory{}})
	first := read(t, r.Query(t.Context(), "hi", WithCallbacks(rec.handler()), WithCheckPointID("1")))
	point := first[len(first)-1].Action.Interrupted.InterruptContexts[0]
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point.ID: "yes"}},
		WithCallbacks(rec.handler()))
	require.NoError(t, err)
	read(t, it)
	timings := func(of components.Component) (all []string) {
		for _, f := range rec.of(of) {
			all = append(all, f.timing)
		}
		return all
	}
	node := compose.ComponentOfToolsNode
	if _, is := any(*new(M)).(agentic); is {
		node = compose.ComponentOfAgenticToolsNode
	}
	if streaming {
		require.Equal(t, []string{"start-stream", "error", "start-stream", "end-stream"}, timings(compose.ComponentOfGraph))
		require.Equal(t, []string{"start", "error", "start", "end-stream"}, timings(node))
		return
	}
	require.Equal(t, []string{"start", "error", "start", "end"}, timings(compose.ComponentOfGraph))
	require.Equal(t, []string{"start", "error", "start", "end"}, timings(node))
}

// reporting is a model that fires its own callbacks.
type reporting[M MessageType] struct{ scripted[M] }

func (*reporting[M]) IsCallbacksEnabled() bool { return true }
func (*reporting[M]) GetType() string          { return "Reporting" }

func (m *reporting[M]) Generate(ctx context.Context, history []M, opts ...model.Option) (M, error) {
	ctx = callbacks.OnStart(ctx, history)
	answer, err := m.scripted.Generate(ctx, history, opts...)
	callbacks.OnEnd(ctx, answer)
	return answer, err
}

func (m *reporting[M]) Stream(ctx context.Context, history []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	ctx = callbacks.OnStart(ctx, history)
	s, err := m.scripted.Stream(ctx, history, opts...)
	_, s = callbacks.OnEndWithStreamOutput(ctx, s)
	return s, err
}

func TestChatModelAgent_SelfReportingModelIsNotDoubled(t *testing.T) {
	matrix(t, testSelfReporting[ordinary], testSelfReporting[agentic])
}

func testSelfReporting[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	m := &reporting[M]{scripted[M]{answers: [][]M{{d.answer("done")}}}}
	rec := &recorder{}
	ctx := callbacks.InitCallbacks(context.Background(), nil, rec.handler())
	read(t, ask(ctx, TypedAgent[M](setup(t, model.BaseModel[M](m), nil)), streaming))
	kind := components.ComponentOfChatModel
	if _, is := any(*new(M)).(agentic); is {
		kind = components.ComponentOfAgenticModel
	}
	seen := rec.of(kind)
	require.Len(t, seen, 2, "%v", rec.seen)
	for _, f := range seen {
		require.Equal(t, "ChatModel", f.name)
		require.Equal(t, "Reporting", f.typ)
	}
}

func TestChatModelAgent_CallbacksHearOfFailures(t *testing.T) {
	matrix(t, testCallbackErrors[ordinary], testCallbackErrors[agentic])
}

func testCallbackErrors[M MessageType](t *testing.T, streaming bool) {
	kind := components.ComponentOfChatModel
	if _, is := any(*new(M)).(agentic); is {
		kind = components.ComponentOfAgenticModel
	}
	for name, hook := range map[string]func(context.Context, int, []M) error{
		"error": func(context.Context, int, []M) error { return errFlaky },
		"panic": func(context.Context, int, []M) error { panic(errFlaky) },
	} {
		m := says(*new(M))
		m.hook = hook
		rec := &recorder{}
		ctx := callbacks.InitCallbacks(context.Background(), nil, rec.handler())
		require.ErrorIs(t, failure(t, read(t, ask(ctx, TypedAgent[M](setup(t, m, nil)), streaming))), errFlaky, name)
		for _, component := range []components.Component{kind, compose.ComponentOfGraph} {
			seen := rec.of(component)
			require.Len(t, seen, 2, "%s: %v", name, rec.seen)
			require.Equal(t, "error", seen[1].timing)
		}
	}
}

// TestChatModelAgent_NestedInATool runs agents of both kinds inside a tool of an agent: each has its own history and
// its own events.
func TestChatModelAgent_NestedInATool(t *testing.T) {
	matrix(t, testNested[ordinary], testNested[agentic])
}

func testNested[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	same := says(d.answer("", wanted{"echo", "1", "x"}), d.answer("inner"))
	other := says(chatDialect.answer("", wanted{"echo", "1", "x"}), chatDialect.answer("other"))
	nested := &toolFunc{"nested", func(ctx context.Context, _ string) (string, error) {
		a := read(t, ask(ctx, TypedAgent[M](setup(t, same, []tool.BaseTool{echo("echo")})), streaming))
		b := read(t, ask(ctx, Agent(setup(t, other, []tool.BaseTool{echo("echo")})), !streaming))
		return strings.Join(append(linesOf(a), linesOf(b)...), "; "), nil
	}}
	m := says(d.answer("", wanted{"nested", "1", ""}), d.answer("outer"))
	all := read(t, ask(context.Background(), TypedAgent[M](setup(t, m, []tool.BaseTool{nested})), streaming))
	inner := "assistant: [echo#1 x]; tool echo#1: <x>; assistant: "
	require.Equal(t, []string{"assistant: [nested#1 ]", "tool nested#1: " + inner + "inner; " + inner + "other",
		"assistant: outer"}, linesOf(all))
	require.Equal(t, []string{"user: hi", "assistant: [echo#1 x]", "tool echo#1: <x>"}, same.transcript()[1])
	require.Len(t, m.transcript()[1], 3)
}
