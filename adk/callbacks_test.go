package adk

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// listener is a handler that records the callbacks of agents, and reads their events.
type listener[M MessageType] struct {
	// deaf: it does not read them.
	deaf bool

	mu      sync.Mutex
	reading sync.WaitGroup
	calls   []string
	inputs  []*TypedAgentInput[M]
	resumes []*ResumeInfo
	// runs are the runs of agents whose events it reads, in the order in which they began to speak.
	runs []*agentRecord[M]
}

// agentRecord holds what a listener has read of one run of an agent.
type agentRecord[M MessageType] struct {
	agent  string
	events []observed[M]
}

func isAgent(info *callbacks.RunInfo) bool {
	return info.Component == ComponentOfAgent || info.Component == ComponentOfAgenticAgent
}

// agentOnly makes a handler out of functions for agents alone. They may be nil.
func agentOnly(start func(*callbacks.RunInfo, callbacks.CallbackInput),
	end func(*callbacks.RunInfo, callbacks.CallbackOutput), failed func(*callbacks.RunInfo),
) callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			if isAgent(info) && start != nil {
				start(info, in)
			}
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			if isAgent(info) && end != nil {
				end(info, out)
			}
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, _ error) context.Context {
			if isAgent(info) && failed != nil {
				failed(info)
			}
			return ctx
		}).Build()
}

func (l *listener[M]) handler(t *testing.T) callbacks.Handler {
	return agentOnly(
		func(info *callbacks.RunInfo, in callbacks.CallbackInput) {
			l.mu.Lock()
			defer l.mu.Unlock()
			input, resume := inputOf[M](in)
			l.calls = append(l.calls, fmt.Sprintf("start %s:%s:%s", info.Name, info.Type, info.Component))
			l.inputs, l.resumes = append(l.inputs, input), append(l.resumes, resume)
		},
		func(info *callbacks.RunInfo, out callbacks.CallbackOutput) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.calls = append(l.calls, "end "+info.Name)
			if l.deaf {
				return
			}
			events, h := eventsOf[M](out), &agentRecord[M]{agent: info.Name}
			l.runs = append(l.runs, h)
			l.reading.Go(func() { h.events = read(t, events) })
		},
		func(info *callbacks.RunInfo) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.calls = append(l.calls, "error "+info.Name)
		})
}

// inputOf takes the payload of a start apart: one type for each kind of message.
func inputOf[M MessageType](in callbacks.CallbackInput) (*TypedAgentInput[M], *ResumeInfo) {
	if ordinary := ConvAgentCallbackInput(in); ordinary != nil {
		return any(ordinary.Input).(*TypedAgentInput[M]), ordinary.ResumeInfo
	}
	agentic := ConvAgenticCallbackInput(in)
	return any(agentic.Input).(*TypedAgentInput[M]), agentic.ResumeInfo
}

// eventsOf is the payload of an end.
func eventsOf[M MessageType](out callbacks.CallbackOutput) *AsyncIterator[*TypedAgentEvent[M]] {
	if ordinary := ConvAgentCallbackOutput(out); ordinary != nil {
		return any(ordinary.Events).(*AsyncIterator[*TypedAgentEvent[M]])
	}
	return any(ConvAgenticCallbackOutput(out).Events).(*AsyncIterator[*TypedAgentEvent[M]])
}

// of are the events of the runs of one agent, each with the agent that it is from.
func (l *listener[M]) of(agent string) (lines []string) {
	l.reading.Wait()
	for _, h := range l.runs {
		if h.agent == agent {
			lines = append(lines, signed(h.events)...)
		}
	}
	return lines
}

// signed are the lines of events, each with the agent that it is from.
func signed[M MessageType](events []observed[M]) (lines []string) {
	for i, line := range linesOf(events) {
		lines = append(lines, events[i].AgentName+": "+line)
	}
	return lines
}

// expectedComponent returns the component name of agents on one kind of message.
func expectedComponent[M MessageType]() string {
	if _, is := any(*new(M)).(agentic); is {
		return string(ComponentOfAgenticAgent)
	}
	return string(ComponentOfAgent)
}

// TestCallbacks_OncePerRunWithTheirOwnEvents: handlers are called once for each run of an agent, with its input or
// with what it is resumed from; each has its own copy of the events, which ends with the run. One that is not read
// holds up nothing.
// Rules agent/CB-1, agent/CB-2, agent/CB-3, runtime/B1, runtime/B2, runtime/B3.
func TestCallbacks_OncePerRunWithTheirOwnEvents(t *testing.T) {
	bubbled(t, testListeners[ordinary], testListeners[agentic])
}

