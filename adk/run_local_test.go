package adk

import (
	"context"
	"encoding/gob"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

type (
	registered   struct{ N *int }
	unregistered struct{ N int }
	moody        struct{ bad bool } // whether it can be saved depends on the value
	mixed        struct{ V any }
)

func (m moody) GobEncode() ([]byte, error) {
	if m.bad {
		return nil, errBroken
	}
	return []byte{1}, nil
}

func (m *moody) GobDecode([]byte) error { return nil }

func init() {
	schema.RegisterName[*registered]("adk_test_registered")
	schema.RegisterName[[]*registered]("adk_test_registered_list")
	schema.RegisterName[moody]("adk_test_moody")
	schema.RegisterName[mixed]("adk_test_mixed")
}

// inRun calls f in a hook of a run.
func inRun[M MessageType](t *testing.T, f func(ctx context.Context)) {
	t.Helper()
	h := &hooked[M]{beforeModel: func(
		ctx context.Context, s *TypedChatModelAgentState[M], _ *TypedModelContext[M],
	) (context.Context, *TypedChatModelAgentState[M], error) {
		f(ctx)
		return ctx, s, nil
	}}
	all := read(t, bare(t.Context(), setup(t, says(dialectOf[M]().answer("done")), nil, with[M](h)), false))
	require.NoError(t, all[len(all)-1].Err)
}

// TestRunLocal_Values: what can be kept, and what the error says about what cannot. A value that could be saved says
// nothing about others of its type that may not: each is probed when it is set.
// Rule agent/RL-1.
func TestRunLocal_Values(t *testing.T) {
	t.Run("ordinary", testRunLocal[ordinary])
	t.Run("agentic", testRunLocal[agentic])
}

func testRunLocal[M MessageType](t *testing.T) {
	itself := map[string]any{}
	itself["k"] = itself
	inRun[M](t, func(ctx context.Context) {
		for i, c := range []struct {
			value any
			good  bool
		}{
			{1, true}, {"text", true}, {math.MaxInt64, true}, {[]string{"a"}, true}, {map[string]any{"k": []any{1}}, true},
			{time.Now(), true}, {&registered{}, true}, {&registered{N: new(int)}, true}, {(*registered)(nil), false},
			{[]*registered{{}}, true}, {[]*registered{nil}, false}, {moody{}, true}, {moody{bad: true}, false},
			{mixed{1}, true}, {mixed{unregistered{}}, false}, {mixed{}, true},
			{unregistered{1}, false}, {unregistered{1}, false}, {func() {}, false}, {make(chan int), false}, {nil, true},
			{map[string]any{"k": func() {}}, false}, {itself, false},
		} {
			key := fmt.Sprint(i)
			err := SetRunLocalValue(ctx, key, c.value)
			v, ok, getErr := GetRunLocalValue(ctx, key)
			require.NoError(t, getErr)
			require.Equal(t, c.good, ok, "%d %T: %v", i, c.value, err)
			if c.good {
				require.NoError(t, err)
				require.Equal(t, c.value, v)
				continue
			}
			for _, part := range []string{"SetRunLocalValue failed", "not gob-serializable", fmt.Sprintf("%T", c.value),
				"schema.RegisterName", "context.WithValue"} {
				require.ErrorContains(t, err, part, "%d %T", i, c.value)
			}
		}
		require.NoError(t, SetRunLocalValue(ctx, "0", "other"))
		v, ok, err := GetRunLocalValue(ctx, "0")
		require.Equal(t, []any{"other", true, nil}, []any{v, ok, err})
		require.NoError(t, DeleteRunLocalValue(ctx, "0"))
		require.NoError(t, DeleteRunLocalValue(ctx, "0"))
		v, ok, err = GetRunLocalValue(ctx, "0")
		require.Equal(t, []any{nil, false, nil}, []any{v, ok, err})
	})
}

// TestRunLocal_Places: where values can be had, and where not.
// Rule agent/H-3.
func TestRunLocal_Places(t *testing.T) {
	bubbled(t, testRunLocalPlaces[ordinary], testRunLocalPlaces[agentic])
}

func testRunLocalPlaces[M MessageType](t *testing.T, streaming bool) {
	require.ErrorContains(t, SetRunLocalValue(t.Context(), "k", 1), "SetRunLocalValue failed")
	_, _, err := GetRunLocalValue(t.Context(), "k")
	require.ErrorContains(t, err, "GetRunLocalValue failed")
	require.ErrorContains(t, DeleteRunLocalValue(t.Context(), "k"), "DeleteRunLocalValue failed")

	d := dialectOf[M]()
	var inner, outer []error
	before := func(errs *[]error) *hooked[M] {
		return &hooked[M]{beforeAgent: func(
			ctx context.Context, rc *ChatModelAgentContext,
		) (context.Context, *ChatModelAgentContext, error) {
			_, _, err := GetRunLocalValue(ctx, "k")
			*errs = append(*errs, err, SetRunLocalValue(ctx, "k", "from BeforeAgent"))
			return ctx, rc, nil
		},
			beforeModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
				_ *TypedModelContext[M],
			) (context.Context, *TypedChatModelAgentState[M], error) {
				v, ok, err := GetRunLocalValue(ctx, "k")
				require.NoError(t, err)
				if ok && v == "from BeforeAgent" {
					*errs = append(*errs, nil)
				}
				return ctx, s, SetRunLocalValue(ctx, "k", "of the run")
			}}
	}
	nested := setup[M](t, says(d.answer("done")), nil, with[M](before(&inner)))
	var seen any
	nests := &toolFunc{"t", func(ctx context.Context, _ string) (string, error) {
		read(t, bare(ctx, nested, streaming))
		v, _, err := GetRunLocalValue(ctx, "k")
		seen = v
		return "ok", err
	}}
	m := says(d.answer("", wanted{"t", "1", ""}), d.answer("done"))
	require.Len(t, read(t, bare(t.Context(), setup(t, m, []tool.BaseTool{nests}, with[M](before(&outer))), streaming)), 3)
	require.Equal(t, "of the run", seen, "a run in a tool has values of its own")
	for _, errs := range [][]error{outer, inner} { // rule agent/H-3: not in BeforeAgent, nor the values of the run around
		require.Len(t, errs, 2)
		require.Error(t, errs[0])
		require.Error(t, errs[1])
	}
}

