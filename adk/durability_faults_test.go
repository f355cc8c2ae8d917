package adk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// payer is an agent that pays once, looks and is done; hooks of it call atHook.
func payer(t *testing.T, name string, paid *atomic.Int32, keys *sync.Map, atHook func()) Agent {
	t.Helper()
	pay := &toolFunc{"pay", func(ctx context.Context, _ string) (string, error) {
		paid.Add(1)
		keys.Store(GetIdempotencyKey(ctx), true)
		return "paid", nil
	}}
	look := &toolFunc{"look", func(context.Context, string) (string, error) { return "seen", nil }}
	a, err := NewChatModelAgent(t.Context(), &ChatModelAgentConfig{Name: name, Description: "pays",
		Model: recall(callOf("pay", "c1", `{"amount":100}`), callOf("look", "c2", "{}"),
			schema.AssistantMessage("done", nil)),
		ToolsConfig: ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{pay, look}}},
		Handlers: []ChatModelAgentMiddleware{&hooked[Message]{
			beforeAgent: func(ctx context.Context, rc *ChatModelAgentContext) (context.Context, *ChatModelAgentContext, error) {
				atHook()
				return ctx, rc, nil
			}}}})
	require.NoError(t, err)
	return a
}

// agentsAround are the ways in which a payer is part of a run.
func agentsAround(t *testing.T) map[string]func(Agent) Agent {
	one := []func(Agent) (Agent, error){
		func(a Agent) (Agent, error) { return a, nil },
		func(a Agent) (Agent, error) {
			return NewSequentialAgent(t.Context(), &SequentialAgentConfig{Name: "seq", SubAgents: []Agent{a}})
		},
		func(a Agent) (Agent, error) {
			return NewLoopAgent(t.Context(), &LoopAgentConfig{Name: "loop", SubAgents: []Agent{a}, MaxIterations: 1})
		},
		func(a Agent) (Agent, error) {
			return NewParallelAgent(t.Context(), &ParallelAgentConfig{Name: "par", SubAgents: []Agent{a}})
		},
		func(a Agent) (Agent, error) {
			return newOrdinary(t, "boss", recall(callOf("a", "b1", `{"request":"x"}`),
				schema.AssistantMessage("boss done", nil)),
				NewAgentTool(t.Context(), a)), nil
		},
	}
	around := map[string]func(Agent) Agent{}
	for i, name := range []string{"alone", "in a sequence", "in a loop", "in parallel", "as a tool"} {
		around[name] = func(a Agent) Agent {
			agent, err := one[i](a)
			require.NoError(t, err)
			return agent
		}
	}
	return around
}

// TestDurability_ACancelDuringReplayForgetsNothing: a run dies behind a payment, is resumed, is cancelled before its
// agents have replayed their steps, and is resumed again: the payment is not made a second time, and its key is the
// same.
func TestDurability_ACancelDuringReplayForgetsNothing(t *testing.T) {
	modes := map[string][]AgentCancelOption{
		"at once":                     nil,
		"at once, recursive":          {WithRecursive()},
		"after tool calls, recursive": {WithAgentCancelMode(CancelAfterToolCalls), WithRecursive()},
		"after the model":             {WithAgentCancelMode(CancelAfterChatModel)},
	}
	around := agentsAround(t)
	for _, kind := range slices.Sorted(maps.Keys(around)) {
		for _, mode := range slices.Sorted(maps.Keys(modes)) {
			t.Run(kind+"/"+mode, func(t *testing.T) {
				for _, journal := range []bool{true, false} {
					for _, inHook := range []bool{false, true} {
						for steps := int32(3); steps < 9; steps++ {
							dieAndCancel(t, around[kind], modes[mode], journal, inHook, steps)
						}
					}
				}
			})
		}
	}
}

