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
)

// agentHeard is what a callback handler hears of agents.
type agentHeard[M MessageType] struct {
	mu      sync.Mutex
	reading sync.WaitGroup
	// deaf: the events are not read.
	deaf bool

	infos   []callbacks.RunInfo
	inputs  []*TypedAgentInput[M]
	resumes []*ResumeInfo
	// heard are the events that the handler has read, by run.
	heard  [][]string
	errors int
}

// input returns the payload of an agent's start.
func (h *agentHeard[M]) input(in callbacks.CallbackInput) (*TypedAgentInput[M], *ResumeInfo) {
	if ordinary := ConvAgentCallbackInput(in); ordinary != nil {
		input, _ := any(ordinary.Input).(*TypedAgentInput[M])
		return input, ordinary.ResumeInfo
	}
	typed := ConvTypedCallbackInput[M](in)
	return typed.Input, typed.ResumeInfo
}

func (h *agentHeard[M]) events(out callbacks.CallbackOutput) *AsyncIterator[*TypedAgentEvent[M]] {
	if ordinary := ConvAgentCallbackOutput(out); ordinary != nil {
		return any(ordinary.Events).(*AsyncIterator[*TypedAgentEvent[M]])
	}
	return ConvTypedCallbackOutput[M](out).Events
}

func isAgent(info *callbacks.RunInfo) bool {
	return info.Component == ComponentOfAgent || info.Component == ComponentOfAgenticAgent
}

func (h *agentHeard[M]) handler(t *testing.T) callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			if isAgent(info) {
				input, resume := h.input(in)
				h.mu.Lock()
				defer h.mu.Unlock()
				h.infos, h.inputs, h.resumes = append(h.infos, *info), append(h.inputs, input), append(h.resumes, resume)
			}
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			if isAgent(info) && !h.deaf {
				events := h.events(out)
				h.reading.Go(func() { h.read(t, events) })
			}
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, _ error) context.Context {
			if isAgent(info) {
				h.errors++
			}
			return ctx
		}).Build()
}

func (h *agentHeard[M]) read(t *testing.T, events *AsyncIterator[*TypedAgentEvent[M]]) {
	lines := linesOf(read(t, events))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard = append(h.heard, lines)
}

// TestCallbacks_CB1_CB2_CB3_Runs: handlers hear of each run of an agent once, with its input or what it goes on from;
// each has its own copy of the events, which ends with the run, also of one that fails. One that is not read holds up
// nothing.
func TestCallbacks_CB1_CB2_CB3_Runs(t *testing.T) {
	bubbled(t, testAgentCallbacks[ordinary], testAgentCallbacks[agentic])
}

func testAgentCallbacks[M MessageType](t *testing.T, streaming bool) {
	component := ComponentOfAgent
	if _, is := any(*new(M)).(agentic); is {
		component = ComponentOfAgenticAgent
	}
	d := dialectOf[M]()
	for _, n := range []int{1, 3} { // handlers that read
		heard := make([]agentHeard[M], n)
		deaf := &agentHeard[M]{deaf: true}
		opts := []AgentRunOption{WithCallbacks(deaf.handler(t))}
		for i := range heard {
			opts = append(opts, WithCallbacks(heard[i].handler(t)))
		}
		m := says(d.answer("", wanted{"t", "c1", object}), d.answer("done"))
		a := setup(t, m, []tool.BaseTool{asksFirst("t", &diary{})})
		store := memory{}
		r := NewTypedRunner(TypedRunnerConfig[M]{Agent: a, EnableStreaming: streaming, CheckPointStore: store})
		first := read(t, r.Query(t.Context(), "hi", append(opts, WithCheckPointID("1"))...))
		it, err := r.Resume(t.Context(), "1", opts...)
		require.NoError(t, err)
		rest := read(t, it)
		want := [][]string{{asked, "no message"}, {answered, ended}}
		require.Equal(t, want, [][]string{linesOf(first), linesOf(rest)})
		synctest.Wait()
		for i := range heard {
			h := &heard[i]
			h.reading.Wait()
			require.Equal(t, []callbacks.RunInfo{{Name: "tester", Type: "ChatModel", Component: component}, {Name: "tester", Type: "ChatModel", Component: component}}, h.infos)
			require.Equal(t, []string{"user: hi"}, d.lines(h.inputs[0].Messages))
			require.Nil(t, h.resumes[0])
			require.Nil(t, h.inputs[1], "CB-2: a resumed run has no input")
			require.NotNil(t, h.resumes[1])
			require.ElementsMatch(t, want, h.heard)
		}
	}
	bare1 := &agentHeard[M]{}
	ctx := callbacks.InitCallbacks(t.Context(), nil, bare1.handler(t))
	require.Len(t, read(t, bare(ctx, setup(t, says(d.answer("done")), nil), streaming)), 1)
	require.Empty(t, bare1.infos, "CB-1: not for an agent that runs without a runner")

	fails := &agentHeard[M]{}
	panics := says(d.answer("x"))
	panics.hook = func(context.Context, int, []M) error { panic(errBroken) }
	all := read(t, ask(t.Context(), TypedAgent[M](setup(t, panics, nil)), streaming, WithCallbacks(fails.handler(t))))
	fails.reading.Wait()
	require.Equal(t, [][]string{linesOf(all)}, fails.heard, "do better 32: the iterator closes on every path")
	require.Zero(t, fails.errors, "OnError is for components")

	custom := &agentHeard[M]{}
	read(t, ask(t.Context(), TypedAgent[M](sends[M]()), streaming, WithCallbacks(custom.handler(t))))
	custom.reading.Wait()
	require.Equal(t, []callbacks.RunInfo{{Name: "custom", Component: component}}, custom.infos, "without GetType the type is empty")
}

// TestCallbacks_CB4_WithCallbacks: handlers of an option hear of the agents that the option is meant for, and of all
// components inside those.
func TestCallbacks_CB4_WithCallbacks(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		agents := func() Agent {
			inner := newOrdinary(t, "inner", recall(callOf("echo", "i", "x"), chatAnswer("inner done")), echo("echo"))
			outer := newOrdinary(t, "outer", recall(callOf("inner", "o", `{"request":"do"}`), chatAnswer("outer done")), NewAgentTool(t.Context(), inner))
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
				if f.timing == "start" {
					n[fmt.Sprint(f.component, " ", f.name)]++
				}
			}
			return n
		}
		everything := map[string]int{
			"Agent seq": 1, "Agent outer": 1, "Agent inner": 1, "Agent last": 1,
			string(compose.ComponentOfGraph) + " outer": 1, string(compose.ComponentOfGraph) + " inner": 1, string(compose.ComponentOfGraph) + " last": 1,
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
		require.Equal(t, []int{1, 1, 1}, []int{got["Agent seq"], got["Agent outer"], got["Agent last"]}, "once, though several that are designated contain it: %v", got)
	}
}