// TestRunLocal_Concurrent: tools of one message use them at once.
func TestRunLocal_Concurrent(t *testing.T) {
	matrix(t, testRunLocalRace[ordinary], testRunLocalRace[agentic])
}

func testRunLocalRace[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	writes := &toolFunc{"t", func(ctx context.Context, args string) (string, error) {
		for range 100 {
			if err := SetRunLocalValue(ctx, args, args); err != nil {
				return "", err
			}
			if _, _, err := GetRunLocalValue(ctx, "n0"); err != nil {
				return "", err
			}
		}
		return "ok", TypedSendEvent(ctx, &TypedAgentEvent[M]{})
	}}
	var calls []wanted
	for i := range 16 {
		calls = append(calls, wanted{"t", fmt.Sprint(i), fmt.Sprint("n", i)})
	}
	found := 0
	h := &hooked[M]{afterToolCalls: func(
		ctx context.Context, s *TypedChatModelAgentState[M], _ *ToolCallsContext,
	) (context.Context, *TypedChatModelAgentState[M], error) {
		for i := range 16 {
			if v, ok, err := GetRunLocalValue(ctx, fmt.Sprint("n", i)); err == nil && ok && v == fmt.Sprint("n", i) {
				found++
			}
		}
		return ctx, s, nil
	}}
	a := setup(t, says(d.answer("", calls...), d.answer("done")), []tool.BaseTool{writes}, with[M](h))
	require.Len(t, read(t, bare(t.Context(), a, streaming)), 1+2*16+1)
	require.Equal(t, 16, found)
}

// TestSendEvent_WhoMaySendAndWhen: who may send events, and what happens to those that come too late.
// Rules agent/H-3, agent/SE-1, agent/SE-2.
func TestSendEvent_WhoMaySendAndWhen(t *testing.T) {
	bubbled(t, testSendEvent[ordinary], testSendEvent[agentic])
}

func testSendEvent[M MessageType](t *testing.T, streaming bool) {
	const outside = "TypedSendEvent failed: must be called within a ChatModelAgent Run() or Resume() execution context"
	d := dialectOf[M]()
	own := &TypedAgentEvent[M]{AgentName: "mine"}
	require.EqualError(t, TypedSendEvent(t.Context(), own), outside)

	var orphan sync.WaitGroup
	var late error
	sends := &toolFunc{"t", func(ctx context.Context, _ string) (string, error) {
		orphan.Go(func() {
			time.Sleep(time.Hour)
			late = TypedSendEvent(ctx, own)
		})
		require.ErrorContains(t, TypedSendEvent[M](ctx, nil), "the event is nil")
		wrong := wrongKind[M](ctx)
		require.EqualError(t, wrong, outside)
		return "ok", TypedSendEvent(ctx, own)
	}}
	begins := &hooked[M]{beforeAgent: func(
		ctx context.Context, rc *ChatModelAgentContext,
	) (context.Context, *ChatModelAgentContext, error) {
		return ctx, rc, TypedSendEvent(ctx, own) // rule agent/H-3
	}}
	a := setup(t, says(d.answer("", wanted{"t", "1", ""}), d.answer("done")), []tool.BaseTool{sends}, with[M](begins))
	all := read(t, bare(t.Context(), a, streaming))
	require.Equal(t, []string{"no message", "assistant: [t#1 ]", "no message", "tool t#1: ok", ended}, linesOf(all))
	require.Same(t, own, all[0].TypedAgentEvent, "as given")
	orphan.Wait()
	require.NoError(t, late)
	synctest.Wait()
}

// wrongKind sends an event of the other kind of message.
func wrongKind[M MessageType](ctx context.Context) error {
	var none M
	if _, ordinary := any(none).(*schema.Message); ordinary {
		return TypedSendEvent(ctx, &TypedAgentEvent[AgenticMessage]{})
	}
	return SendEvent(ctx, &AgentEvent{})
}

// TestRunLocal_ProbesOnce: a type whose values can all be saved is probed once; one that holds an interface is
// probed each time, because the next value may hold anything.
// Rule agent/B19.9.
func TestRunLocal_ProbesOnce(t *testing.T) {
	type gobOnly struct{ N int }
	gob.Register(gobOnly{})
	require.ErrorContains(t, probeSaving(gobOnly{1}), "schema.RegisterName", "what a run is saved with does not know it")

	type plain struct{ N int }
	schema.RegisterName[plain]("_test_run_local_plain")
	require.NoError(t, probeSaving(plain{1}))
	var value any = plain{2}
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = probeSaving(value) }))

	type holder struct{ V any }
	schema.RegisterName[holder]("_test_run_local_holder")
	require.NoError(t, probeSaving(holder{1}))
	require.Error(t, probeSaving(holder{func() {}}))
}
