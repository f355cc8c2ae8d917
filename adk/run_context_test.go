package adk

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

// pathOf is the run path of an event.
func pathOf[M MessageType](e *TypedAgentEvent[M]) string {
	var names []string
	for _, step := range e.RunPath {
		names = append(names, step.String())
	}
	return strings.Join(names, " ")
}

// theatre records what each actor was asked, and where.
type theatre struct {
	mu        sync.Mutex
	asked     map[string][]string
	addresses map[string]string
}

func newTheatre() *theatre {
	return &theatre{asked: map[string][]string{}, addresses: map[string]string{}}
}

func (s *theatre) enter(ctx context.Context, name string, input *AgentInput) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[name] = chatDialect.lines(input.Messages)
	s.addresses[name] = core.GetCurrentAddress(ctx).String()
}

// says makes an agent that says its name.
func (s *theatre) says(name string) Agent {
	return &acting{name, func(ctx context.Context, input *AgentInput, send func(*AgentEvent)) {
		s.enter(ctx, name, input)
		send(said(name))
	}}
}

// saysAfter is says, but it waits for a word first, and gives one when its event is out.
func (s *theatre) saysAfter(name string, wait <-chan struct{}, out chan<- struct{}) Agent {
	return &acting{name, func(ctx context.Context, input *AgentInput, send func(*AgentEvent)) {
		s.enter(ctx, name, input)
		if wait != nil {
			<-wait
		}
		send(said(name))
		time.Sleep(time.Nanosecond) // in a bubble: until the event is out
		if out != nil {
			close(out)
		}
	}}
}

// sendsAll makes an agent that sends events.
func (s *theatre) sendsAll(name string, events ...*AgentEvent) Agent {
	return &acting{name, func(ctx context.Context, input *AgentInput, send func(*AgentEvent)) {
		s.enter(ctx, name, input)
		for _, e := range events {
			send(e)
		}
	}}
}

func sequenceOf(t testing.TB, name string, agents ...Agent) ResumableAgent {
	t.Helper()
	a, err := NewSequentialAgent(context.Background(), &SequentialAgentConfig{Name: name, SubAgents: agents})
	require.NoError(t, err)
	return a
}

func parallelOf(t testing.TB, name string, agents ...Agent) ResumableAgent {
	t.Helper()
	a, err := NewParallelAgent(context.Background(), &ParallelAgentConfig{Name: name, SubAgents: agents})
	require.NoError(t, err)
	return a
}

func loopAgentOf(t testing.TB, name string, rounds int, agents ...Agent) ResumableAgent {
	t.Helper()
	a, err := NewLoopAgent(context.Background(), &LoopAgentConfig{Name: name, MaxIterations: rounds, SubAgents: agents})
	require.NoError(t, err)
	return a
}

// insisting is an agent that interrupts until it is named as a target, and says what it was resumed with.
func insisting(name string) *interruptible {
	a := asking(name)
	answer := a.resume
	a.resume = func(ctx context.Context, info *ResumeInfo, send func(*AgentEvent)) {
		if !info.IsResumeTarget {
			send(StatefulInterrupt(ctx, "why", info.InterruptState))
			return
		}
		answer(ctx, info, send)
	}
	return a
}

// pathsOf are the paths of the events of a run, with what they say.
func pathsOf(t *testing.T, it *AsyncIterator[*AgentEvent]) (lines []string) {
	t.Helper()
	for e := range it.All() {
		require.NoError(t, e.Err)
		m, _, err := GetMessage(e)
		require.NoError(t, err)
		line := pathOf(e) + ":"
		if m != nil {
			line += " " + m.Content
		}
		lines = append(lines, line)
	}
	return lines
}

// quotedLine returns what another agent said, as the next one sees it.
func quotedLine(name, text string) string {
	return "user: For context: [" + name + "] said: " + text + "."
}

// Rules runtime/X4, runtime/X5.
func TestRunContext_InnerRunsClearIt(t *testing.T) { synctest.Test(t, testInnerRuns) }

func testInnerRuns(t *testing.T) {
	for _, clear := range []bool{false, true} {
		s := newTheatre()
		inner := AgentWithOptions(t.Context(), s.says("inner"))
		outer := &acting{"outer", func(ctx context.Context, _ *AgentInput, send func(*AgentEvent)) {
			AddSessionValue(ctx, "k", "v")
			if clear {
				ctx = ClearRunCtx(ctx)
			}
			_, ok := GetSessionValue(ctx, "k")
			require.Equal(t, !clear, ok)
			for _, text := range []string{"first", "second"} {
				for e := range inner.Run(ctx, &AgentInput{Messages: []Message{schema.UserMessage("own")}}).All() {
					send(e)
				}
				send(said(text))
				time.Sleep(time.Nanosecond) // until it is out
			}
		}}
		starts := 0
		h := callbacks.NewHandlerBuilder().OnStartFn(func(
			ctx context.Context, _ *callbacks.RunInfo, _ callbacks.CallbackInput,
		) context.Context {
			starts++
			return ctx
		}).Build()
		lines := pathsOf(t, ask(t.Context(), Agent(outer), false, WithCallbacks(h)))
		require.Equal(t, "agent:outer;agent:inner", s.addresses["inner"], "the address stays")
		require.Equal(t, 3, starts, "the callbacks stay")
		if clear {
			require.Equal(t, []string{"user: own"}, s.asked["inner"])
			require.Equal(t, []string{"inner: inner", "outer: first", "inner: inner", "outer: second"}, lines,
				"it is an outermost one")
			continue
		}
		require.Equal(t, []string{"user: hi", "assistant: inner", quotedLine("outer", "first")}, s.asked["inner"],
			"its input is what was said")
		require.Equal(t, []string{"outer inner: inner", "outer: first", "outer inner: inner", "outer: second"}, lines)
	}
}