func dieAndCancel(t *testing.T, around func(Agent) Agent, mode []AgentCancelOption, journal, inHook bool, steps int32) {
	t.Helper()
	var left, paid atomic.Int32
	var keys sync.Map
	left.Store(steps)
	var store CheckPointStore = dyingJournal{checkpoint.NewMemoryStore(), &left}
	if !journal {
		store = dying{CheckPointStore: memory{}, left: &left}
	}
	atHook := func() {}
	a := around(payer(t, "a", &paid, &keys, func() { atHook() }))
	r := NewRunner(t.Context(), RunnerConfig{Agent: a, CheckPointStore: store, Durability: EveryStep})
	if err := lastError(r.Query(t.Context(), "go", WithCheckPointID("1"))); err == nil {
		return
	}
	left.Store(1000)
	before := paid.Load()
	option, cancel := WithCancel()
	if inHook {
		atHook = func() { cancel(mode...) }
	} else {
		cancel(mode...)
	}
	it, err := r.Resume(t.Context(), "1", option)
	require.NoError(t, err)
	var cancelled *CancelError
	if err := lastError(it); err == nil || !errors.As(err, &cancelled) {
		return // it ended, or asks what became of the payment
	}
	atHook = func() {}
	it, err = r.Resume(t.Context(), "1")
	require.NoError(t, err)
	what := fmt.Sprintf("died after %d steps, journal %v, in the hook %v", steps, journal, inHook)
	for e := range it.All() {
		require.NoError(t, e.Err, what)
		if e.Action != nil && e.Action.Interrupted != nil { // the call had begun: its outcome is unknown
			require.IsType(t, &OutcomeUnknown{}, e.Action.Interrupted.InterruptContexts[0].Info, what)
			require.Equal(t, before, paid.Load(), what)
			return
		}
	}
	if before > 0 { // a call in flight that the cancel gives up is made again, with its key
		require.Equal(t, int32(1), paid.Load(), what)
	}
	different := 0
	keys.Range(func(any, any) bool { different++; return true })
	require.Equal(t, 1, different, what)
}

// TestIdempotencyKey_DiffersBetweenRoundsThatStopped: a loop pays once a round, and its model numbers its calls again in
// each answer. Interrupted in each round or not, each payment has a key of its own: the one that it had when it asked.
func TestIdempotencyKey_DiffersBetweenRoundsThatStopped(t *testing.T) {
	keysOf := func(durability Durability, ask bool) (keys []string) {
		var asking []string
		pay := &toolFunc{"pay", func(ctx context.Context, _ string) (string, error) {
			if asked, _, _ := tool.GetInterruptState[any](ctx); ask && !asked {
				asking = append(asking, GetIdempotencyKey(ctx))
				return "", tool.Interrupt(ctx, "may I?")
			}
			keys = append(keys, GetIdempotencyKey(ctx))
			return "paid", nil
		}}
		a := newOrdinary(t, "a",
			&modelFunc[Message]{generate: func(_ context.Context, in []Message, _ ...model.Option) (Message, error) {
				if in[len(in)-1].Role == schema.Tool {
					return schema.AssistantMessage("round done", nil), nil
				}
				return callOf("pay", "call_0", `{"amount":100}`), nil
			}}, pay)
		loop, err := NewLoopAgent(t.Context(), &LoopAgentConfig{Name: "l", SubAgents: []Agent{a}, MaxIterations: 3})
		require.NoError(t, err)
		r := NewRunner(t.Context(), RunnerConfig{Agent: loop, CheckPointStore: checkpoint.NewMemoryStore(),
			Durability: durability})
		it := r.Query(t.Context(), "pay", WithCheckPointID("1"))
		for range 4 {
			_, last := drainAll(t, it)
			if last.Action == nil || last.Action.Interrupted == nil {
				break
			}
			it = resumeWith(t, r, map[string]any{last.Action.Interrupted.InterruptContexts[0].ID: "yes"})
		}
		if ask {
			require.Equal(t, asking, keys)
		}
		return keys
	}
	for _, durability := range []Durability{OnInterrupt, EveryStep} {
		for _, ask := range []bool{false, true} {
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(keysOf(durability, ask)))), 3)
		}
	}
}

