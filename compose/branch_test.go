package compose

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/schema"
)

// Two branches on one node of type any, one of them for another type: it compiles and fails when the value is there.
// Rules compose/R-4, compose/S21.1.
func TestBranch_ChecksTheValueAtRun(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("any",
		InvokableLambda(func(_ context.Context, in string) (any, error) { return in, nil })))
	require.NoError(t, g.AddEdge(START, "any"))
	ends := map[string]bool{END: true}
	require.NoError(t, g.AddBranch("any", NewGraphBranch(choose(END), ends)))
	require.NoError(t, g.AddBranch("any",
		NewGraphBranch(func(context.Context, int) (string, error) { return END, nil }, ends)))
	r := compiled[string, string](t, g)
	for _, err := range fails(t, r, "x") {
		require.ErrorContains(t, err, "runtime type check fail, expected type: int, actual type: string")
		require.ErrorContains(t, err, "calculate next step fail, node: any, error: ")
	}
	_, err := r.Invoke(context.Background(), "x")
	require.ErrorContains(t, err, "branch[any]-[1] pre handler fail: ")
}

// Conditions run in the order they were added, with the graph's own context.
// Rule compose/R-1.
func TestBranch_RunsConditionsInTheirOrder(t *testing.T) {
	var order []string
	g := NewGraph[string, kv](WithGenLocalState(func(context.Context) *counters { return &counters{} }))
	for _, k := range []string{"a", "b"} {
		require.NoError(t, g.AddLambdaNode(k, keyedSuffix(k)))
		require.NoError(t, g.AddEdge(k, END))
		require.NoError(t, g.AddBranch(START, NewGraphBranch(func(ctx context.Context, _ string) (string, error) {
			order = append(order, k+" at "+GetCurrentAddress(ctx).String())
			return k, ProcessState(ctx, func(_ context.Context, s *counters) error { s.Pre++; return nil })
		}, map[string]bool{k: true})))
	}
	r := compiled[string, kv](t, g, WithGraphName("g"))
	for range 5 {
		order = nil
		out, err := r.Invoke(context.Background(), "x")
		require.NoError(t, err)
		require.Equal(t, kv{"a": "xa", "b": "xb"}, out)
		require.Equal(t, []string{"a at runnable:g", "b at runnable:g"}, order)
	}
}

// A stream condition owns its copy, a value condition gets the joined stream; the node after gets the chunks.
// Rule compose/R-2.
func TestBranch_GivesEachConditionItsCopy(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n", streamSuffix("-")))
	ends := map[string]bool{"n": true}
	require.NoError(t, g.AddBranch(START,
		NewStreamGraphBranch(func(_ context.Context, in *schema.StreamReader[string]) (string, error) {
			defer in.Close()
			first, err := in.Recv()
			require.Equal(t, "a", first)
			return "n", err
		}, ends)))
	require.NoError(t, g.AddBranch(START, NewGraphBranch(func(_ context.Context, in string) (string, error) {
		require.Equal(t, "ab", in)
		return "n", nil
	}, ends)))
	require.NoError(t, g.AddEdge("n", END))
	sr, closed := tracked("a", "b")
	s, err := compiled[string, string](t, g).Transform(context.Background(), sr)
	require.NoError(t, err)
	require.Equal(t, []string{"a-", "b-"}, readAll(t, s))
	<-closed
}

// A branch may begin at START and lead to END. The node it chooses gets what the branch was asked about.
// Rule compose/R-5.
func TestBranch_LeadsFromStartToEnd(t *testing.T) {
	for mode, opts := range modes {
		t.Run(mode, func(t *testing.T) {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("n", streamSuffix("n")))
			chooses := func(_ context.Context, in string) (string, error) {
				if strings.HasPrefix(in, "long") {
					return "n", nil
				}
				return END, nil
			}
			ends := map[string]bool{"n": true, END: true}
			require.NoError(t, g.AddBranch(START, NewGraphBranch(chooses, ends)))
			require.NoError(t, g.AddBranch("n", NewGraphBranch(choose(END), map[string]bool{END: true})))
			r := compiled[string, string](t, g, opts...)
			forms4(t, r, "short", "short")
			forms4(t, r, "long", "longn")
		})
	}
}

// The branch of a workflow says only what runs: the chosen node gets what it declares, here nothing.
// Rule compose/R-5.
func TestBranch_OfAWorkflowPassesNothing(t *testing.T) {
	wf := NewWorkflow[string, string]()
	wf.AddLambdaNode("chosen",
		InvokableLambda(func(_ context.Context, in string) (string, error) { return "<" + in + ">", nil }))
	wf.AddBranch(START, NewGraphBranch(choose("chosen"), map[string]bool{"chosen": true}))
	wf.End().AddInput("chosen")
	forms4(t, compiled[string, string](t, wf), "x", "<>")
}

