package compose

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

type batchState struct{ Done map[string]string }

func init() { schema.RegisterName[*batchState]("_weft_compose_test_batch") }

// batch is a lambda that runs three processes of its own under its own kind of address; each asks once.
func batch() *Lambda {
	process := func(ctx context.Context, name string) (string, error) {
		was, _, _ := GetInterruptState[any](ctx)
		target, has, answer := GetResumeContext[string](ctx)
		switch {
		case has:
			return name + answer, nil
		case was && target:
			return name + "(no data)", nil
		}
		return "", Interrupt(ctx, "ask "+name)
	}
	return InvokableLambda(func(ctx context.Context, _ string) (string, error) {
		state := &batchState{Done: map[string]string{}}
		if _, has, saved := GetInterruptState[*batchState](ctx); has {
			state = saved
		}
		var errs []error
		for _, name := range []string{"p", "q", "r"} {
			if _, done := state.Done[name]; done {
				continue
			}
			out, err := process(AppendAddressSegment(ctx, "process", name), name)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			state.Done[name] = out
		}
		if len(errs) > 0 {
			return "", CompositeInterrupt(ctx, nil, state, errs...)
		}
		return state.Done["p"] + state.Done["q"] + state.Done["r"], nil
	})
}

// Rules compose/S21.5, compose/U-5.
func TestInterrupt_ABatchResumesInParts(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("batch", batch()))
	line(t, g, "batch")
	forEachRunKind(t, func(t *testing.T, call caller) {
		r := compiled[string, string](t, g, WithCheckPointStore(newStore()))
		open := func(err error) map[string]string {
			ids := map[string]string{}
			for _, ic := range interrupted(t, err).InterruptContexts {
				require.True(t, ic.IsRootCause)
				ids[ic.Address.String()] = ic.ID
			}
			return ids
		}
		_, err := call(r, context.Background(), WithCheckPointID("id"))
		ids := open(err)
		require.Equal(t, []string{"runnable:;node:batch;process:p", "runnable:;node:batch;process:q",
			"runnable:;node:batch;process:r"}, sortedKeys(ids))
		// One with data, one without, in two calls on one context.
		ctx := ResumeWithData(context.Background(), ids["runnable:;node:batch;process:p"], "!")
		ctx = Resume(ctx, ids["runnable:;node:batch;process:r"])
		_, err = call(r, ctx, WithCheckPointID("id"))
		ids = open(err)
		require.Equal(t, []string{"runnable:;node:batch;process:q"}, sortedKeys(ids))
		out, err := call(r, ResumeWithData(context.Background(), ids["runnable:;node:batch;process:q"], "?"),
			WithCheckPointID("id"))
		require.NoError(t, err)
		require.Equal(t, "p!q?r(no data)", out)
	})
}

// Rules compose/I-1, compose/I-2, compose/I-3.
func TestInterrupt_ErrorsAreRecognised(t *testing.T) {
	ctx := AppendAddressSegment(context.Background(), AddressSegmentNode, "n")
	step := AddressSegment{Type: "process", ID: "p"}

	// Rule compose/I-3.
	for _, c := range []struct {
		err  error
		info any
		is   bool
	}{
		{InterruptAndRerun, nil, true},
		{fmt.Errorf("wrapped: %w", NewInterruptAndRerunErr("info")), "info", true},
		{fmt.Errorf("wrapped: %w", Interrupt(ctx, 7)), 7, true},
		{errBoom, nil, false},
		{nil, nil, false},
	} {
		info, is := IsInterruptRerunError(c.err)
		require.Equal(t, c.is, is)
		require.Equal(t, c.info, info)
	}

	// Rule compose/I-2.
	addressed := Interrupt(ctx, "x")
	require.Same(t, addressed, WrapInterruptAndRerunIfNeeded(ctx, step, addressed))
	other := WrapInterruptAndRerunIfNeeded(ctx, step, errBoom)
	require.EqualError(t, other, "failed to wrap error as addressed InterruptAndRerun: boom")
	require.ErrorIs(t, other, errBoom)
	for _, legacy := range []error{InterruptAndRerun, NewInterruptAndRerunErr("x")} {
		wrapped := WrapInterruptAndRerunIfNeeded(ctx, step, legacy)
		require.ErrorIs(t, wrapped, legacy)
		require.Equal(t, wrapped, WrapInterruptAndRerunIfNeeded(ctx, step, wrapped), "once")
		// A composite takes it, with the address it noted and an ID of its own (rule compose/I-1).
		var composite *core.InterruptSignal
		require.ErrorAs(t, CompositeInterrupt(ctx, "all", nil, wrapped), &composite)
		require.False(t, composite.IsRootCause)
		require.Len(t, composite.Subs, 1)
		require.Equal(t, "node:n;process:p", composite.Subs[0].Address.String())
		require.NotEmpty(t, composite.Subs[0].ID)
	}

	// Rule compose/I-1.
	var alone *core.InterruptSignal
	require.ErrorAs(t, CompositeInterrupt(ctx, "info", "state"), &alone)
	require.True(t, alone.IsRootCause)
	require.Equal(t, "state", alone.State)
	mixed := CompositeInterrupt(ctx, nil, nil, addressed, errBoom)
	require.EqualError(t, mixed, "composite interrupt but one of the sub error is not interrupt and rerun error: boom")
	_, is := IsInterruptRerunError(mixed)
	require.False(t, is)
}

// A node that only takes data is skipped with the node that it takes them from.
// Rule compose/X-20.
func TestWorkflow_SkipsANodeWithItsData(t *testing.T) {
	wf := NewWorkflow[string, kv]()
	wf.AddLambdaNode("a", suffix("a")).AddInputWithOptions(START, nil, WithNoDirectDependency())
	wf.AddLambdaNode("b", suffix("b")).AddInputWithOptions(START, nil, WithNoDirectDependency())
	wf.AddBranch(START, NewGraphBranch(func(_ context.Context, in string) (string, error) { return in, nil },
		map[string]bool{"a": true, "b": true}))
	ran := false
	wf.AddLambdaNode("after a", InvokableLambda(func(_ context.Context, in string) (string, error) {
		ran = true
		return in, nil
	})).AddInputWithOptions("a", nil, WithNoDirectDependency())
	wf.End().AddInput("after a", ToField("a")).AddInput("b", ToField("b"))
	r := compiled[string, kv](t, wf)
	forms4(t, r, "b", kv{"b": "bb"})
	require.False(t, ran)
	forms4(t, r, "a", kv{"a": "aa"})
	require.True(t, ran)
}
