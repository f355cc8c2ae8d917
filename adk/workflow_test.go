package adk

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// Rule runtime/W9.
func TestWorkflow_RefusesStatesOfOthers(t *testing.T) {
	for name, build := range map[string]func() ResumableAgent{
		"sequence": func() ResumableAgent { return sequenceOf(t, "w", newTheatre().says("a")) },
		"loop":     func() ResumableAgent { return loopAgentOf(t, "w", 1, newTheatre().says("a")) },
		"parallel": func() ResumableAgent { return parallelOf(t, "w", newTheatre().says("a")) },
	} {
		t.Run(name, func(t *testing.T) {
			// The saved point comes from an agent of the same name, which left another state.
			for text, state := range map[string]any{
				"was asked to resume but has no state":          nil,
				"unsupported workflow agent state type: string": "state",
			} {
				store := memory{}
				stops := actor("w",
					func(ctx context.Context, send func(*AgentEvent)) { send(StatefulInterrupt(ctx, "why", state)) })
				interruptOf(t, NewRunner(t.Context(), RunnerConfig{Agent: stops, CheckPointStore: store}).Query(t.Context(), "hi",
					WithCheckPointID("1")))
				r := NewRunner(t.Context(), RunnerConfig{Agent: build(), CheckPointStore: store})
				require.ErrorContains(t, lastError(resumeWith(t, r, nil)), text)
			}
		})
	}
	// A state of a workflow that had other children.
	for name, c := range map[string]struct{ before, now Agent }{
		"sequence": {sequenceOf(t, "w", newTheatre().says("a"), asking("b"), newTheatre().says("c")), sequenceOf(t, "w")},
		"loop":     {loopAgentOf(t, "w", 2, newTheatre().says("a"), asking("b")), loopAgentOf(t, "w", 2)},
		"parallel": {parallelOf(t, "w", newTheatre().says("a"), asking("b")), parallelOf(t, "w", asking("b"))},
	} {
		store := memory{}
		interruptOf(t, NewRunner(t.Context(), RunnerConfig{Agent: c.before, CheckPointStore: store}).Query(t.Context(), "hi",
			WithCheckPointID("1")))
		r := NewRunner(t.Context(), RunnerConfig{Agent: c.now, CheckPointStore: store})
		require.ErrorContains(t, lastError(resumeWith(t, r, nil)), "cannot continue: agent", name)
	}
}

// A workflow that is cancelled at a boundary continues behind it, and repeats nothing.
// Rules runtime/C20, runtime/W10.
func TestWorkflow_CancelAtABoundary(t *testing.T) {
	for _, mode := range []CancelMode{CancelImmediate, CancelAfterChatModel, CancelAfterToolCalls} {
		for name, c := range map[string]struct {
			build  func(a, b Agent) Agent
			before []string
			after  []string
		}{
			"sequence": {func(a, b Agent) Agent { return sequenceOf(t, "w", a, b) }, []string{"a: a"},
				[]string{"b: b"}},
			"loop": {func(a, b Agent) Agent { return loopAgentOf(t, "w", 2, a, b) }, []string{"a: a"},
				[]string{"b: b", "a: a", "b: b"}},
			"round": {func(a, b Agent) Agent { return loopAgentOf(t, "w", 2, b, a) }, []string{"b: b", "a: a"},
				[]string{"b: b", "a: a"}},
			"before a parallel agent": {func(a, b Agent) Agent { return sequenceOf(t, "w", a, parallelOf(t, "p", b)) },
				[]string{"a: a"}, []string{"b: b"}},
		} {
			synctest.Test(t, func(t *testing.T) {
				option, cancel := WithCancel()
				a := actor("a", func(_ context.Context, send func(*AgentEvent)) {
					send(said("a"))
					cancel(WithAgentCancelMode(mode))
				})
				r := NewRunner(t.Context(), RunnerConfig{Agent: c.build(a, newTheatre().says("b")), CheckPointStore: memory{}})
				out := collect(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), option))
				require.NotNil(t, out.err, name)
				require.Equal(t, c.before, out.texts, name)
				texts, _ := drainAll(t, resumeWith(t, r, nil))
				require.Equal(t, c.after, texts, name)
			})
		}
	}
}

// A parallel agent that was cancelled before it began runs all its branches when it is resumed.
// Rule runtime/C20.
func TestWorkflow_CancelBeforeAParallelAgentBegins(t *testing.T) {
	option, cancel := WithCancel()
	cancel(WithAgentCancelMode(CancelAfterToolCalls))
	s := newTheatre()
	r := NewRunner(t.Context(), RunnerConfig{Agent: parallelOf(t, "w", s.says("a"), s.says("b")),
		CheckPointStore: memory{}})
	require.NotNil(t, collect(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), option)).err)
	require.Empty(t, s.asked)
	texts, _ := drainAll(t, resumeWith(t, r, nil))
	require.ElementsMatch(t, []string{"a: a", "b: b"}, texts)
}