// TestRunner_ANewRunReplacesOneThatDied: whatever durability the new run has, resuming it does not bring back the old
// one that died under the same ID.
func TestRunner_ANewRunReplacesOneThatDied(t *testing.T) {
	for _, journal := range []bool{true, false} {
		var left, paid atomic.Int32
		var keys sync.Map
		left.Store(3)
		var store CheckPointStore = dyingJournal{checkpoint.NewMemoryStore(), &left}
		if !journal {
			store = dying{CheckPointStore: memory{}, left: &left}
		}
		old := NewRunner(t.Context(), RunnerConfig{Agent: payer(t, "a", &paid, &keys, func() {}), CheckPointStore: store,
			Durability: EveryStep})
		require.ErrorIs(t, lastError(old.Query(t.Context(), "pay", WithCheckPointID("1"))), errDied)
		left.Store(1000)
		paid.Store(0)
		asking := newOrdinary(t, "a", recall(callOf("ask", "c1", "{}"), schema.AssistantMessage("you allowed it", nil)),
			askTool("ask"))
		r := NewRunner(t.Context(), RunnerConfig{Agent: asking, CheckPointStore: store})
		_, last := drainAll(t, r.Query(t.Context(), "ask me", WithCheckPointID("1")))
		texts, _ := drainAll(t, resumeWith(t, r, map[string]any{last.Action.Interrupted.InterruptContexts[0].ID: "yes"}))
		require.Equal(t, "a: you allowed it", texts[len(texts)-1])
		require.Zero(t, paid.Load())
	}
}

// TestDurability_AnEarlyHandOverIsSaved: a transfer that was started while the model still streamed is carried out by
// the resumed run, wherever the process dies.
func TestDurability_AnEarlyHandOverIsSaved(t *testing.T) {
	for steps := int32(1); ; steps++ {
		died := false
		synctest.Test(t, func(t *testing.T) { died = transferEarlyAndDie(t, steps) })
		if !died {
			require.Greater(t, steps, int32(4))
			return
		}
	}
}

func transferEarlyAndDie(t *testing.T, steps int32) (died bool) {
	t.Helper()
	var left atomic.Int32
	left.Store(steps)
	desk, err := NewChatModelAgent(t.Context(), &ChatModelAgentConfig{Name: "desk", Description: "desk",
		ToolsConfig: ToolsConfig{EagerExecution: true},
		Model: &modelFunc[Message]{stream: func(
			context.Context, []Message, ...model.Option,
		) (*schema.StreamReader[Message], error) {
			s, w := schema.Pipe[Message](2)
			go func() {
				defer w.Close()
				call := callOf(TransferToAgentToolName, "c", `{"agent_name":"worker"}`)
				call.ToolCalls[0].Index = new(int)
				w.Send(call, nil)
				time.Sleep(time.Second) // the usage chunk at the end of a real stream, for example
				w.Send(schema.AssistantMessage("", nil), nil)
			}()
			return s, nil
		}}})
	require.NoError(t, err)
	worker := newOrdinary(t, "worker", recall(schema.AssistantMessage("the work is done", nil)))
	r := NewRunner(t.Context(), RunnerConfig{Agent: flowOf(t, desk, worker), EnableStreaming: true, Durability: EveryStep,
		CheckPointStore: dyingJournal{checkpoint.NewMemoryStore(), &left}})
	if err := lastError(r.Query(t.Context(), "go", WithCheckPointID("1"))); err == nil {
		return false
	}
	left.Store(1000)
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	texts, _ := drainAll(t, it)
	require.Equal(t, "worker: the work is done", texts[len(texts)-1], "died after %d steps", steps)
	return true
}

// afterRecord is a journal that calls a function when a record with some text has been saved.
type afterRecord struct {
	dyingJournal
	text string
	do   func()
}

func (a *afterRecord) AppendRecord(ctx context.Context, id string, record []byte) error {
	err := a.dyingJournal.AppendRecord(ctx, id, record)
	if bytes.Contains(record, []byte(a.text)) {
		a.do()
	}
	return err
}