func testListeners[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	start := "start tester:ChatModel:" + expectedComponent[M]()
	for _, n := range []int{1, 3} { // handlers that read
		listeners := make([]listener[M], n)
		deaf := &listener[M]{deaf: true}
		opts := []AgentRunOption{WithCallbacks(deaf.handler(t))}
		for i := range listeners {
			opts = append(opts, WithCallbacks(listeners[i].handler(t)))
		}
		m := says(d.answer("", wanted{"ask", "1", "x"}), d.answer("done"))
		r := NewTypedRunner(TypedRunnerConfig[M]{Agent: setup(t, m, []tool.BaseTool{askTool("ask")}),
			EnableStreaming: streaming, CheckPointStore: memory{}})
		first := read(t, r.Query(t.Context(), "hi", append(opts, WithCheckPointID("1"))...))
		point := first[len(first)-1].Action.Interrupted.InterruptContexts[0]
		it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point.ID: "yes"}}, opts...)
		require.NoError(t, err)
		rest := read(t, it)
		want := []string{"tester: assistant: [ask#1 x]", "tester: no message", "tester: tool ask#1: answered yes",
			"tester: assistant: done"}
		require.Equal(t, want, append(signed(first), signed(rest)...))
		synctest.Wait()
		for i := range listeners {
			l := &listeners[i]
			require.Equal(t, want, l.of("tester"), "each has a copy of its own")
			require.Len(t, l.runs, 2)
			require.Equal(t, []string{start, "end tester", start, "end tester"}, l.calls)
			require.Equal(t, []string{"user: hi"}, d.lines(l.inputs[0].Messages))
			require.Nil(t, l.resumes[0])
			require.Nil(t, l.inputs[1], "rule agent/CB-2: a resumed run has no input")
			require.True(t, l.resumes[1].WasInterrupted)
		}
	}
}

// Rule agent/CB-1.
func TestCallbacks_NotWithoutARunner(t *testing.T) {
	bubbled(t, testBareCallbacks[ordinary], testBareCallbacks[agentic])
}

func testBareCallbacks[M MessageType](t *testing.T, streaming bool) {
	var l listener[M]
	ctx := callbacks.InitCallbacks(t.Context(), nil, l.handler(t))
	require.Len(t, read(t, bare(ctx, setup(t, says(dialectOf[M]().answer("done")), nil), streaming)), 1)
	require.Empty(t, l.calls)
}

// TestCallbacks_ErrorsAreEventsAndEndTheIterator: the iterator closes on every path, and the error is an event like
// others.
// Rules agent/B19.32, agent/CB-2.
func TestCallbacks_ErrorsAreEventsAndEndTheIterator(t *testing.T) {
	bubbled(t, testFailedCallbacks[ordinary], testFailedCallbacks[agentic])
}

func testFailedCallbacks[M MessageType](t *testing.T, streaming bool) {
	var l listener[M]
	panics := says(dialectOf[M]().answer("x"))
	panics.hook = func(context.Context, int, []M) error { panic(errBroken) }
	all := read(t, ask(t.Context(), TypedAgent[M](setup(t, panics, nil)), streaming, WithCallbacks(l.handler(t))))
	require.Equal(t, signed(all), l.of("tester"))
	require.Error(t, failure(t, all))
	require.Equal(t, []string{"start tester:ChatModel:" + expectedComponent[M](), "end tester"}, l.calls,
		"OnError is for components")
}

// Rule agent/CB-1.
func TestCallbacks_WithoutGetTypeTheTypeIsEmpty(t *testing.T) {
	bubbled(t, testCustomCallbacks[ordinary], testCustomCallbacks[agentic])
}

func testCustomCallbacks[M MessageType](t *testing.T, streaming bool) {
	var l listener[M]
	read(t, ask(t.Context(), TypedAgent[M](sends[M]()), streaming, WithCallbacks(l.handler(t))))
	l.reading.Wait()
	require.Equal(t, []string{"start custom::" + expectedComponent[M](), "end custom"}, l.calls)
}

// OnStart gets the input that the agent gets, which is rebuilt from the history.
// Rule runtime/B2.
func TestCallbacks_InputIsTheRebuiltOne(t *testing.T) {
	var l listener[ordinary]
	s := newTheatre()
	drainAll(t, ask(t.Context(), Agent(sequenceOf(t, "seq", s.says("a"), s.says("b"))), false,
		WithCallbacks(l.handler(t))))
	l.reading.Wait()
	require.Len(t, l.inputs, 3)
	require.Equal(t, []string{"user: hi", quotedLine("a", "a")}, chatDialect.lines(l.inputs[2].Messages))
}

