package adk

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// interruptOf runs to an interrupt and returns its contexts.
func interruptOf(t *testing.T, it *AsyncIterator[*AgentEvent]) []*InterruptCtx {
	t.Helper()
	_, last := drainAll(t, it)
	require.NotNil(t, last)
	require.NotNil(t, last.Action)
	require.NotNil(t, last.Action.Interrupted)
	require.NotEmpty(t, last.Action.Interrupted.InterruptContexts)
	return last.Action.Interrupted.InterruptContexts
}

// resumeWith resumes run "1" with data for points.
func resumeWith(t *testing.T, r *Runner, targets map[string]any, opts ...AgentRunOption) *AsyncIterator[*AgentEvent] {
	t.Helper()
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: targets}, opts...)
	require.NoError(t, err)
	return it
}

// lastError is the error that a run ended with.
func lastError(it *AsyncIterator[*AgentEvent]) (err error) {
	for e := range it.All() {
		err = e.Err
	}
	return err
}

// asker is a chat model agent whose tool asks the user.
func asker(t *testing.T, name string) *ChatModelAgent {
	t.Helper()
	return newOrdinary(t, name, recall(callOf("ask", "c-"+name, "x"), schema.AssistantMessage(name+" done", nil)),
		askTool("ask"))
}

// infos returns the Infos of a point and of the points around it.
func infos(point *InterruptCtx) (all []any) {
	for ; point != nil; point = point.Parent {
		all = append(all, point.Info)
	}
	return all
}

// Rule runtime/I8.
func TestInterrupt_InfosHaveFixedTexts(t *testing.T) {
	inner := flowOf(t, newOrdinary(t, "lead", &replies{all: []Message{transferTo("x")}}), asker(t, "x"))
	deterministic := AgentWithDeterministicTransferTo(t.Context(),
		&DeterministicTransferConfig{Agent: inner, ToAgentNames: []string{"y"}})
	for want, a := range map[string]Agent{
		"Sequential workflow interrupted":            sequenceOf(t, "w", asker(t, "x")),
		"Loop workflow interrupted":                  loopAgentOf(t, "w", 1, asker(t, "x")),
		"Parallel workflow interrupted":              parallelOf(t, "w", asker(t, "x")),
		"deterministic transfer wrapper interrupted": sequenceOf(t, "w", deterministic),
		"agent tool interrupt": newOrdinary(t, "w", &replies{all: []Message{callOf("x", "1", `{"request":"do"}`)}},
			NewAgentTool(t.Context(), asker(t, "x"))),
	} {
		points := interruptOf(t, ask(t.Context(), a, false))
		require.Len(t, points, 1, want)
		require.Equal(t, "may I?", points[0].Info, want)
		require.Contains(t, infos(points[0]), want)
	}
}

// Rule runtime/I8.
func TestInterrupt_InfosOfCancels(t *testing.T) {
	call := func() *ChatModelAgent { return newOrdinary(t, "a", recall(callOf("echo", "1", "x")), echo("echo")) }
	for want, c := range map[string]struct {
		agent Agent
		mode  CancelMode
	}{
		"Sequential workflow cancel at transition": {sequenceOf(t, "w", call()), CancelImmediate},
		"Loop workflow cancel at transition":       {loopAgentOf(t, "w", 1, call()), CancelAfterToolCalls},
		"Parallel workflow cancel before spawn":    {parallelOf(t, "w", call()), CancelAfterChatModel},
		"CancelAfterChatModel":                     {call(), CancelAfterChatModel},
		"CancelAfterToolCalls":                     {call(), CancelAfterToolCalls},
	} {
		option, cancel := WithCancel()
		cancel(WithAgentCancelMode(c.mode))
		out := collect(t, ask(t.Context(), c.agent, false, option))
		require.NotNil(t, out.err, want)
		require.Contains(t, infos(out.err.InterruptContexts[0]), want)
	}
}

// Rules runtime/I4, runtime/I9.
func TestInterrupt_TheAgentsOwnLevel(t *testing.T) {
	matrix(t, testOwnLevel[ordinary], testOwnLevel[agentic])
}