// TestDurability_ACancelKeepsTheMessageOfADecidedCall: the result of a call whose outcome was unknown comes from the
// caller that resumes the run, and is saved. If the run is cancelled at once just then, the agents behind still see it.
func TestDurability_ACancelKeepsTheMessageOfADecidedCall(t *testing.T) {
	var left atomic.Int32
	left.Store(1000)
	store := &afterRecord{dyingJournal{checkpoint.NewMemoryStore(), &left}, "paid already", func() {}}
	pay := &toolFunc{"pay", func(context.Context, string) (string, error) {
		left.Store(0) // the process dies
		return "paid", nil
	}}
	first := newOrdinary(t, "first", recall(callOf("pay", "c", "{}"), schema.AssistantMessage("first done", nil)),
		tool.BaseTool(pay))
	var seen []string
	second := &scripted[Message]{answers: [][]Message{{schema.AssistantMessage("second done", nil)}}}
	second.hook = func(_ context.Context, _ int, in []Message) error {
		for _, m := range in {
			seen = append(seen, m.Content)
		}
		return nil
	}
	a, err := NewSequentialAgent(t.Context(),
		&SequentialAgentConfig{Name: "seq", SubAgents: []Agent{first, newOrdinary(t, "second", second)}})
	require.NoError(t, err)
	r := NewRunner(t.Context(), RunnerConfig{Agent: a, CheckPointStore: store, Durability: EveryStep})
	lastOf := func(it *AsyncIterator[*AgentEvent], err error) (last *AgentEvent) {
		require.NoError(t, err)
		for last = range it.All() {
		}
		return last
	}
	require.Error(t, lastOf(r.Query(t.Context(), "hi", WithCheckPointID("1")), nil).Err)
	left.Store(1000)
	asks := lastOf(r.Resume(t.Context(), "1"))
	point := asks.Action.Interrupted.InterruptContexts[0].ID

	option, cancel := WithCancel()
	store.do = func() { cancel(WithRecursive()) }
	params := &ResumeParams{Targets: map[string]any{point: &ToolOutcome{Result: "paid already"}}}
	require.ErrorAs(t, lastOf(r.ResumeWithParams(t.Context(), "1", params, option)).Err, new(*CancelError))
	store.do = func() {}
	require.NoError(t, lastOf(r.Resume(t.Context(), "1")).Err)
	require.Contains(t, seen, "For context: [first] `pay` tool returned result: paid already.")
}

// TestDurability_AStopBehindTheRoundItContinuedFromLeavesNothingOfThatRound: a run continues with a round that was
// interrupted, and is stopped right behind it; its process dies in a later round. That round is made, and not the
// first one again.
func TestDurability_AStopBehindTheRoundItContinuedFromLeavesNothingOfThatRound(t *testing.T) {
	synctest.Test(t, stopBehindARound)
}

func stopBehindARound(t *testing.T) {
	var left, asked, paid atomic.Int32
	left.Store(1000)
	store := dyingJournal{checkpoint.NewMemoryStore(), &left}
	ask := &toolFunc{"ask", func(ctx context.Context, _ string) (string, error) {
		if target, _, _ := tool.GetResumeContext[any](ctx); !target {
			return "", tool.Interrupt(ctx, "may I?")
		}
		asked.Add(1)
		return "yes", nil
	}}
	pay := &toolFunc{"pay", func(context.Context, string) (string, error) {
		if paid.Add(1) == 1 {
			left.Store(0)
		}
		return "paid", nil
	}}
	a := newOrdinary(t, "a", recall(callOf("ask", "c1", "{}"), callOf("pay", "c2", "{}"), chatAnswer("done")), ask, idempotentTool{pay})
	boss := newOrdinary(t, "boss", recall(callOf("a", "b1", `{"request":"x"}`), chatAnswer("boss done")), NewAgentTool(t.Context(), a))
	r := NewRunner(t.Context(), RunnerConfig{Agent: boss, CheckPointStore: store, Durability: EveryStep})
	point := interruptOf(t, r.Query(t.Context(), "go", WithCheckPointID("1")))[0].ID

	option, cancel := WithCancel()
	behind := callbacks.NewHandlerBuilder().OnEndFn(
		func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
			if info.Name == afterToolCallsNode {
				cancel(WithRecursive())
				<-ctx.Done() // the graph notices it before its next node
			}
			return ctx
		}).Build()
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point: "yes"}}, option, WithCallbacks(behind))
	require.NoError(t, err)
	var cancelled *CancelError
	require.ErrorAs(t, lastError(it), &cancelled)

	it, err = r.Resume(t.Context(), "1")
	require.NoError(t, err)
	require.ErrorIs(t, lastError(it), errDied)

	left.Store(1000)
	it, err = r.Resume(t.Context(), "1")
	require.NoError(t, err)
	require.NoError(t, lastError(it))
	require.EqualValues(t, 1, asked.Load())
	require.EqualValues(t, 2, paid.Load(), "the second call is the one whose result could not be saved")
}
