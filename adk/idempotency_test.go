package adk

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
)

// keeper notes the keys of the calls of a tool, by their arguments.
type keeper struct {
	mu   sync.Mutex
	keys map[string][]string
}

func newKeeper() *keeper { return &keeper{keys: map[string][]string{}} }

func (k *keeper) note(ctx context.Context, args string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[args] = append(k.keys[args], GetIdempotencyKey(ctx))
}

// tool interrupts the calls with the argument "ask" until they are resumed.
func (k *keeper) tool() tool.BaseTool {
	return &toolFunc{"note", func(ctx context.Context, args string) (string, error) {
		k.note(ctx, args)
		if target, _, _ := tool.GetResumeContext[any](ctx); args == "ask" && !target {
			return "", tool.Interrupt(ctx, "may I?")
		}
		return "", nil
	}}
}

func TestIdempotencyKey_OneForEachCall(t *testing.T) {
	matrix(t, testKeyOfCalls[ordinary], testKeyOfCalls[agentic])
}

func testKeyOfCalls[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	k := newKeeper()
	same := d.answer("", wanted{"note", "1", "a"}, wanted{"note", "1", "b"}) // the model gives an ID twice
	a := setup(t, says(same, same, d.answer("done")), []tool.BaseTool{k.tool()})
	read(t, ask(t.Context(), TypedAgent[M](a), streaming))
	read(t, ask(t.Context(), TypedAgent[M](setup(t, says(same, d.answer("done")), []tool.BaseTool{k.tool()})), streaming))
	keys := map[string]bool{}
	for _, of := range k.keys {
		require.Len(t, of, 3)
		for _, key := range of {
			keys[key] = true
		}
	}
	require.Len(t, keys, 6, "each turn of each run has its own")
	require.NotContains(t, keys, "")
	require.Empty(t, GetIdempotencyKey(t.Context()))
}

// A tool that is called again, because a run was resumed twice, say, can see that it is the same call.
func TestIdempotencyKey_TheSameWhenTheCallIsRepeated(t *testing.T) {
	for _, durability := range []Durability{OnInterrupt, EveryStep} {
		matrix(t, func(t *testing.T, streaming bool) { testKeyOfRepeated[ordinary](t, streaming, durability) },
			func(t *testing.T, streaming bool) { testKeyOfRepeated[agentic](t, streaming, durability) })
	}
}

func testKeyOfRepeated[M MessageType](t *testing.T, streaming bool, durability Durability) {
	d := dialectOf[M]()
	k := newKeeper()
	m := says(d.answer("", wanted{"note", "1", "x"}), d.answer("", wanted{"note", "2", "ask"}), d.answer("done"))
	r := NewTypedRunner(TypedRunnerConfig[M]{Agent: setup(t, m, []tool.BaseTool{k.tool()}), EnableStreaming: streaming,
		CheckPointStore: checkpoint.NewMemoryStore(), Durability: durability})
	all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	for range 2 { // it stops again, and continues
		point := all[len(all)-1].Action.Interrupted.InterruptContexts[0].ID
		targets := map[string]any{}
		if len(k.keys["ask"]) > 1 {
			targets[point] = "yes"
		}
		it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: targets})
		require.NoError(t, err)
		all = read(t, it)
	}
	require.Equal(t, "assistant: done", d.line(all[len(all)-1].message))
	require.Len(t, k.keys["ask"], 3)
	require.Equal(t, []string{k.keys["ask"][0], k.keys["ask"][0], k.keys["ask"][0]}, k.keys["ask"])
	require.NotEqual(t, k.keys["ask"][0], k.keys["x"][0])
}

// What an agent inside a tool call does by itself is part of that call; its own calls have keys of their own.
func TestIdempotencyKey_InsideAgentTools(t *testing.T) {
	d := &chatDialect
	k := newKeeper()
	peek := &scripted[Message]{answers: [][]Message{{d.answer("", wanted{"note", "1", "inner"})},
		{d.answer("inner done")}}}
	peek.hook = func(ctx context.Context, _ int, _ []Message) error { k.note(ctx, "model"); return nil }
	inner := setup(t, model.BaseChatModel(peek), []tool.BaseTool{k.tool()})
	start := &toolFunc{"start", func(ctx context.Context, args string) (string, error) {
		k.note(ctx, "outer")
		drainAll(t, inner.Run(ctx, &AgentInput{Messages: []Message{d.answer("do")}}))
		k.note(ctx, "outer")
		return "", nil
	}}
	drainAll(t,
		ask(t.Context(), Agent(setup(t, says(d.answer("", wanted{"start", "1", ""}), d.answer("done")),
			[]tool.BaseTool{start})), false))
	outer := k.keys["outer"][0]
	require.NotEmpty(t, outer)
	require.Equal(t, []string{outer, outer}, k.keys["outer"])
	require.Equal(t, []string{outer, outer}, k.keys["model"])
	require.NotEqual(t, outer, k.keys["inner"][0])
	require.NotEmpty(t, k.keys["inner"][0])
}

// The ID of a run is the application's: another tenant may have it, too, and so may a later run.
//
// Rule distributed/F13.
func TestIdempotencyKey_DiffersBetweenRunsWithOneID(t *testing.T) {
	k := newKeeper()
	d := dialectOf[ordinary]()
	agent := func() Agent {
		return setup(t, says(d.answer("", wanted{"note", "1", "pay"}), d.answer("done")), []tool.BaseTool{k.tool()})
	}
	shared := checkpoint.NewMemoryStore()
	pay := func(store CheckPointStore, opts ...AgentRunOption) {
		t.Helper()
		runner := NewRunner(t.Context(), RunnerConfig{Agent: agent(), CheckPointStore: store, Durability: EveryStep})
		for e := range runner.Query(t.Context(), "pay", append(opts, WithCheckPointID("invoice"))...).All() {
			require.NoError(t, e.Err)
		}
	}
	pay(checkpoint.Scope(shared, "acme"))
	pay(checkpoint.Scope(shared, "globex"))
	pay(checkpoint.Scope(shared, "acme"), WithRestart()) // is meant as a new run
	pay(checkpoint.NewMemoryStore())
	keys := map[string]bool{}
	for _, key := range k.keys["pay"] {
		keys[key] = true
	}
	require.Len(t, k.keys["pay"], 4)
	require.Len(t, keys, 4)
}