func testOwnLevel[M MessageType](t *testing.T, streaming bool) {
	a := setup(t, says(dialectOf[M]().answer("", wanted{"ask", "1", "x"})), []tool.BaseTool{askTool("ask")})
	all := read(t, ask(t.Context(), TypedAgent[M](a), streaming))
	interrupted := all[len(all)-1].Action.Interrupted
	require.IsType(t, (*ChatModelAgentInterruptInfo)(nil), interrupted.Data)
	own := interrupted.InterruptContexts[0].Parent
	require.IsType(t, (*compose.InterruptInfo)(nil), own.Info)
	require.Equal(t, "agent:tester", own.Address.String(), "rule runtime/I4: nodes of its graph are not shown")
	require.False(t, own.IsRootCause)
}

// What was interrupted is resumed once: the same call in the next round of a loop is a new one.
// Rule runtime/I10.
func TestInterrupt_StateIsGivenOnce(t *testing.T) {
	m := &replies{all: []Message{callOf("ask", "c", "1"), schema.AssistantMessage("one", nil), callOf("ask", "c", "2"),
		schema.AssistantMessage("two", nil)}}
	r := NewRunner(t.Context(), RunnerConfig{Agent: loopAgentOf(t, "loop", 2, newOrdinary(t, "a", m, askTool("ask"))),
		CheckPointStore: memory{}})
	first := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	second := interruptOf(t, resumeWith(t, r, map[string]any{first[0].ID: "yes"}))
	require.Equal(t, "may I?", second[0].Info, "not 'again'")
	require.Equal(t, first[0].Address, second[0].Address)
	texts, _ := drainAll(t, resumeWith(t, r, map[string]any{second[0].ID: "sure"}))
	require.Equal(t, []string{"a: answered sure", "a: two"}, texts)
}

// noted is a custom agent that notes what it is resumed with.
type noted struct {
	ResumableAgent
	infos *[]ResumeInfo
}

func (n noted) Resume(ctx context.Context, info *ResumeInfo, opts ...AgentRunOption) *AsyncIterator[*AgentEvent] {
	*n.infos = append(*n.infos, *info)
	return n.ResumableAgent.Resume(ctx, info, opts...)
}

// Rules runtime/I11, runtime/I12.
func TestInterrupt_WhoIsATarget(t *testing.T) {
	type seen struct{ interrupted, target, implicit bool }
	for name, c := range map[string]struct {
		targets func(points []*InterruptCtx) map[string]any
		x, y    seen // the leaves
		outer   seen
		data    any
	}{
		"nobody": {func([]*InterruptCtx) map[string]any { return nil }, seen{true, false, true},
			seen{true, false, true}, seen{false, true, true}, nil},
		"one": {func(p []*InterruptCtx) map[string]any { return map[string]any{p[0].ID: 7} },
			seen{true, true, false}, seen{true, false, false}, seen{false, true, false}, 7},
		"without data": {func(p []*InterruptCtx) map[string]any { return map[string]any{p[0].ID: nil} },
			seen{true, true, false}, seen{true, false, false}, seen{false, true, false}, nil},
		"all": {func(p []*InterruptCtx) map[string]any { return map[string]any{p[0].ID: 7, p[1].ID: 8, "unknown": 9} },
			seen{true, true, false}, seen{true, true, false}, seen{false, true, false}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			var x, y, outer []ResumeInfo
			a := noted{parallelOf(t, "par", noted{asking("x"), &x}, noted{asking("y"), &y}), &outer}
			r := NewRunner(t.Context(), RunnerConfig{Agent: a, CheckPointStore: memory{}})
			points := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
			drainAll(t, resumeWith(t, r, c.targets(points)))
			of := func(infos []ResumeInfo) seen {
				require.Len(t, infos, 1)
				return seen{infos[0].WasInterrupted, infos[0].IsResumeTarget, infos[0].ImplicitResume}
			}
			require.Equal(t, []seen{c.x, c.y, c.outer}, []seen{of(x), of(y), of(outer)})
			require.Equal(t, c.data, x[0].ResumeData)
			require.Equal(t, "state of x", x[0].InterruptState)
			require.Nil(t, outer[0].ResumeData, "only a point's own data is delivered")
		})
	}
}