// OnEnd is called when the agent starts to emit, even if its events are not read.
// Rule runtime/B3.
func TestCallbacks_OnEndIsCalledWhenTheStreamStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		h := agentOnly(nil, func(*callbacks.RunInfo, callbacks.CallbackOutput) { ended = true }, nil)
		w := newWaiting()
		it := ask(t.Context(), w.Agent, false, WithCallbacks(h))
		<-w.entered
		synctest.Wait()
		require.True(t, ended)
		close(w.release)
		drainAll(t, it)
	})
}

// An agent has its own events, with the events emitted from inside its tools, and without the events of agents that it
// transfers to; a workflow has the events that its children emit.
// Rule runtime/B4.
func TestCallbacks_EventsAreTheAgentsOwn(t *testing.T) {
	var l listener[ordinary]
	inner := setup(t, says(chatAnswer("deep")), nil, func(c *ChatModelAgentConfig) { c.Name = "inner" })
	a := setup(t, says(chatAnswer("", wanted{"inner", "1", `{"request":"do"}`}), transferTo("b")),
		[]tool.BaseTool{NewAgentTool(t.Context(), inner)},
		func(c *ChatModelAgentConfig) { c.Name, c.ToolsConfig.EmitInternalEvents = "a", true })
	s := newTheatre()
	seq := sequenceOf(t, "seq", flowOf(t, a, s.says("b")), s.says("c"))
	drainAll(t, ask(t.Context(), Agent(seq), false, WithCallbacks(l.handler(t))))
	own := []string{`a: assistant: [inner#1 {"request":"do"}]`, "inner: assistant: deep", "a: tool inner#1: deep",
		`a: assistant: [transfer_to_agent#t-b {"agent_name":"b"}]`,
		"a: tool transfer_to_agent#t-b: successfully transferred to agent [b]"}
	require.Equal(t, own, l.of("a"))
	require.Equal(t, []string{"inner: assistant: deep"}, l.of("inner"))
	require.Equal(t, []string{"b: assistant: b"}, l.of("b"))
	require.Equal(t, append(own, "b: assistant: b", "c: assistant: c"), l.of("seq"))
}

// Handlers of an agent are called for what is inside it too, with each component's kind.
// Rule runtime/B5.
func TestCallbacks_InnerComponents(t *testing.T) {
	fired := map[components.Component]int{}
	h := callbacks.NewHandlerBuilder().OnStartFn(func(
		ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput,
	) context.Context {
		fired[info.Component]++
		return ctx
	}).Build()
	a := setup(t, says(chatAnswer("", wanted{"echo", "1", "x"}), chatAnswer("done")), []tool.BaseTool{echo("echo")})
	drainAll(t, ask(t.Context(), Agent(a), false, WithCallbacks(h).DesignateAgent("tester")))
	for component, n := range map[components.Component]int{ComponentOfAgent: 1, components.ComponentOfChatModel: 2,
		components.ComponentOfTool: 1} {
		require.Equal(t, n, fired[component], component)
	}
	require.Greater(t, len(fired), 3, "and the graph")
}

// TestCallbacks_DesignatedHandlersReachInnerComponents: handlers of an option are called for the agents that the
// option is meant for, and for all components inside those.
// Rule agent/CB-4.
func TestCallbacks_DesignatedHandlersReachInnerComponents(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		agents := func() Agent {
			inner := newOrdinary(t, "inner", recall(callOf("echo", "i", "x"), chatAnswer("inner done")), echo("echo"))
			outer := newOrdinary(t, "outer", recall(callOf("inner", "o", `{"request":"do"}`), chatAnswer("outer done")),
				NewAgentTool(t.Context(), inner))
			last := newOrdinary(t, "last", recall(chatAnswer("last done")))
			seq, err := NewSequentialAgent(t.Context(), &SequentialAgentConfig{Name: "seq", SubAgents: []Agent{outer, last}})
			require.NoError(t, err)
			return seq
		}
		starts := func(option func(h callbacks.Handler) AgentRunOption) map[string]int {
			rec := &recorder{}
			all := read(t, ask(t.Context(), agents(), streaming, option(rec.handler())))
			require.NoError(t, all[len(all)-1].Err)
			rec.wg.Wait()
			n := map[string]int{}
			for _, f := range rec.seen {
				if f.timing == "start" || f.timing == "start-stream" {
					n[fmt.Sprint(f.component, " ", f.name)]++
				}
			}
			return n
		}
		everything := map[string]int{
			"Agent seq": 1, "Agent outer": 1, "Agent inner": 1, "Agent last": 1,
			string(compose.ComponentOfGraph) + " outer": 1, string(compose.ComponentOfGraph) + " inner": 1,
			string(compose.ComponentOfGraph) + " last":             1,
			string(components.ComponentOfChatModel) + " ChatModel": 5, "Tool inner": 1, "Tool echo": 1,
		}
		got := starts(func(h callbacks.Handler) AgentRunOption { return WithCallbacks(h) })
		for name, n := range everything {
			require.Equal(t, n, got[name], "%s of %v", name, got)
		}
		got = starts(func(h callbacks.Handler) AgentRunOption { return WithCallbacks(h).DesignateAgent("last") })
		require.Equal(t, 1, got["Agent last"])
		require.Equal(t, 1, got[string(components.ComponentOfChatModel)+" ChatModel"], "%v", got)
		require.Zero(t, got["Agent outer"]+got["Agent seq"]+got["Agent inner"]+got["Tool echo"])
		got = starts(func(h callbacks.Handler) AgentRunOption {
			return WithCallbacks(h).DesignateAgent("outer", "last", "seq")
		})
		require.Equal(t, []int{1, 1, 1}, []int{got["Agent seq"], got["Agent outer"], got["Agent last"]},
			"once, though several that are designated contain it: %v", got)
	}
}

