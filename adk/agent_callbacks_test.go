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
	"github.com/weftgo/weft/schema"
)

// listener is a handler that notes what it hears of agents, and reads their events.
type listener struct {
	mu     sync.Mutex
	calls  []string
	inputs []callbacks.CallbackInput
	events map[string][]string
	errs   []error
	all    sync.WaitGroup
}

func (l *listener) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, fmt.Sprintf(format, args...))
}

func (l *listener) handler() callbacks.Handler {
	l.events = map[string][]string{}
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			if isAgent(info) {
				l.note("start %s:%s:%s", info.Name, info.Type, info.Component)
				l.inputs = append(l.inputs, in)
			}
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, _ error) context.Context {
			if isAgent(info) {
				l.note("error %s", info.Name)
			}
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			if !isAgent(info) {
				return ctx
			}
			l.note("end %s", info.Name)
			if o := ConvAgentCallbackOutput(out); o != nil {
				l.all.Go(func() { listen(l, info.Name, o.Events) })
			}
			if o := ConvAgenticCallbackOutput(out); o != nil {
				l.all.Go(func() { listen(l, info.Name, o.Events) })
			}
			return ctx
		}).Build()
}

func listen[M MessageType](l *listener, name string, events *AsyncIterator[*TypedAgentEvent[M]]) {
	for e := range events.All() {
		m, _, err := TypedGetMessage(e)
		l.mu.Lock()
		l.events[name] = append(l.events[name], e.AgentName+": "+dialectOf[M]().line(m))
		if e.Err != nil {
			err = e.Err
		}
		if err != nil {
			l.errs = append(l.errs, err)
		}
		l.mu.Unlock()
	}
}

func TestCallbacks_B1_B2_B3_AgentsOfBothKinds(t *testing.T) {
	matrix(t, testListeners[ordinary], testListeners[agentic])
}

func testListeners[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	m := says(d.answer("", wanted{"ask", "1", "x"}), d.answer("done"))
	r := NewTypedRunner(TypedRunnerConfig[M]{Agent: setup(t, m, []tool.BaseTool{askTool("ask")}), EnableStreaming: streaming, CheckPointStore: memory{}})
	var l, other listener
	all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), WithCallbacks(l.handler(), other.handler())))
	l.all.Wait()
	other.all.Wait()
	component := ComponentOfAgent
	if _, is := any(d.nothing).(agentic); is {
		component = ComponentOfAgenticAgent
	}
	require.Equal(t, []string{"start tester:ChatModel:" + string(component), "end tester"}, l.calls)
	want := []string{"tester: assistant: [ask#1 x]", "tester: nil"}
	require.Equal(t, want, l.events["tester"])
	require.Equal(t, want, other.events["tester"], "each has a copy of its own")
	require.Len(t, all, 2)
	messages, resume := inputOf[M](t, l.inputs[0])
	require.Equal(t, []string{"user: hi"}, d.lines(messages.Messages))
	require.Nil(t, resume)

	point := all[1].Action.Interrupted.InterruptContexts[0]
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point.ID: "yes"}}, WithCallbacks(l.handler()))
	require.NoError(t, err)
	read(t, it)
	l.all.Wait()
	messages, resume = inputOf[M](t, l.inputs[1])
	require.Nil(t, messages)
	require.True(t, resume.WasInterrupted)
	require.Equal(t, []string{"tester: tool ask#1: told yes", "tester: assistant: done"}, l.events["tester"])
	require.Len(t, l.calls, 4)
}

// inputOf takes the payload of a start apart: one type for each kind of message.
func inputOf[M MessageType](t *testing.T, in callbacks.CallbackInput) (*TypedAgentInput[M], *ResumeInfo) {
	t.Helper()
	if o := ConvAgentCallbackInput(in); o != nil {
		messages, _ := any(o.Input).(*TypedAgentInput[M])
		return messages, o.ResumeInfo
	}
	o := ConvTypedCallbackInput[M](in)
	require.NotNil(t, o)
	return o.Input, o.ResumeInfo
}

// B2: the input is the rebuilt one.
func TestCallbacks_B2_TheRebuiltInput(t *testing.T) {
	var l listener
	s := newTheatre()
	drainAll(t, ask(t.Context(), Agent(sequenceOf(t, "seq", s.says("a"), s.says("b"))), false, WithCallbacks(l.handler())))
	l.all.Wait()
	require.Len(t, l.inputs, 3)
	require.Equal(t, []string{"user: hi", retoldLine("a", "a")}, chatDialect.lines(ConvAgentCallbackInput(l.inputs[2]).Input.Messages))
}

// B3: the end comes when the agent begins to speak, and nobody has to read its events.
func TestCallbacks_B3_TheEndIsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		h := callbacks.NewHandlerBuilder().OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
			ended = ended || isAgent(info)
			return ctx
		}).Build()
		w := newWaiting()
		it := ask(t.Context(), w.Agent, false, WithCallbacks(h))
		<-w.entered
		synctest.Wait()
		require.True(t, ended)
		close(w.release)
		drainAll(t, it)
	})
}

