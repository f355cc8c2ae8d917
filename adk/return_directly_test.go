package adk

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

func directly[M MessageType](names ...string) func(*TypedChatModelAgentConfig[M]) {
	return func(c *TypedChatModelAgentConfig[M]) {
		c.ToolsConfig.ReturnDirectly = map[string]bool{"not this": false}
		for _, name := range names {
			c.ToolsConfig.ReturnDirectly[name] = true
		}
	}
}

// TestReturnDirectly_OneResultEndsTheRun: which call ends the run, and when its event comes.
// Rules agent/B19.19, agent/B19.20, agent/L-4, agent/R-6, agent/RD-1, agent/RD-2, agent/S-10.
func TestReturnDirectly_OneResultEndsTheRun(t *testing.T) {
	bubbled(t, testDirectly[ordinary], testDirectly[agentic])
}

func testDirectly[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	clock := &clocked{start: time.Now()}
	tools := []tool.BaseTool{clock.takes("a", 1), clock.takes("b", 2), clock.takes("c", 3), echo("not this"),
		&streamToolFunc{"s", func(context.Context, string) (*schema.StreamReader[string], error) {
			return schema.StreamReaderFromArray([]string{"x", "y"}), nil
		}}}
	for name, c := range map[string]struct {
		calls  []wanted
		direct []string
		want   []string
		change func(*TypedChatModelAgentConfig[M])
	}{
		"the fastest comes last": {calls: []wanted{{"a", "1", ""}, {"b", "2", ""}, {"c", "3", ""}}, direct: []string{"a"},
			want: []string{"tool b#2: <>", "tool c#3: <>", "tool a#1: <>"}},
		"the first of several": {calls: []wanted{{"c", "3", ""}, {"a", "1", ""}, {"b", "2", ""}}, direct: []string{"a", "b"},
			want: []string{"tool b#2: <>", "tool c#3: <>", "tool a#1: <>"}},
		"the same tool twice": {calls: []wanted{{"a", "1", ""}, {"a", "2", ""}}, direct: []string{"a"},
			want: []string{"tool a#2: <>", "tool a#1: <>"}},
		"false": {calls: []wanted{{"not this", "1", ""}}, want: []string{"tool not this#1: <>", ended}},
		"a tool that streams": {calls: []wanted{{"s", "1", ""}, {"b", "2", ""}}, direct: []string{"s"},
			want: []string{"tool b#2: <>", "tool s#1: xy"}},
		"alias": {calls: []wanted{{"also a", "1", ""}, {"b", "2", ""}}, direct: []string{"a"},
			want: []string{"tool b#2: <>", "tool also a#1: <>"}, change: func(c *TypedChatModelAgentConfig[M]) {
				c.ToolsConfig.ToolAliases = map[string]compose.ToolAliasConfig{"a": {NameAliases: []string{"also a"}}}
			}},
		"added for the run": {calls: []wanted{{"a", "1", ""}}, want: []string{"tool a#1: <>"}, change: with[M](&hooked[M]{
			beforeAgent: func(ctx context.Context, rc *ChatModelAgentContext) (context.Context, *ChatModelAgentContext, error) {
				rc.ReturnDirectly["a"] = true
				return ctx, rc, nil
			}})},
		"cleared for the run": {calls: []wanted{{"a", "1", ""}}, direct: []string{"a"}, want: []string{"tool a#1: <>", ended},
			change: with[M](&hooked[M]{
				beforeAgent: func(ctx context.Context, rc *ChatModelAgentContext) (context.Context, *ChatModelAgentContext, error) {
					rc.ReturnDirectly = nil
					return ctx, rc, nil
				}})},
	} {
		m := says(d.answer("", c.calls...), d.answer("done"))
		var final []string
		h := &hooked[M]{afterAgent: func(ctx context.Context, s *TypedChatModelAgentState[M]) (context.Context, error) {
			final = d.lines(s.Messages)
			return ctx, nil
		}}
		change := []func(*TypedChatModelAgentConfig[M]){directly[M](c.direct...), with[M](h)}
		if c.change != nil {
			change = append(change, c.change)
		}
		a := setup(t, m, tools, change...)
		for range 2 { // rule agent/L-4: what is changed for a run is of that run
			m.histories = nil
			all := read(t, bare(t.Context(), a, streaming))
			require.ElementsMatch(t, c.want, linesOf(all)[1:], name)
			require.Equal(t, c.want[len(c.want)-1], linesOf(all)[len(all)-1], name)
			require.Len(t, final, 2+len(c.calls)+m.calls()-1, "%s: all results are in the history", name)
			checkIDs(t, name, all)
		}
	}
}