// Rule runtime/I11.
func TestInterrupt_CompositesOnThePathAreTargets(t *testing.T) {
	var outer []ResumeInfo
	inner := AgentWithOptions(t.Context(), insisting("inner")).(ResumableAgent)
	a := noted{&interruptible{
		acting: acting{"outer", func(ctx context.Context, _ *AgentInput, send func(*AgentEvent)) {
			for e := range inner.Run(ctx, nil).All() {
				send(CompositeInterrupt(ctx, "outer", "mine", signalOf(e)))
			}
		}},
		resume: func(ctx context.Context, info *ResumeInfo, send func(*AgentEvent)) {
			for e := range inner.Resume(ctx, info).All() {
				send(e)
			}
		},
	}, &outer}
	r := NewRunner(t.Context(), RunnerConfig{Agent: a, CheckPointStore: memory{}})
	points := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	require.Len(t, points, 1, "a composite is no root cause")
	require.Equal(t, "outer", points[0].Parent.Info)
	drainAll(t, resumeWith(t, r, map[string]any{points[0].ID: "yes"}))
	require.True(t, outer[0].WasInterrupted)
	require.True(t, outer[0].IsResumeTarget, "something inside is one")
	require.Nil(t, outer[0].ResumeData)
	require.Equal(t, "mine", outer[0].InterruptState)
}

// An agent and its tool may be targets in one call.
// Rule runtime/I15.
func TestInterrupt_CompositeTargets(t *testing.T) {
	m := &replies{all: []Message{callOf("ask", "c", "x"), schema.AssistantMessage("done", nil)}}
	r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, askTool("ask")), CheckPointStore: memory{}})
	point := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))[0]
	data := &ChatModelAgentResumeData{HistoryModifier: func(_ context.Context, history []Message) []Message {
		return append([]Message{schema.UserMessage("changed")}, history[1:]...)
	}}
	texts, _ := drainAll(t, resumeWith(t, r, map[string]any{point.ID: "yes", point.Parent.ID: data}))
	require.Equal(t, []string{"a: answered yes", "a: done"}, texts)
	require.Equal(t, "user: changed", chatDialect.lines(m.seen[1])[0])

	err := lastError(resumeWith(t, r, map[string]any{point.Parent.ID: "no such data"}))
	require.ErrorContains(t, err, "has invalid resume data type: string")
}

// Rules runtime/I1, runtime/I16.
func TestInterrupt_DataOfTheAgentsOwn(t *testing.T) {
	schema.RegisterName[*interruptData]("_test_interrupt_data")
	for name, wrap := range map[string]func(Agent) Agent{
		"outermost": func(a Agent) Agent { return a },
		"sequence":  func(a Agent) Agent { return sequenceOf(t, "w", a) },
		"parallel":  func(a Agent) Agent { return parallelOf(t, "w", a, newTheatre().says("other")) },
		"nested":    func(a Agent) Agent { return sequenceOf(t, "w", sequenceOf(t, "v", a)) },
	} {
		var infos []ResumeInfo
		a := asking("a")
		a.run = func(ctx context.Context, _ *AgentInput, send func(*AgentEvent)) {
			e := Interrupt(ctx, "why")
			require.Nil(t, e.Action.Interrupted.Data)
			require.Len(t, e.Action.Interrupted.InterruptContexts, 1, "rule runtime/I1: they are there already")
			e.Action.Interrupted.Data = &interruptData{"mine"}
			send(e)
		}
		r := NewRunner(t.Context(), RunnerConfig{Agent: wrap(noted{a, &infos}), CheckPointStore: memory{}})
		interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		drainAll(t, resumeWith(t, r, nil))
		require.Equal(t, &interruptData{"mine"}, infos[0].InterruptInfo.Data, name)
		require.Nil(t, infos[0].InterruptContexts, name)
	}
}

type interruptData struct{ Text string }

