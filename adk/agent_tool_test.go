package adk

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// callTool runs an agent as a tool, outside any run.
func callTool[M MessageType](t *testing.T, a TypedAgent[M]) (string, error) {
	t.Helper()
	return NewTypedAgentTool(t.Context(), a).(tool.InvokableTool).InvokableRun(t.Context(), `{"request":"do"}`)
}

// Rule runtime/A4.
func TestAgentTool_ResultIsTheLastEvent(t *testing.T) {
	t.Run("ordinary", testAgentToolResult[ordinary])
	t.Run("agentic", testAgentToolResult[agentic])
}

func testAgentToolResult[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	event := func(m M, s *schema.StreamReader[M]) *TypedAgentEvent[M] { return &newMessageEvent(m, s).event }
	custom := &TypedAgentEvent[M]{Output: &TypedAgentOutput[M]{CustomizedOutput: 7}}
	for name, c := range map[string]struct {
		events []*TypedAgentEvent[M]
		want   string
		err    string
	}{
		"the last": {[]*TypedAgentEvent[M]{event(d.answer("first"), nil), event(d.answer("last"), nil)}, "last",
			""},
		"a stream":          {[]*TypedAgentEvent[M]{event(d.nothing, streamOf[M]("a", "b"))}, "ab", ""},
		"the last has none": {[]*TypedAgentEvent[M]{event(d.answer("first"), nil), custom}, "", ""},
		"an action":         {[]*TypedAgentEvent[M]{event(d.answer("first"), nil), {Action: NewExitAction()}}, "", ""},
		"nothing":           {nil, "", "no event returned"},
		"an error": {[]*TypedAgentEvent[M]{event(d.answer("first"), nil), {Err: errBroken}}, "",
			errBroken.Error()},
		"an error, then more": {[]*TypedAgentEvent[M]{{Err: errBroken}, event(d.answer("last"), nil)}, "", errBroken.Error()},
		"a broken stream":     {[]*TypedAgentEvent[M]{event(d.nothing, brokenStream[M](errBroken))}, "", errBroken.Error()},
	} {
		got, err := callTool[M](t, sends(c.events...))
		require.Equal(t, c.want, got, name)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, name)
		} else {
			require.NoError(t, err, name)
		}
	}
}

// Rule runtime/A4.
func TestAgentTool_AgenticTextBlocks(t *testing.T) {
	m := agenticAnswer("one")
	m.ContentBlocks = append(m.ContentBlocks, schema.NewContentBlock(&schema.Reasoning{Text: "hm"}),
		schema.NewContentBlock(&schema.AssistantGenText{Text: "two"}))
	got, err := callTool[agentic](t, sends(&newMessageEvent(m, nil).event))
	require.NoError(t, err)
	require.Equal(t, "one\ntwo", got)
}

// The agent streams if the caller does. It shares the values of the session, also when it is resumed, but not the
// events.
// Rules runtime/A5, runtime/A6.
func TestAgentTool_StreamingAndSession(t *testing.T) {
	matrix(t, testSharedSession[ordinary], testSharedSession[agentic])
}

func testSharedSession[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var mu sync.Mutex
	var seen []map[string]any
	look := func(ctx context.Context, add string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, GetSessionValues(ctx))
		AddSessionValue(ctx, add, true)
	}
	modelOf := func(name string, answers ...M) *scripted[M] {
		m := says(answers...)
		m.hook = func(ctx context.Context, _ int, _ []M) error { look(ctx, name); return nil }
		return m
	}
	var streams []bool
	inner := setup(t, modelOf("inner", d.answer("", wanted{"ask", "2", "x"}), d.answer("inner done")),
		[]tool.BaseTool{askTool("ask")},
		func(c *TypedChatModelAgentConfig[M]) {
			c.Name = "inner"
			c.GenModelInput = func(_ context.Context, _ string, in *TypedAgentInput[M]) ([]M, error) {
				streams = append(streams, in.EnableStreaming)
				return in.Messages, nil
			}
		})
	outer := modelOf("outer", d.answer("", wanted{"inner", "1", `{"request":"do"}`}), d.answer("outer done"))
	r := NewTypedRunner(TypedRunnerConfig[M]{Agent: setup(t, outer,
		[]tool.BaseTool{NewTypedAgentTool[M](t.Context(), inner)}),
		EnableStreaming: streaming, CheckPointStore: memory{}})
	all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), WithSessionValues(map[string]any{"k": 1})))
	require.Equal(t, []bool{streaming}, streams)
	point := all[len(all)-1].Action.Interrupted.InterruptContexts[0]
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point.ID: "yes"}},
		WithSessionValues(map[string]any{"k": 2}))
	require.NoError(t, err)
	require.Equal(t, []string{"tool inner#1: inner done", "assistant: outer done"}, linesOf(read(t, it)))
	require.Equal(t, []map[string]any{
		{"k": 1},
		{"k": 1, "outer": true},
		{"k": 2, "outer": true, "inner": true},
		{"k": 2, "outer": true, "inner": true},
	}, seen, "in both directions")
}