// TestReturnDirectly_AHeldEventIsSentAfterTheResume: an event that was held when another call interrupted is sent
// after the resumption.
// Rules agent/RD-3, runtime/I19.
func TestReturnDirectly_AHeldEventIsSentAfterTheResume(t *testing.T) {
	bubbled(t, testDirectResume[ordinary], testDirectResume[agentic])
}

func testDirectResume[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for _, eager := range []bool{false, true} {
		var ran diary
		runs := 0
		direct := &toolFunc{"a", func(ctx context.Context, args string) (string, error) {
			runs++
			return "<" + args + ">", SendToolGenAction(ctx, "a", NewExitAction())
		}}
		m := says(d.answer("", wanted{"a", "1", object}, wanted{"b", "2", object}))
		a := setup(t, m, []tool.BaseTool{direct, asksFirst("b", &ran)}, directly[M]("a"),
			func(c *TypedChatModelAgentConfig[M]) { c.ToolsConfig.EagerExecution = eager })
		all := read(t, bare(t.Context(), a, streaming))
		require.Equal(t, []string{`assistant: [a#1 {"q":1}] [b#2 {"q":1}]`, "no message"}, linesOf(all))
		rest := read(t, continueFrom(t.Context(), t, a, all, streaming))
		require.Equal(t, []string{`tool b#2: <{"q":1}>`, `tool a#1: <{"q":1}>`}, linesOf(rest))
		require.True(t, rest[1].Action.Exit)
		require.Equal(t, 1, runs)
		require.Equal(t, 1, m.calls())
	}
}

// TestExit_ToolEndsTheRun: of either kind, also beside other calls.
// Rules agent/X-1, agent/X-2.
func TestExit_ToolEndsTheRun(t *testing.T) { bubbled(t, testExit[ordinary], testExit[agentic]) }

func testExit[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	exits := func(c *TypedChatModelAgentConfig[M]) { c.Exit, c.OutputKey = ExitTool{}, "out" }
	for _, eager := range []bool{false, true} {
		m := says(d.answer("", wanted{"exit", "1", `{"final_result":"bye"}`}, wanted{"t", "2", ""}))
		a := setup(t, m, []tool.BaseTool{echo("t")}, exits,
			func(c *TypedChatModelAgentConfig[M]) { c.ToolsConfig.EagerExecution = eager })
		all := read(t, ask(t.Context(), TypedAgent[M](a), streaming))
		require.Equal(t, []string{"tool t#2: <>", "tool exit#1: bye"}, linesOf(all)[1:])
		require.True(t, all[2].Action.Exit)
		require.Nil(t, all[1].Action)
		require.Equal(t, []string{"t", "exit"}, toolNames(m.options[0]))
		require.Equal(t, 1, m.calls())
	}
	m := says(d.answer("", wanted{"exit", "1", "{"}))
	require.ErrorContains(t, endError(t, read(t, ask(t.Context(), TypedAgent[M](setup[M](t, m, nil, exits)), streaming))),
		"arguments of the exit tool")
}

// TestActions_BelongToTheirCall: an action belongs to the call that it was made in, and cannot come after its event.
// Rules agent/A-1, agent/A-2, agent/A-3, agent/B19.33, agent/R-9.
func TestActions_BelongToTheirCall(t *testing.T) {
	bubbled(t, testToolActions[ordinary], testToolActions[agentic])
}