// A cleared context still belongs to the cancel of the run.
// Rule runtime/X4.
func TestRunContext_AClearedContextKeepsTheCancel(t *testing.T) {
	ctx := context.WithValue(t.Context(), cancelKey{}, "mine")
	require.Equal(t, "mine", ClearRunCtx(ctx).Value(cancelKey{}))
}

// Rule runtime/X7.
func TestRunContext_OnlyOwnEventsAreRecorded(t *testing.T) {
	foreign := said("foreign")
	foreign.AgentName, foreign.RunPath = "x", []RunStep{{agentName: "x"}}
	named := said("own")
	named.AgentName, named.RunPath = "first", []RunStep{{agentName: "seq"}, {agentName: "first"}}
	s := newTheatre()
	seq := sequenceOf(t, "seq", s.sendsAll("first", foreign, named, &AgentEvent{}, said("last")), s.says("next"))
	require.Equal(t, []string{"x: foreign", "seq first: own", "seq first:", "seq first: last", "seq first next: next"},
		pathsOf(t, ask(t.Context(), Agent(seq), false)), "all of them are forwarded")
	require.Equal(t, []string{"user: hi", quotedLine("first", "own"), quotedLine("first", "last")}, s.asked["next"])
}

// Rules runtime/F4, runtime/X8.
func TestRunContext_TheLastOwnEventDecides(t *testing.T) {
	transfer := func(path ...string) *AgentEvent {
		e := &AgentEvent{Action: NewTransferToAgentAction("child")}
		for _, name := range path {
			e.RunPath = append(e.RunPath, RunStep{agentName: name})
		}
		return e
	}
	for name, c := range map[string]struct {
		events    []*AgentEvent
		transfers bool
	}{
		"own":                       {[]*AgentEvent{said("x"), transfer()}, true},
		"own, with its path":        {[]*AgentEvent{transfer("parent")}, true},
		"of another agent":          {[]*AgentEvent{said("x"), transfer("parent", "inner")}, false},
		"own, then one without":     {[]*AgentEvent{transfer(), said("x")}, false},
		"own, then another agent's": {[]*AgentEvent{transfer(), transfer("y")}, true},
		"exit wins over it": {[]*AgentEvent{{Action: &AgentAction{Exit: true,
			TransferToAgent: &TransferToAgentAction{"child"}}}}, false},
		"another agent's exit later": {[]*AgentEvent{transfer(),
			{RunPath: []RunStep{{agentName: "y"}}, Action: NewExitAction()}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTheatre()
			a := flowOf(t, s.sendsAll("parent", c.events...), s.says("child"))
			lines := pathsOf(t, ask(t.Context(), Agent(a), false))
			require.GreaterOrEqual(t, len(lines), len(c.events), "every event is forwarded")
			require.Equal(t, c.transfers, slices.Contains(lines, "parent child: child"))
		})
	}
}

// Rules runtime/X9, runtime/X10.
func TestRunContext_PathsAndAddresses(t *testing.T) {
	s := newTheatre()
	handsOver := func(name, to string) Agent {
		return s.sendsAll(name, &AgentEvent{Action: NewTransferToAgentAction(to)})
	}
	visits := 0
	backAndForth := &acting{"A", func(ctx context.Context, input *AgentInput, send func(*AgentEvent)) {
		visits++
		s.enter(ctx, "A", input)
		send(&AgentEvent{Action: NewTransferToAgentAction([]string{"", "B", "C"}[visits])})
	}}
	for name, c := range map[string]struct {
		agent     Agent
		paths     []string
		addresses map[string]string
	}{
		"transfer": {flowOf(t, handsOver("A", "B"), s.says("B")), []string{"A:", "A B: B"},
			map[string]string{"B": "agent:A;agent:B"}},
		"there and back": {flowOf(t, backAndForth, handsOver("B", "A"), s.says("C")),
			[]string{"A:", "A B:", "A B A:", "A B A C: C"},
			map[string]string{"C": "agent:A;agent:B;agent:A;agent:C"}},
		"sequence": {sequenceOf(t, "seq", s.says("c1"), s.says("c2"), s.says("c3")),
			[]string{"seq c1: c1", "seq c1 c2: c2", "seq c1 c2 c3: c3"},
			map[string]string{"c1": "agent:seq;agent:c1", "c3": "agent:seq;agent:c3"}},
		"loop": {loopAgentOf(t, "loop", 2, s.says("a"), s.says("b")),
			[]string{"loop a: a", "loop a b: b", "loop a b a: a", "loop a b a b: b"},
			map[string]string{"a": "agent:loop;agent:a", "b": "agent:loop;agent:b"}},
		"parallel": {parallelOf(t, "par", s.says("p1"), s.says("p2")), []string{"par p1: p1", "par p2: p2"},
			map[string]string{"p1": "agent:par;agent:p1", "p2": "agent:par;agent:p2"}},
	} {
		t.Run(name, func(t *testing.T) {
			lines := pathsOf(t, ask(t.Context(), c.agent, false))
			if name == "parallel" {
				slices.Sort(lines)
			}
			require.Equal(t, c.paths, lines)
			for agent, address := range c.addresses {
				require.Equal(t, address, s.addresses[agent])
			}
		})
	}
}