// Rule runtime/B7.
func TestCallbacks_EarlyFailuresHaveStartAndEnd(t *testing.T) {
	fails := func(context.Context, []*HistoryEntry) ([]Message, error) { return nil, errBroken }
	var l listener[ordinary]
	a := AgentWithOptions(t.Context(), newTheatre().says("a"), WithHistoryRewriter(fails))
	require.ErrorIs(t, lastError(ask(t.Context(), a, false, WithCallbacks(l.handler(t)))), errBroken)
	l.reading.Wait()
	require.Equal(t, []string{"start a::Agent", "end a"}, l.calls)
	require.Len(t, l.runs, 1)
	require.ErrorIs(t, failure(t, l.runs[0].events), errBroken)

	// The agent to continue with is not there any more.
	store := memory{}
	boss := func() Agent { return newOrdinary(t, "boss", &replies{all: []Message{transferTo("a")}}) }
	interruptOf(t, NewRunner(t.Context(),
		RunnerConfig{Agent: flowOf(t, boss(), asking("a")), CheckPointStore: store}).Query(t.Context(), "hi",
		WithCheckPointID("1")))
	l = listener[ordinary]{}
	r := NewRunner(t.Context(), RunnerConfig{Agent: flowOf(t, boss(), asking("b")), CheckPointStore: store})
	require.ErrorIs(t, lastError(resumeWith(t, r, nil, WithCallbacks(l.handler(t)))), errNoInterruptedChild)
	l.reading.Wait()
	require.Equal(t, []string{"start boss:ChatModel:Agent", "end boss"}, l.calls)
	require.Len(t, l.runs, 1)
	require.ErrorIs(t, failure(t, l.runs[0].events), errNoInterruptedChild)
}

// Rule runtime/B8.
func TestCallbacks_ConversionsOfOtherTypesAreNil(t *testing.T) {
	in, out := &AgentCallbackInput{}, &AgentCallbackOutput{}
	agenticIn, agenticOut := &AgenticCallbackInput{}, &AgenticCallbackOutput{}
	require.Same(t, in, ConvAgentCallbackInput(in))
	require.Same(t, out, ConvAgentCallbackOutput(out))
	require.Same(t, agenticIn, ConvAgenticCallbackInput(agenticIn))
	require.Same(t, agenticOut, ConvAgenticCallbackOutput(agenticOut))
	for _, other := range []any{nil, "x", *in, *out, *agenticIn, *agenticOut, &schema.Message{}} {
		require.Nil(t, ConvAgentCallbackInput(other))
		require.Nil(t, ConvAgentCallbackOutput(other))
		require.Nil(t, ConvTypedCallbackInput[agentic](other))
		require.Nil(t, ConvTypedCallbackOutput[agentic](other))
	}
	require.Nil(t, ConvAgentCallbackInput(agenticIn))
	require.Nil(t, ConvAgenticCallbackInput(in))
}

// Rule runtime/B9.
func TestCallbacks_StartInReverseEndInOrder(t *testing.T) {
	var order []string
	numbered := func(n string) callbacks.Handler {
		return agentOnly(
			func(*callbacks.RunInfo, callbacks.CallbackInput) { order = append(order, "start "+n) },
			func(*callbacks.RunInfo, callbacks.CallbackOutput) { order = append(order, "end "+n) }, nil)
	}
	drainAll(t, ask(t.Context(), newTheatre().says("a"), false, WithCallbacks(numbered("1"), numbered("2")),
		WithCallbacks(numbered("3"))))
	require.Equal(t, []string{"start 3", "start 2", "start 1", "end 1", "end 2", "end 3"}, order)
}