func testToolActions[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	own := func(ctx context.Context, args string) *AgentAction { return &AgentAction{CustomizedAction: args} }
	acts := &toolFunc{"acts", func(ctx context.Context, args string) (string, error) {
		return args, SendToolGenAction(ctx, "other name", own(ctx, args))
	}}
	var late error
	tooLate := &streamToolFunc{"late", func(ctx context.Context, args string) (*schema.StreamReader[string], error) {
		s, w := schema.Pipe[string](1)
		if err := SendToolGenAction(ctx, "late", own(ctx, args)); err != nil {
			return nil, err
		}
		go func() {
			time.Sleep(time.Second)
			late = SendToolGenAction(ctx, "late", own(ctx, "too late"))
			w.Send("x", nil)
			w.Close()
		}()
		return s, nil
	}}
	for _, eager := range []bool{false, true} {
		late = nil
		m := says(d.answer("", wanted{"acts", "1", `{"n":1}`}, wanted{"acts", "2", `{"n":2}`},
			wanted{"late", "3", `{"n":3}`}),
			d.answer("", wanted{"echo", "1", ""}), d.answer("done"))
		a := setup(t, m, []tool.BaseTool{acts, tooLate, echo("echo")},
			func(c *TypedChatModelAgentConfig[M]) { c.ToolsConfig.EagerExecution = eager })
		all := read(t, bare(t.Context(), a, streaming))
		actions := map[string]any{}
		for _, o := range all {
			if o.Action != nil {
				actions[d.line(o.message)] = o.Action.CustomizedAction
			}
		}
		require.Equal(t, map[string]any{`tool acts#1: {"n":1}`: `{"n":1}`, `tool acts#2: {"n":2}`: `{"n":2}`,
			"tool late#3: x": `{"n":3}`}, actions, "rule agent/R-9")
		require.ErrorContains(t, late, "is out already", "rule agent/B19.33")
	}
	require.ErrorContains(t, SendToolGenAction(t.Context(), "x", nil), "SendToolGenAction failed", "rule agent/A-3")
}

// TestReturnDirectly_ResultIsTheFinalMessage: the result that ends the run is its final message, of whatever form it
// is.
// Rule agent/RD-4.
func TestReturnDirectly_ResultIsTheFinalMessage(t *testing.T) {
	bubbled(t, testDirectFinal[ordinary], testDirectFinal[agentic])
}

func testDirectFinal[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	found := []schema.ToolOutputPart{{Type: schema.ToolPartTypeToolSearchResult,
		ToolSearchResult: &schema.ToolSearchResult{Tools: []*schema.ToolInfo{{Name: "found"}}}}}
	for name, c := range map[string]struct {
		direct tool.BaseTool
		want   string
	}{
		"text": {echo("a"), "<>"},
		"parts": {&enhancedToolFunc{"a", func(context.Context, *schema.ToolArgument) (*schema.ToolResult, error) {
			return &schema.ToolResult{Parts: found}, nil
		}}, ""},
	} {
		m := says(d.answer("", wanted{"b", "1", ""}, wanted{"a", "2", ""}))
		a := setup(t, m, []tool.BaseTool{c.direct, echo("b")}, directly[M]("a")).agent.(*chatModelAgent[M])
		graph, err := a.plan(t.Context())
		require.NoError(t, err)
		var final M
		r := newAgentRun(t.Context(), a, assignment[M]{
			input: &TypedAgentInput[M]{Messages: []M{opsOf[M]().user("hi")}, EnableStreaming: streaming}, out: new(hub[M])})
		require.NoError(t, r.ready())
		final, err = graph.graph.Invoke(r.graphCtx, r.messages)
		r.end()
		require.NoError(t, err, name)
		toolName, callID := opsOf[M]().toolCallOf(final)
		require.Equal(t, []string{"a", "2"}, []string{toolName, callID}, name)
		switch f := any(final).(type) {
		case *schema.Message:
			require.Equal(t, schema.Tool, f.Role)
			require.Equal(t, c.want, f.Content)
		case *schema.AgenticMessage:
			require.Equal(t, schema.AgenticRoleTypeUser, f.Role)
			require.Equal(t, name == "parts", f.ContentBlocks[0].ToolSearchFunctionToolResult != nil)
		}
	}
}

// Rule runtime/C14.
func TestCancel_AReturnDirectlyRoundIsNoSafePoint(t *testing.T) {
	child := newOrdinary(t, "child", &replies{all: []Message{chatAnswer("child done")}})
	parent := newOrdinary(t, "parent",
		&replies{all: []Message{callOf(TransferToAgentToolName, "t", `{"agent_name":"child"}`)}})
	flow, err := SetSubAgents(t.Context(), parent, []Agent{child})
	require.NoError(t, err)
	store := memory{}
	r := NewRunner(t.Context(), RunnerConfig{Agent: flow, CheckPointStore: store})
	option, cancel := WithCancel()
	cancel(WithAgentCancelMode(CancelAfterToolCalls))
	out := collect(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), option))
	texts := out.texts
	if out.err != nil { // either is right, as long as nothing is lost
		it, err := r.Resume(t.Context(), "1")
		require.NoError(t, err)
		texts = append(texts, collect(t, it).texts...)
	}
	require.Equal(t, []string{"parent: ", "parent: successfully transferred to agent [child]", "child: child done"}, texts)
}