// Without EmitInternalEvents no inner event is emitted, and none ever of an agent on other messages.
// Rule runtime/A7.
func TestAgentTool_ShowsInnerEventsWhenConfigured(t *testing.T) {
	for _, c := range []struct {
		emit  bool
		inner tool.BaseTool
		want  []string
	}{
		{false, NewAgentTool(t.Context(), setup(t, says(chatAnswer("deep")), nil)), []string{"outer", "outer", "outer"}},
		{true, NewAgentTool(t.Context(), setup(t, says(chatAnswer("deep")), nil)),
			[]string{"outer", "outer tester", "outer", "outer"}},
		{true, NewTypedAgentTool[agentic](t.Context(), setup(t, says(agenticAnswer("deep")), nil)),
			[]string{"outer", "outer", "outer"}},
	} {
		m := says(chatAnswer("", wanted{"tester", "1", `{"request":"do"}`}), chatAnswer("done"))
		a := setup(t, m, []tool.BaseTool{c.inner},
			func(conf *ChatModelAgentConfig) { conf.Name, conf.ToolsConfig.EmitInternalEvents = "outer", c.emit })
		var paths []string
		for _, o := range read(t, ask(t.Context(), Agent(a), false)) {
			require.NoError(t, o.Err)
			paths = append(paths, pathOf(o.TypedAgentEvent))
		}
		require.Equal(t, c.want, paths)
		require.Equal(t, "tool tester#1: deep", m.transcript()[1][2], "the call succeeds")
	}
}

// Actions of the agent end at the call.
// Rule runtime/A8.
func TestAgentTool_ActionsStayInside(t *testing.T) {
	for _, emit := range []bool{false, true} {
		for name, action := range map[string]*AgentAction{
			"exit": NewExitAction(), "transfer": NewTransferToAgentAction("other"), "break": NewBreakLoopAction("inner"),
		} {
			inner := sends(&AgentEvent{Action: action, Output: said("inner").Output})
			outer := setup(t, &replies{all: []Message{callOf("custom", "1", `{"request":"do"}`),
				schema.AssistantMessage("done", nil)}},
				[]tool.BaseTool{NewAgentTool(t.Context(), inner)},
				func(c *ChatModelAgentConfig) { c.Name, c.ToolsConfig.EmitInternalEvents = "outer", emit })
			s := newTheatre()
			loop := loopAgentOf(t, "loop", 1, flowOf(t, outer, s.says("other")), s.says("next"))
			texts, _ := drainAll(t, ask(t.Context(), Agent(loop), false))
			require.Equal(t, []string{"outer: done", "next: next"}, texts[len(texts)-2:], name)
			require.NotContains(t, s.asked, "other")
		}
	}
}

// A resumed call without its state is an error; the agent is never started again.
// Rule runtime/A9.
func TestAgentTool_IsNotRestartedWithoutItsState(t *testing.T) {
	inner := newTheatre()
	stops := &toolFunc{"custom",
		func(ctx context.Context, _ string) (string, error) { return "", tool.Interrupt(ctx, "why") }}
	agentOf := func(x tool.BaseTool) Agent {
		return newOrdinary(t, "a", &replies{all: []Message{callOf("custom", "1", `{"request":"do"}`)}}, x)
	}
	store := memory{}
	interruptOf(t, NewRunner(t.Context(), RunnerConfig{Agent: agentOf(stops), CheckPointStore: store}).Query(t.Context(),
		"hi", WithCheckPointID("1")))
	r := NewRunner(t.Context(), RunnerConfig{Agent: agentOf(NewAgentTool(t.Context(), inner.says("custom"))),
		CheckPointStore: store})
	require.ErrorContains(t, lastError(resumeWith(t, r, nil)),
		"agent tool 'custom' interrupt has happened, but cannot find interrupt state")
	require.Empty(t, inner.asked)
}

// A cancel that is not recursive does not reach an agent that runs as a tool.
// Rule runtime/A10.
func TestAgentTool_NotReachedByANonRecursiveCancel(t *testing.T) {
	for _, recursive := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var requested bool
			proceed := make(chan struct{})
			inner := actor("inner", func(ctx context.Context, send func(*AgentEvent)) {
				<-proceed
				_, mode := CancelRequested(ctx)
				_, requested = mode()
				send(said("inner"))
			})
			option, cancel := WithCancel()
			m := &replies{all: []Message{callOf("inner", "1", `{"request":"do"}`), schema.AssistantMessage("done", nil)}}
			it := ask(t.Context(), Agent(newOrdinary(t, "a", m, NewAgentTool(t.Context(), inner))), false, option)
			synctest.Wait()
			opts := []AgentCancelOption{WithAgentCancelMode(CancelAfterChatModel)}
			if recursive {
				opts = append(opts, WithRecursive())
			}
			cancel(opts...)
			close(proceed)
			collect(t, it)
			require.Equal(t, recursive, requested)
		})
	}
}

// Rule runtime/A11.
func TestAgentTool_WorksOutsideARun(t *testing.T) {
	t.Run("ordinary", testToolOutside[ordinary])
	t.Run("agentic", testToolOutside[agentic])
}

func testToolOutside[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	m := says(d.answer("", wanted{"echo", "1", "x"}), d.answer("done"))
	got, err := callTool[M](t, setup(t, m, []tool.BaseTool{echo("echo")}))
	require.NoError(t, err)
	require.Equal(t, "done", got)
	require.Equal(t, []string{"user: do"}, m.transcript()[0])
	_, err = callTool[M](t, setup(t, says(d.answer("", wanted{"ask", "1", "x"})), []tool.BaseTool{askTool("ask")}))
	require.Error(t, err, "an interrupt is an error for who knows nothing of runs")
}