// The state is made once a run, before the start is reported.
// Rule compose/S-1.
func TestState_IsMadeOncePerRun(t *testing.T) {
	var made atomic.Int32
	g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters {
		made.Add(1)
		return &counters{}
	}))
	require.NoError(t, g.AddLambdaNode("n", suffix("n")))
	line(t, g, "n")
	r := compiled[string, string](t, g)
	require.Zero(t, made.Load())
	forms4(t, r, "x", "xn")
	require.EqualValues(t, 4, made.Load())
}

// A checkpoint whose state is not the graph's is an error, not a state that handlers choke on.
func TestState_OfAnotherTypeInACheckpoint(t *testing.T) {
	s := newStore()
	build := func(state NewGraphOption) Runnable[string, string] {
		g := NewGraph[string, string](state)
		require.NoError(t, g.AddLambdaNode("asks", asks("?")))
		line(t, g, "asks")
		return compiled[string, string](t, g, WithCheckPointStore(s))
	}
	_, err := build(WithGenLocalState(func(context.Context) *counters { return &counters{} })).
		Invoke(context.Background(), "x", WithCheckPointID("id"))
	interrupted(t, err)
	_, err = build(WithGenLocalState(func(context.Context) *propState { return &propState{} })).
		Invoke(context.Background(), "x", WithCheckPointID("id"))
	require.ErrorContains(t, err,
		"the checkpoint has a state of type *compose.counters, the graph one of type *compose.propState")
}

// The context of a state handler has the address of its node, with what it is resumed with, but not the node's
// RunInfo: what a handler starts on it has none.
// Rule compose/S-7.
func TestState_HandlersHaveTheAddressOfTheirNode(t *testing.T) {
	forEachRunKind(t, func(t *testing.T, call caller) {
		var seen, started []string
		see := func(which string) StatePreHandler[string, *counters] {
			return func(ctx context.Context, v string, _ *counters) (string, error) {
				was, _, saved := GetInterruptState[string](ctx)
				_, _, answer := GetResumeContext[string](ctx)
				seen = append(seen, fmt.Sprint(which, " ", GetCurrentAddress(ctx), " ", was, saved, answer))
				callbacks.OnStart(ctx, which)
				return v, nil
			}
		}
		g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters { return &counters{} }))
		require.NoError(t, g.AddLambdaNode("n", asks("q"), WithNodeName("N"), WithStatePreHandler(see("pre")),
			WithStatePostHandler(StatePostHandler[string, *counters](see("post")))))
		line(t, g, "n")
		handler := callbacks.NewHandlerBuilder().OnStartFn(func(
			ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput,
		) context.Context {
			if which := fmt.Sprint(in); which == "pre" || which == "post" {
				require.Nil(t, info, "the graph's start took its own, the node's is not here")
				started = append(started, which)
			}
			return ctx
		}).Build()
		r := compiled[string, string](t, g, WithGraphName("g"), WithCheckPointStore(newStore()))
		_, err := call(r, context.Background(), WithCheckPointID("id"), WithCallbacks(handler))
		out, err := call(r, answers(t, err, func(any) any { return "!" }), WithCheckPointID("id"), WithCallbacks(handler))
		require.NoError(t, err)
		require.Equal(t, "x!", out)
		require.Equal(t, []string{"pre runnable:g;node:n false", "pre runnable:g;node:n truex!",
			"post runnable:g;node:n truex!"}, seen)
		require.Equal(t, []string{"pre", "pre", "post"}, started)
	})
}

// TestBranch_CannotInterrupt: not in a graph of its own, and not in one that is a node, which would begin again without
// its input.
func TestBranch_CannotInterrupt(t *testing.T) {
	inner := NewGraph[string, string]()
	require.NoError(t, inner.AddLambdaNode("a", suffix("a")))
	require.NoError(t, inner.AddEdge(START, "a"))
	require.NoError(t, inner.AddBranch("a", NewGraphBranch(func(ctx context.Context, _ string) (string, error) {
		return "", Interrupt(ctx, "where to?")
	}, map[string]bool{END: true})))
	outer := NewGraph[string, string]()
	require.NoError(t, outer.AddGraphNode("sub", inner))
	line(t, outer, "sub")
	for _, g := range []*Graph[string, string]{inner, outer} {
		_, err := compiled[string, string](t, g, WithCheckPointStore(newStore())).Invoke(t.Context(), "x",
			WithCheckPointID("id"))
		require.ErrorContains(t, err, "a branch cannot interrupt a run")
		_, isInterrupt := ExtractInterruptInfo(err)
		require.False(t, isInterrupt)
	}
}