// B4: an agent's events are its own, with those shown of agents in its tools, and not those of the agents that take over;
// a workflow's are those of its children.
func TestCallbacks_B4_WhoseEvents(t *testing.T) {
	var l listener
	inner := setup(t, says(chatAnswer("deep")), nil, func(c *ChatModelAgentConfig) { c.Name = "inner" })
	a := setup(t, says(chatAnswer("", wanted{"inner", "1", `{"request":"do"}`}), transferTo("b")), []tool.BaseTool{NewAgentTool(t.Context(), inner)},
		func(c *ChatModelAgentConfig) { c.Name, c.ToolsConfig.EmitInternalEvents = "a", true })
	s := newTheatre()
	seq := sequenceOf(t, "seq", flowOf(t, a, s.says("b")), s.says("c"))
	drainAll(t, ask(t.Context(), Agent(seq), false, WithCallbacks(l.handler())))
	l.all.Wait()
	own := []string{`a: assistant: [inner#1 {"request":"do"}]`, "inner: assistant: deep", "a: tool inner#1: deep",
		`a: assistant: [transfer_to_agent#t-b {"agent_name":"b"}]`, "a: tool transfer_to_agent#t-b: successfully transferred to agent [b]"}
	require.Equal(t, own, l.events["a"])
	require.Equal(t, []string{"inner: assistant: deep"}, l.events["inner"])
	require.Equal(t, []string{"b: assistant: b"}, l.events["b"])
	require.Equal(t, append(own, "b: assistant: b", "c: assistant: c"), l.events["seq"])
}

// B5: handlers of an agent hear of what is in it, each of them with its component.
func TestCallbacks_B5_InnerComponents(t *testing.T) {
	heard := map[components.Component]int{}
	h := callbacks.NewHandlerBuilder().OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
		heard[info.Component]++
		return ctx
	}).Build()
	a := setup(t, says(chatAnswer("", wanted{"echo", "1", "x"}), chatAnswer("done")), []tool.BaseTool{echo("echo")})
	drainAll(t, ask(t.Context(), Agent(a), false, WithCallbacks(h).DesignateAgent("tester")))
	for component, n := range map[components.Component]int{ComponentOfAgent: 1, components.ComponentOfChatModel: 2, components.ComponentOfTool: 1} {
		require.Equal(t, n, heard[component], component)
	}
	require.Greater(t, len(heard), 3, "and the graph")
}

func TestCallbacks_B7_EarlyFailures(t *testing.T) {
	fails := func(context.Context, []*HistoryEntry) ([]Message, error) { return nil, errBroken }
	var l listener
	a := AgentWithOptions(t.Context(), newTheatre().says("a"), WithHistoryRewriter(fails))
	require.ErrorIs(t, lastError(ask(t.Context(), a, false, WithCallbacks(l.handler()))), errBroken)
	l.all.Wait()
	require.Equal(t, []string{"start a::Agent", "end a"}, l.calls)
	require.Len(t, l.errs, 1)
	require.ErrorIs(t, l.errs[0], errBroken)

	// The agent to go on with is not there any more.
	store := memory{}
	boss := func() Agent { return newOrdinary(t, "boss", &replies{all: []Message{transferTo("a")}}) }
	interruptOf(t, NewRunner(t.Context(), RunnerConfig{Agent: flowOf(t, boss(), asking("a")), CheckPointStore: store}).Query(t.Context(), "hi", WithCheckPointID("1")))
	l = listener{}
	r := NewRunner(t.Context(), RunnerConfig{Agent: flowOf(t, boss(), asking("b")), CheckPointStore: store})
	require.ErrorIs(t, lastError(resumeWith(t, r, nil, WithCallbacks(l.handler()))), errNoInterruptedChild)
	l.all.Wait()
	require.Equal(t, []string{"start boss:ChatModel:Agent", "end boss"}, l.calls)
	require.Len(t, l.errs, 1)
}

func TestCallbacks_B8_Conversions(t *testing.T) {
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

func TestCallbacks_B9_Order(t *testing.T) {
	var order []string
	numbered := func(n string) callbacks.Handler {
		return callbacks.NewHandlerBuilder().
			OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
				if isAgent(info) {
					order = append(order, "start "+n)
				}
				return ctx
			}).
			OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
				if isAgent(info) {
					order = append(order, "end "+n)
				}
				return ctx
			}).Build()
	}
	drainAll(t, ask(t.Context(), newTheatre().says("a"), false, WithCallbacks(numbered("1"), numbered("2")), WithCallbacks(numbered("3"))))
	require.Equal(t, []string{"start 3", "start 2", "start 1", "end 1", "end 2", "end 3"}, order)
}