// Events of an agent that runs as a tool have a path below the calling agent.
// Rule runtime/X9.
func TestRunContext_AgentToolsBelowTheirCaller(t *testing.T) {
	matrix(t, testPathOfTools[ordinary], testPathOfTools[agentic])
}

func testPathOfTools[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	name := func(n string) func(*TypedChatModelAgentConfig[M]) {
		return func(c *TypedChatModelAgentConfig[M]) { c.Name, c.ToolsConfig.EmitInternalEvents = n, true }
	}
	innermost := setup(t, says(d.answer("deep")), nil, name("innermost"))
	inner := setup(t, says(d.answer("", wanted{"innermost", "2", `{"request":"x"}`}), d.answer("inner")),
		[]tool.BaseTool{NewTypedAgentTool[M](t.Context(), innermost)}, name("inner"))
	outer := setup(t, says(d.answer("", wanted{"inner", "1", `{"request":"x"}`}), d.answer("outer")),
		[]tool.BaseTool{NewTypedAgentTool[M](t.Context(), inner)}, name("outer"))
	var paths []string
	for _, o := range read(t, ask(t.Context(), TypedAgent[M](outer), streaming)) {
		require.NoError(t, o.Err)
		paths = append(paths, pathOf(o.TypedAgentEvent))
	}
	require.Equal(t, []string{"outer", "outer inner", "outer inner innermost", "outer inner", "outer inner", "outer",
		"outer"}, paths)
}

// Rule runtime/X11.
func TestRunContext_ParallelVisibility(t *testing.T) { synctest.Test(t, testParallelVisibility) }

func testParallelVisibility(t *testing.T) {
	s := newTheatre()
	// Said in the order a1, b, c1, c2, a2; c is a fork inside the fork.
	a1, b, c1, c2 := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	seq := sequenceOf(t, "seq", s.says("before"),
		parallelOf(t, "par",
			sequenceOf(t, "a", s.saysAfter("a1", nil, a1), s.saysAfter("a2", c2, nil)),
			s.saysAfter("b", a1, b),
			parallelOf(t, "c", s.saysAfter("c1", b, c1), s.saysAfter("c2", c1, c2))),
		s.says("after"))
	require.Len(t, pathsOf(t, ask(t.Context(), Agent(seq), false)), 7)
	start := []string{"user: hi", quotedLine("before", "before")}
	for name, more := range map[string][]string{
		"a1": nil, "b": nil, "c1": nil, "c2": nil,
		"a2":    {"a1"},
		"after": {"a1", "b", "c1", "c2", "a2"},
	} {
		want := slices.Clone(start)
		for _, other := range more {
			want = append(want, quotedLine(other, other))
		}
		require.Equal(t, want, s.asked[name], name)
	}
}

// Rule runtime/X12.
func TestRunContext_ParallelVisibilityAfterResume(t *testing.T) {
	s := newTheatre()
	seq := sequenceOf(t, "seq", s.says("before"),
		parallelOf(t, "par",
			sequenceOf(t, "x", s.says("x1"), insisting("x2"), s.says("x3")),
			sequenceOf(t, "y", s.says("y1"), insisting("y2"), s.says("y3")),
			s.says("z")),
		s.says("after"))
	r := NewRunner(t.Context(), RunnerConfig{Agent: seq, CheckPointStore: memory{}})
	_, last := drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	points := last.Action.Interrupted.InterruptContexts
	require.Len(t, points, 2)
	for i, point := range points { // one after the other
		it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point.ID: "ok"}})
		require.NoError(t, err)
		if _, last = drainAll(t, it); i == 0 {
			points[1] = last.Action.Interrupted.InterruptContexts[0]
		}
	}
	start := []string{"user: hi", quotedLine("before", "before")}
	require.Equal(t, append(slices.Clone(start), quotedLine("x1", "x1"), quotedLine("x2", "x2 got ok")), s.asked["x3"])
	require.Equal(t, append(slices.Clone(start), quotedLine("y1", "y1"), quotedLine("y2", "y2 got ok")), s.asked["y3"])
	require.Equal(t, start, s.asked["z"])
	require.Len(t, s.asked["after"], 2+3+3+1)
}