// Rule runtime/I17.
func TestInterrupt_AgentThatCannotBeResumedIsAnError(t *testing.T) {
	stops := func(name string) Agent { // it cannot be resumed
		return actor(name, func(ctx context.Context, send func(*AgentEvent)) { send(Interrupt(ctx, "why")) })
	}
	point := "failed to resume agent: agent 'a' is an interrupt point but is not a ResumableAgent"
	inner := AgentWithOptions(t.Context(), asking("inner"))
	wrapper := actor("a", func(ctx context.Context, send func(*AgentEvent)) {
		for e := range inner.Run(ctx, nil).All() {
			send(e)
		}
	})
	for name, c := range map[string]struct {
		agent Agent
		texts []string
	}{
		"the outermost": {stops("a"), []string{point}},
		"in a sequence": {sequenceOf(t, "w", stops("a")), []string{point}},
		"after a transfer": {flowOf(t, newOrdinary(t, "b", &replies{all: []Message{transferTo("a")}}), stops("a")),
			[]string{point}},
		"around a resumable": {wrapper, []string{"does not implement ResumableAgent interface",
			"your custom agent wrapper must implement the ResumableAgent interface"}},
	} {
		r := NewRunner(t.Context(), RunnerConfig{Agent: c.agent, CheckPointStore: memory{}})
		interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		err := lastError(resumeWith(t, r, nil))
		for _, text := range c.texts {
			require.ErrorContains(t, err, text, name)
		}
	}
}

// Two interrupted agents below one that transfers cannot both be resumed.
// Rule runtime/I18.
func TestInterrupt_TwoAgentsBelowOneThatTransfers(t *testing.T) {
	root := actor("root", func(ctx context.Context, send func(*AgentEvent)) {
		both := &InterruptInfo{}
		for _, name := range []string{"a", "b"} {
			for e := range AgentWithOptions(ctx, asking(name)).Run(ctx, nil).All() {
				both.InterruptContexts = append(both.InterruptContexts, e.Action.Interrupted.InterruptContexts...)
			}
		}
		send(&AgentEvent{Action: &AgentAction{Interrupted: both}})
	})
	store := memory{}
	r := NewRunner(t.Context(), RunnerConfig{Agent: root, CheckPointStore: store})
	require.Len(t, interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1"))), 2)
	r = NewRunner(t.Context(), RunnerConfig{Agent: flowOf(t, root, asking("a"), asking("b")), CheckPointStore: store})
	require.EqualError(t, lastError(resumeWith(t, r, nil)),
		"agent has multiple child agents leading to interruption, but concurrent transfer is not supported")
}

// The tools that BeforeAgent adds are there again.
// Rule runtime/I19.
func TestInterrupt_ToolsOfBeforeAgent(t *testing.T) {
	matrix(t, testAddedTools[ordinary], testAddedTools[agentic])
}

func testAddedTools[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	h := &hooked[M]{beforeAgent: func(
		ctx context.Context, rc *ChatModelAgentContext,
	) (context.Context, *ChatModelAgentContext, error) {
		rc.Tools = append(slices.Clone(rc.Tools), askTool("ask"))
		return ctx, rc, nil
	}}
	m := says(d.answer("", wanted{"ask", "1", "x"}), d.answer("done"))
	a := setup[M](t, m, []tool.BaseTool{echo("echo")}, with[M](h))
	r := NewTypedRunner(TypedRunnerConfig[M]{Agent: a, EnableStreaming: streaming, CheckPointStore: memory{}})
	all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	point := all[len(all)-1].Action.Interrupted.InterruptContexts[0]
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point.ID: "yes"}})
	require.NoError(t, err)
	require.Equal(t, []string{"tool ask#1: answered yes", "assistant: done"}, linesOf(read(t, it)))
	require.Equal(t, []string{"echo", "ask"}, toolNames(m.options[1]))
}

// TestInterrupt_CallsOfOneIDAreResumedOneByOne: of interrupted calls with one ID, or none, as some models make them,
// each is resumed by itself, and calls that have finished do not disturb the others.
// Rules agent/R-9, runtime/I13.
func TestInterrupt_CallsOfOneIDAreResumedOneByOne(t *testing.T) {
	for _, id := range []string{"", "c"} {
		m := &replies{all: []Message{chatAnswer("", wanted{"ask", id, "p"}, wanted{"ask", id, "q"}),
			schema.AssistantMessage("done", nil)}}
		r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, askTool("ask")), CheckPointStore: memory{}})
		points := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		require.Len(t, points, 2)
		points = interruptOf(t, resumeWith(t, r, map[string]any{points[0].ID: "one"}))
		require.Len(t, points, 1)
		require.Equal(t, "again", points[0].Info, "its state was kept")
		texts, _ := drainAll(t, resumeWith(t, r, map[string]any{points[0].ID: "two"}))
		require.Equal(t, []string{"a: answered two", "a: done"}, texts)
	}
}