// Children are distinguished by their place, not by their name; their events are joined in the order in which they
// were created.
// Rule runtime/B15.17.
func TestWorkflow_ParallelChildrenByPlace(t *testing.T) {
	// The branch at 0 and the branch at 1 have one name; only the second one was interrupted.
	runs := 0
	quick := actor("same", func(_ context.Context, send func(*AgentEvent)) { runs++; send(said("quick")) })
	r := NewRunner(t.Context(), RunnerConfig{Agent: parallelOf(t, "w", quick, asking("same")), CheckPointStore: memory{}})
	point := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))[0]
	texts, _ := drainAll(t, resumeWith(t, r, map[string]any{point.ID: "yes"}))
	require.Equal(t, []string{"same: same got yes"}, texts)
	require.Equal(t, 1, runs)

	// Three of one name were interrupted, each with a state of its own; they are answered in any order.
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
		store := memory{}
		var same []Agent
		for i := range 3 {
			a := insisting("same")
			a.run = func(ctx context.Context, _ *AgentInput, send func(*AgentEvent)) {
				send(StatefulInterrupt(ctx, i, fmt.Sprint("state ", i)))
			}
			a.resume = func(ctx context.Context, info *ResumeInfo, send func(*AgentEvent)) {
				require.Equal(t, fmt.Sprint("state ", i), info.InterruptState)
				if info.ResumeData == nil {
					send(StatefulInterrupt(ctx, i, info.InterruptState))
					return
				}
				send(said(fmt.Sprint(i, " got ", info.ResumeData)))
			}
			same = append(same, a)
		}
		r := NewRunner(t.Context(), RunnerConfig{Agent: parallelOf(t, "w", same...), CheckPointStore: store})
		points := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		require.Len(t, points, 3)
		require.Equal(t, "agent:w;agent:same", points[0].Address.String())
		require.Equal(t, "agent:w;agent:same:2", points[1].Address.String())
		require.Equal(t, "agent:w;agent:same:3", points[2].Address.String())
		for n, who := range order {
			var target string
			for _, p := range points {
				if p.Info == who {
					target = p.ID
				}
			}
			texts, last := drainAll(t, resumeWith(t, r, map[string]any{target: who}))
			require.Equal(t, []string{fmt.Sprintf("same: %d got %d", who, who)}, texts)
			if n < 2 {
				points = last.Action.Interrupted.InterruptContexts
				require.Len(t, points, 2-n)
			}
		}
	}

	l := newLane[Message]()
	forks := []*lane[Message]{l.fork(), l.fork()}
	for i := range 50 { // in turn, the second lane first
		forks[(i+1)%2].append(&historyItem[Message]{agent: string(rune('a' + i))})
	}
	l.join(forks)
	for i, item := range l.visible() {
		require.Equal(t, string(rune('a'+i)), item.agent)
	}
	require.Len(t, l.visible(), 50)
}

// The events of a long loop share their paths' memory with the loop.
// Rule runtime/B15.18.
func TestWorkflow_RunPathsShareMemory(t *testing.T) {
	const rounds = 300
	r := &chainRun{agent: &chainAgent{loop: true}, ctx: t.Context(),
		parent: &execution[Message]{Context: t.Context(), run: &rootRun[Message]{session: new(session)}}}
	r.agent.children = []*flowAgent{toFlow(t.Context(), newTheatre().says("a"))}
	var last *RunStep
	moved := 0
	for range rounds {
		x := r.next(planned{})
		if first := &x.path[0]; first != last {
			moved++
			last = first
		}
	}
	require.Len(t, r.path, rounds)
	require.Less(t, moved, 20, "the path grows in place")
}

// A child whose stream stays open does not hold the workflow's end.
func TestWorkflow_StreamsStayTheReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, writer := schema.Pipe[Message](0)
		go func() {
			defer writer.Close()
			time.Sleep(time.Hour)
			writer.Send(schema.AssistantMessage("late", nil), nil)
		}()
		par := parallelOf(t, "w", newTheatre().sendsAll("a", EventFromMessage(nil, stream, schema.Assistant, "")))
		start := time.Now()
		var events []*AgentEvent
		for e := range ask(t.Context(), Agent(par), true).All() {
			events = append(events, e)
		}
		require.Zero(t, time.Since(start))
		require.Equal(t, "assistant: late", chatDialect.line(readOne(t, events[0]).message))
	})
}
