package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

func TestGraph_BuildErrors(t *testing.T) {
	ok := func(context.Context, string) (string, error) { return END, nil }
	state := func(context.Context) *counters { return &counters{} }
	pre := WithStatePreHandler(func(_ context.Context, in string, _ *counters) (string, error) { return in, nil })
	cases := []struct {
		rule, want string
		build      func(g *Graph[string, string]) error
		opts       []NewGraphOption
	}{
		{rule: "compose/B-1", want: "node 'end' is reserved, cannot add manually",
			build: func(g *Graph[string, string]) error { return g.AddLambdaNode(END, suffix("")) }},
		{rule: "compose/B-1", want: "node 'start' is reserved, cannot add manually",
			build: func(g *Graph[string, string]) error { return g.AddPassthroughNode(START) }},
		{rule: "compose/B-1", want: "node 'n' already present", build: func(g *Graph[string, string]) error {
			_ = g.AddLambdaNode("n", suffix(""))
			return g.AddLambdaNode("n", suffix(""))
		}},
		{rule: "compose/B-4", want: "edge start node 'a' needs to be added to graph first",
			build: func(g *Graph[string, string]) error { return g.AddEdge("a", END) }},
		{rule: "compose/B-4", want: "edge end node 'a' needs to be added to graph first",
			build: func(g *Graph[string, string]) error { return g.AddEdge(START, "a") }},
		{rule: "compose/B-4", want: "END cannot be a start node",
			build: func(g *Graph[string, string]) error { return g.AddEdge(END, "a") }},
		{rule: "compose/B-4", want: "START cannot be an end node",
			build: func(g *Graph[string, string]) error { return g.AddEdge("a", START) }},
		{rule: "compose/B-4", want: "branch start node 'a' needs to be added to graph first",
			build: func(g *Graph[string, string]) error {
				return g.AddBranch("a", NewGraphBranch(ok, map[string]bool{END: true}))
			}},
		{rule: "compose/B-4", want: "branch end node 'b' needs to be added to graph first",
			build: func(g *Graph[string, string]) error {
				return g.AddBranch(START, NewGraphBranch(ok, map[string]bool{"b": true}))
			}},
		{rule: "compose/B-5", want: "control edge[start]-[n] have been added yet",
			build: func(g *Graph[string, string]) error {
				_ = g.AddLambdaNode("n", suffix(""))
				_ = g.AddEdge(START, "n")
				return g.AddEdge(START, "n")
			}},
		{rule: "compose/B-6", want: "only chain support node key option",
			build: func(g *Graph[string, string]) error { return g.AddLambdaNode("n", suffix(""), WithNodeKey("k")) }},
		{rule: "compose/B-7", want: "node 'n' needs state but graph state is not enabled",
			build: func(g *Graph[string, string]) error { return g.AddLambdaNode("n", suffix(""), pre) }},
		{rule: "compose/B-7",
			want:  "node[n]'s pre handler state type[*compose.counters] is different from graph[*compose.propState]",
			build: func(g *Graph[string, string]) error { return g.AddLambdaNode("n", suffix(""), pre) },
			opts:  []NewGraphOption{WithGenLocalState(func(context.Context) *propState { return nil })}},
		{rule: "compose/B-8", want: "node[n]'s pre handler type[string] is different from its input type[int]",
			opts: []NewGraphOption{WithGenLocalState(state)},
			build: func(g *Graph[string, string]) error {
				return g.AddLambdaNode("n", InvokableLambda(func(context.Context, int) (string, error) { return "", nil }), pre)
			}},
		{rule: "compose/B-8",
			want:  "node[n]'s pre handler type[string] is different from its input type[map[string]interface {}]",
			opts:  []NewGraphOption{WithGenLocalState(state)},
			build: func(g *Graph[string, string]) error { return g.AddLambdaNode("n", suffix(""), pre, WithInputKey("k")) }},
		{rule: "compose/B-8", want: "node[n]'s post handler type[int] is different from its output type[string]",
			opts: []NewGraphOption{WithGenLocalState(state)},
			build: func(g *Graph[string, string]) error {
				return g.AddLambdaNode("n", suffix(""),
					WithStatePostHandler(func(_ context.Context, out int, _ *counters) (int, error) { return out, nil }))
			}},
		{rule: "compose/B-8", want: "passthrough node[n]'s pre handler type isn't any",
			opts:  []NewGraphOption{WithGenLocalState(state)},
			build: func(g *Graph[string, string]) error { return g.AddPassthroughNode("n", pre) }},
		{rule: "compose/T-1",
			want: "graph edge[start]-[n]: start node's output type[string] and end node's input type[int] mismatch",
			build: func(g *Graph[string, string]) error {
				_ = g.AddLambdaNode("n", InvokableLambda(func(context.Context, int) (string, error) { return "", nil }))
				return g.AddEdge(START, "n")
			}},
		{rule: "compose/T-2", want: "condition's input type[int] and start node[start]'s output type[string] are mismatched",
			build: func(g *Graph[string, string]) error {
				return g.AddBranch(START, NewGraphBranch(func(context.Context, int) (string, error) { return END, nil },
					map[string]bool{END: true}))
			}},
	}
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			g := NewGraph[string, string](c.opts...)
			first := c.build(g)
			requireError(t, first, c.want, c.rule)
			// The first error sticks (rule compose/B-2).
			require.Equal(t, first, g.AddLambdaNode("other", suffix("")))
			_, err := g.Compile(context.Background())
			require.Equal(t, first, err)
		})
	}
}

// Rules compose/B-9, compose/B-11, compose/B-12, compose/T-4.
func TestGraph_CompileRefusesBadGraphs(t *testing.T) {
	ctx := context.Background()
	g := NewGraph[string, string]()
	_, err := g.Compile(ctx)
	requireError(t, err, "start node not set")
	require.NoError(t, g.AddLambdaNode("n", suffix("")))
	require.NoError(t, g.AddEdge(START, "n"))
	_, err = g.Compile(ctx)
	requireError(t, err, "end node not set")
	require.NoError(t, g.AddEdge("n", END))
	_, err = g.Compile(ctx, WithNodeTriggerMode(AllPredecessor), WithMaxRunSteps(5))
	require.EqualError(t, err, "cannot set max run steps in dag mode")
	_, err = g.Compile(ctx, WithNodeTriggerMode("sometimes"))
	require.Error(t, err)

	loop := NewGraph[string, string]()
	for _, k := range []string{"a", "b"} {
		require.NoError(t, loop.AddLambdaNode(k, suffix(k)))
	}
	for _, e := range [][2]string{{START, "a"}, {"a", "b"}, {"b", "a"}, {"b", END}} {
		require.NoError(t, loop.AddEdge(e[0], e[1]))
	}
	_, err = loop.Compile(ctx, WithNodeTriggerMode(AllPredecessor))
	require.ErrorIs(t, err, DAGInvalidLoopErr)
	require.ErrorContains(t, err, "DAG is invalid, has loop: [a->b->a]")
	_, err = loop.Compile(ctx)
	require.NoError(t, err, "the same graph may go by steps")

	untyped := NewGraph[string, string]()
	require.NoError(t, untyped.AddLambdaNode("n", suffix("")))
	require.NoError(t, untyped.AddPassthroughNode("p"))
	line(t, untyped, "n")
	_, err = untyped.Compile(ctx)
	requireError(t, err, "some node's input or output types cannot be inferred: [p]")
}

// Rule compose/B-3.
func TestGraph_CompiledGraphsDoNotChange(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n", suffix("n")))
	line(t, g, "n")
	r := compiled[string, string](t, g)
	require.ErrorIs(t, g.AddLambdaNode("m", suffix("m")), ErrGraphCompiled)
	require.ErrorIs(t, g.AddEdge("n", "n"), ErrGraphCompiled)
	require.ErrorIs(t, g.AddBranch("n", nil), ErrGraphCompiled)
	again := compiled[string, string](t, g, WithGraphName("again"))
	forms4(t, r, "x", "xn")
	forms4(t, again, "x", "xn")
}

// Rule compose/B-13.
func TestGraph_UnknownKeysAreIgnored(t *testing.T) {
	for _, opts := range modes {
		g := NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("n", suffix("n")))
		line(t, g, "n")
		unknown := []string{"nobody", ""}
		r := compiled[string, string](t, g, append(opts, WithInterruptBeforeNodes(unknown), WithInterruptAfterNodes(unknown),
			WithFanInMergeConfig(map[string]FanInMergeConfig{"nobody": {StreamMergeWithSourceEOF: true}}))...)
		forms4(t, r, "x", "xn")
	}
}

// A nested graph is compiled with what its node says, and has nothing of the options of the graph around it.
// Rule compose/B-14.
func TestGraph_NestedGraphsInheritNoOptions(t *testing.T) {
	// It takes twelve steps, has a node that the lists name, and its result depends on the trigger mode.
	inner := NewGraph[string, string]()
	require.NoError(t, inner.AddLambdaNode("n", suffix("n")))
	require.NoError(t, inner.AddLambdaNode("late", suffix("l")))
	require.NoError(t, inner.AddEdge(START, "n"))
	require.NoError(t, inner.AddBranch("n", NewGraphBranch(func(_ context.Context, in string) (string, error) {
		if len(in) > 12 {
			return "late", nil
		}
		return "n", nil
	}, map[string]bool{"n": true, "late": true})))
	require.NoError(t, inner.AddEdge("late", END))
	nest := func(opts ...GraphAddNodeOpt) *Graph[string, string] {
		g := NewGraph[string, string]()
		require.NoError(t, g.AddGraphNode("sub", inner, opts...))
		line(t, g, "sub")
		return g
	}
	const result = "xnnnnnnnnnnnnl"
	ownLimit := WithGraphCompileOptions(WithMaxRunSteps(13), WithGraphName("inner"))
	forms4(t, compiled[string, string](t, nest(ownLimit), WithMaxRunSteps(1),
		WithInterruptBeforeNodes([]string{"n"}), WithInterruptAfterNodes([]string{"n", "late"})), "x", result)
	forms4(t, compiled[string, string](t, nest(ownLimit), WithNodeTriggerMode(AllPredecessor)), "x", result)
	for _, err := range fails(t, compiled[string, string](t, nest(), WithMaxRunSteps(100)), "x") {
		require.ErrorIs(t, err, ErrExceedMaxSteps, "two nodes: twelve steps")
		require.ErrorContains(t, err, "node path: [sub]")
	}
	// Its own options are checked when the outer graph is compiled.
	_, err := nest(WithGraphCompileOptions(WithNodeTriggerMode(AllPredecessor))).Compile(context.Background())
	require.ErrorIs(t, err, DAGInvalidLoopErr)
	_, err = compiled[string, string](t, nest(ownLimit, WithGraphCompileOptions(WithInterruptAfterNodes([]string{"n"})))).
		Invoke(context.Background(), "x")
	require.Equal(t, []string{"n"}, interrupted(t, err).SubGraphs["sub"].AfterNodes)
}

// Nodes, lambdas and graphs hold nothing of the graph that they are in. A name belongs to one node and is "" by
// default.
// Rules compose/N-3, compose/B22.5.
func TestGraph_SharedPartsDoNotInterfere(t *testing.T) {
	shared := suffix("s")
	inner := NewChain[string, string]()
	inner.AppendLambda(shared)
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("a", shared, WithNodeName("A")))
	require.NoError(t, g.AddLambdaNode("b", shared, WithNodeName("B")))
	require.NoError(t, g.AddGraphNode("c", inner))
	require.NoError(t, g.AddGraphNode("d", inner))
	line(t, g, "a", "b", "c", "d")
	var names []string
	r := compiled[string, string](t, g)
	_, err := r.Invoke(context.Background(), "x",
		WithCallbacks(onStart(func(name string) { names = append(names, name) })))
	require.NoError(t, err)
	require.Equal(t, []string{"", "A", "B", "", "", "", ""}, names)
	forms4(t, r, "x", "xssss")
}

type named interface{ Name() string }

type person string

func (p person) Name() string { return string(p) }

// Rules compose/T-3, compose/T-7, compose/B22.8.
func TestGraph_ChecksInterfacesAtRun(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("any", InvokableLambda(func(_ context.Context, in string) (any, error) {
		switch in {
		case "nil":
			return nil, nil
		case "int":
			return 7, nil
		}
		return person(in), nil
	})))
	require.NoError(t, g.AddLambdaNode("named", InvokableLambda(func(_ context.Context, in named) (string, error) {
		if in == nil {
			return "nobody", nil
		}
		return in.Name(), nil
	})))
	line(t, g, "any", "named")
	r := compiled[string, string](t, g)
	forms4(t, r, "Ann", "Ann")
	forms4(t, r, "nil", "nobody") // a nil passes the check where the target can be nil
	for _, err := range fails(t, r, "int") {
		require.ErrorContains(t, err, "runtime type check fail, expected type: <nil>, actual type: int")
	}
}

// Rule compose/T-4.
func TestGraph_InfersTheTypesOfPassthroughs(t *testing.T) {
	g := NewGraph[string, string]()
	for _, k := range []string{"p", "q", "r"} {
		require.NoError(t, g.AddPassthroughNode(k))
	}
	require.NoError(t, g.AddLambdaNode("n", suffix("n")))
	// In an order that gives the middle its type last.
	require.NoError(t, g.AddEdge("p", "q"))
	require.NoError(t, g.AddEdge("q", "r"))
	require.NoError(t, g.AddEdge("r", "n"))
	require.NoError(t, g.AddEdge("n", END))
	require.NoError(t, g.AddEdge(START, "p"))
	forms4(t, compiled[string, string](t, g), "x", "xn")

	branched := NewGraph[string, string]()
	require.NoError(t, branched.AddPassthroughNode("p"))
	require.NoError(t, branched.AddPassthroughNode("q"))
	require.NoError(t, branched.AddBranch("p",
		NewGraphBranch(func(context.Context, int) (string, error) { return "q", nil }, map[string]bool{"q": true})))
	require.Error(t, branched.AddEdge(START, "p"), "the branch gave the passthrough its type")
}

// Rule compose/T-8.
func TestGraph_TypedNilsAreValues(t *testing.T) {
	type ptr = *counters
	g := NewGraph[ptr, map[string]any]()
	pass := InvokableLambda(func(_ context.Context, in ptr) (ptr, error) { return in, nil })
	require.NoError(t, g.AddLambdaNode("a", pass))
	require.NoError(t, g.AddLambdaNode("b", pass, WithOutputKey("k")))
	line(t, g, "a", "b")
	forms4(t, compiled[ptr, map[string]any](t, g), nil, map[string]any{"k": ptr(nil)})
}

// Rules compose/N-1, compose/N-2.
func TestGraph_KeysWrapAndUnwrapValues(t *testing.T) {
	g := NewGraph[map[string]any, map[string]any]()
	require.NoError(t, g.AddLambdaNode("n", suffix("n"), WithInputKey("in"), WithOutputKey("out")))
	require.NoError(t, g.AddPassthroughNode("p", WithInputKey("out"), WithOutputKey("end")))
	line(t, g, "n", "p")
	r := compiled[map[string]any, map[string]any](t, g)
	forms4(t, r, map[string]any{"in": "x", "other": 1}, map[string]any{"end": "xn"})
	_, err := r.Invoke(context.Background(), map[string]any{"other": 1})
	require.ErrorContains(t, err, "cannot find input key: in")
	_, err = r.Stream(context.Background(), map[string]any{"other": 1})
	require.ErrorContains(t, err, "stream reader is empty, concat fail")
	_, err = r.Stream(context.Background(), map[string]any{"in": 1})
	require.ErrorContains(t, err, "key[in]'s value type[int] isn't expected type[string]")
	// In a stream the chunks without the key are dropped.
	s, err := r.Transform(context.Background(),
		schema.StreamReaderFromArray([]map[string]any{{"other": 1}, {"in": "a"}, {"in": "b"}}))
	require.NoError(t, err)
	out, err := concatStream(s)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"end": "abn"}, out)
}

// A key makes that side of the node a map, for every check of types.
// Rule compose/T-5.
func TestGraph_KeysChangeTheTypes(t *testing.T) {
	connect := func(build func(g *Graph[string, string]) error) error {
		g := NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("keyed", suffix(""), WithInputKey("in"), WithOutputKey("out")))
		return build(g)
	}
	for want, build := range map[string]func(g *Graph[string, string]) error{
		"graph edge[start]-[keyed]: start node's output type[string] and end node's input type[map[string]interface {}] mismatch": func(g *Graph[string, string]) error {
			return g.AddEdge(START, "keyed")
		},
		"graph edge[keyed]-[end]: start node's output type[map[string]interface {}] and end node's input type[string] mismatch": func(g *Graph[string, string]) error {
			return g.AddEdge("keyed", END)
		},
		"condition's input type[string] and start node[keyed]'s output type[map[string]interface {}] are mismatched": func(
			g *Graph[string, string],
		) error {
			return g.AddBranch("keyed", NewGraphBranch(choose(END), map[string]bool{END: true}))
		},
	} {
		requireError(t, connect(build), want)
	}
	// A passthrough with keys needs no neighbour to give it its type; a nested graph has them, too.
	inner := NewGraph[string, string]()
	require.NoError(t, inner.AddEdge(START, END))
	g := NewGraph[kv, kv]()
	require.NoError(t, g.AddPassthroughNode("p", WithInputKey("a"), WithOutputKey("b")))
	require.NoError(t, g.AddGraphNode("sub", inner, WithInputKey("b"), WithOutputKey("c")))
	line(t, g, "p", "sub")
	forms4(t, compiled[kv, kv](t, g), kv{"a": "x"}, kv{"c": "x"})
}

// Rule compose/X-3.
func TestGraph_LimitsItsSteps(t *testing.T) {
	loop := func(opts ...GraphCompileOption) Runnable[int, int] {
		g := NewGraph[int, int]()
		require.NoError(t, g.AddLambdaNode("n",
			InvokableLambda(func(_ context.Context, in int) (int, error) { return in - 1, nil })))
		require.NoError(t, g.AddEdge(START, "n"))
		require.NoError(t, g.AddBranch("n", NewGraphBranch(func(_ context.Context, in int) (string, error) {
			if in > 0 {
				return "n", nil
			}
			return END, nil
		}, map[string]bool{"n": true, END: true})))
		return compiled[int, int](t, g, opts...)
	}
	run := func(r Runnable[int, int], n int, opts ...Option) error {
		_, err := r.Invoke(context.Background(), n, opts...)
		return err
	}
	require.NoError(t, run(loop(), 11), "one node: 11 steps")
	require.ErrorIs(t, run(loop(), 12), ErrExceedMaxSteps)
	require.NoError(t, run(loop(WithMaxRunSteps(3)), 3))
	require.ErrorIs(t, run(loop(WithMaxRunSteps(3)), 4), ErrExceedMaxSteps)
	require.NoError(t, run(loop(), 30, WithRuntimeMaxSteps(5), WithRuntimeMaxSteps(30)), "the last one counts")
	require.NoError(t, run(loop(), 5, WithRuntimeMaxSteps(30), WithRuntimeMaxSteps(-1)), "the last positive one counts")

	dag := NewGraph[string, string]()
	require.NoError(t, dag.AddLambdaNode("n", suffix("n")))
	line(t, dag, "n")
	_, err := compiled[string, string](t, dag, WithNodeTriggerMode(AllPredecessor)).Invoke(context.Background(), "x",
		WithRuntimeMaxSteps(5))
	require.ErrorContains(t, err, "cannot set max run steps in dag")
}

// Rules compose/X-9, compose/X-10.
func TestGraph_EndsAtTheFirstResultOrFailsWithoutOne(t *testing.T) {
	ran := false
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("a", suffix("a")))
	require.NoError(t, g.AddLambdaNode("b",
		InvokableLambda(func(_ context.Context, in string) (string, error) { ran = true; return in, nil })))
	for _, e := range [][2]string{{START, "a"}, {"a", END}, {"a", "b"}, {"b", END}} {
		require.NoError(t, g.AddEdge(e[0], e[1]))
	}
	forms4(t, compiled[string, string](t, g), "x", "xa")
	require.False(t, ran, "END was reached before")

	stuck := NewGraph[string, string]()
	require.NoError(t, stuck.AddLambdaNode("a", suffix("a")))
	require.NoError(t, stuck.AddEdge(START, "a"))
	require.NoError(t, stuck.AddBranch("a",
		NewGraphMultiBranch(func(context.Context, string) (map[string]bool, error) { return nil, nil },
			map[string]bool{END: true})))
	for _, err := range fails(t, compiled[string, string](t, stuck), "x") {
		requireError(t, err, "[GraphRunError] no tasks to execute, last completed nodes: [a]")
	}
	atStart := NewGraph[string, string]()
	require.NoError(t, atStart.AddBranch(START,
		NewGraphMultiBranch(func(context.Context, string) (map[string]bool, error) { return nil, nil },
			map[string]bool{END: true})))
	for _, err := range fails(t, compiled[string, string](t, atStart), "x") {
		requireError(t, err, "[GraphRunError] no tasks to execute after graph start")
	}
}

// Rules compose/X-16, schema/X5, compose/B22.8, compose/B22.27.
func TestGraph_MergesTheValuesOfSeveralNodes(t *testing.T) {
	two := func(a, b any) Runnable[string, any] {
		g := NewGraph[string, any]()
		for k, v := range map[string]any{"a": a, "b": b} {
			require.NoError(t, g.AddLambdaNode(k, InvokableLambda(func(context.Context, string) (any, error) { return v, nil })))
			require.NoError(t, g.AddEdge(START, k))
			require.NoError(t, g.AddEdge(k, END))
		}
		return compiled[string, any](t, g)
	}
	invoke := func(a, b any) (any, error) { return two(a, b).Invoke(context.Background(), "x") }
	out, err := invoke(map[string]int{"a": 1}, map[string]int{"b": 2})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a": 1, "b": 2}, out)
	_, err = invoke(map[string]any{"k": 1}, map[string]any{"k": 2})
	require.ErrorContains(t, err, "(values merge map) duplicated key ('k') found")
	_, err = invoke("a", "b")
	require.ErrorContains(t, err, "(mergeValues) unsupported type: string")
	_, err = invoke(map[string]int{}, map[string]any{})
	require.ErrorContains(t, err, "(values merge map) field type mismatch. expected: '")
	out, err = invoke(nil, map[string]any{"b": 2})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"b": 2}, out, "a nil is no value to merge")
	out, err = invoke(nil, nil)
	require.NoError(t, err)
	require.Nil(t, out)

	type merged struct{ text string }
	require.PanicsWithValue(t, "compose: nil function registered to merge values of compose.merged",
		func() { RegisterValuesMergeFunc[merged](nil) })
	RegisterValuesMergeFunc(func(vs []merged) (merged, error) {
		var texts []string
		for _, v := range vs {
			texts = append(texts, v.text)
		}
		return merged{strings.Join(texts, "+")}, nil
	})
	g := NewGraph[string, merged]()
	for _, k := range []string{"c", "a", "b"} {
		require.NoError(t, g.AddLambdaNode(k,
			InvokableLambda(func(_ context.Context, in string) (merged, error) { return merged{in + k}, nil })))
	}
	for _, k := range []string{"a", "b", "c"} {
		require.NoError(t, g.AddEdge(START, k))
		require.NoError(t, g.AddEdge(k, END))
	}
	r := compiled[string, merged](t, g)
	for range 20 {
		out, err := r.Invoke(context.Background(), "")
		require.NoError(t, err)
		require.Equal(t, merged{"c+a+b"}, out, "values are merged in the order in which the nodes were added")
	}
}

// Rule compose/X-17.
func TestGraph_InterleavesTheStreamsOfSeveralNodes(t *testing.T) {
	build := func(a, b *Lambda, opts ...GraphCompileOption) Runnable[string, any] {
		g := NewGraph[string, any]()
		require.NoError(t, g.AddLambdaNode("a", a))
		require.NoError(t, g.AddLambdaNode("b", b))
		for _, k := range []string{"a", "b"} {
			require.NoError(t, g.AddEdge(START, k))
			require.NoError(t, g.AddEdge(k, END))
		}
		return compiled[string, any](t, g, opts...)
	}
	_, err := build(suffix(""), suffix("")).Stream(context.Background(), "x")
	require.ErrorContains(t, err, "(mergeValues | stream type) unsupported chunk type: string")
	_, err = build(suffix(""), keyedSuffix("k")).Stream(context.Background(), "x")
	require.ErrorContains(t, err, "(mergeStream) chunk type mismatch. expect: string, got: map[string]interface {}")

	s, err := build(keyedSuffix("a"), keyedSuffix("b"), WithFanInMergeConfig(map[string]FanInMergeConfig{
		END: {StreamMergeWithSourceEOF: true}, "unknown": {},
	})).Stream(context.Background(), "x")
	require.NoError(t, err)
	defer s.Close()
	ended := map[string]bool{}
	for {
		_, err := s.Recv()
		if err == io.EOF {
			break
		}
		if name, ok := schema.GetSourceName(err); ok {
			ended[name] = true
		}
	}
	require.Equal(t, map[string]bool{"a": true, "b": true}, ended)
}

// A node that no branch chose is skipped, and so is what only it leads to; a direct edge beside a branch wins.
// Rules compose/X-18, compose/X-20, compose/X-21, compose/X-22, compose/X-23, compose/B22.12.
func TestGraph_Skipping(t *testing.T) {
	for _, steps := range []bool{false, true} {
		opts := []GraphCompileOption{WithNodeTriggerMode(AllPredecessor)}
		if steps {
			opts = append(opts, WithEagerExecutionDisabled())
		}
		choose := func(keys ...string) GraphMultiBranchCondition[string] {
			return func(context.Context, string) (map[string]bool, error) {
				chosen := map[string]bool{}
				for _, k := range keys {
					chosen[k] = true
				}
				return chosen, nil
			}
		}
		build := func(chosen ...string) Runnable[string, string] {
			g := NewGraph[string, string]()
			for _, k := range []string{"a", "b", "c", "d"} {
				require.NoError(t, g.AddLambdaNode(k, suffix(k)))
			}
			require.NoError(t, g.AddEdge(START, "a"))
			require.NoError(t, g.AddBranch("a", NewGraphMultiBranch(choose(chosen...), map[string]bool{"b": true, "c": true})))
			require.NoError(t, g.AddEdge("b", "d"))
			require.NoError(t, g.AddEdge("c", END))
			require.NoError(t, g.AddEdge("d", END))
			return compiled[string, string](t, g, opts...)
		}
		forms4(t, build("b"), "x", "xabd")
		forms4(t, build("c"), "x", "xac")
		for _, err := range fails(t, build(), "x") {
			require.ErrorContains(t, err, "no tasks to execute")
		}

		direct := NewGraph[string, string]()
		for _, k := range []string{"a", "b", "c"} {
			require.NoError(t, direct.AddLambdaNode(k, suffix(k)))
		}
		require.NoError(t, direct.AddEdge(START, "a"))
		require.NoError(t, direct.AddEdge("a", "b"))
		require.NoError(t, direct.AddBranch("a", NewGraphMultiBranch(choose(), map[string]bool{"b": true, "c": true})))
		require.NoError(t, direct.AddEdge("c", "b"))
		require.NoError(t, direct.AddEdge("b", END))
		// the edge wins over the branch that does not choose b
		forms4(t, compiled[string, string](t, direct, opts...), "x", "xab")
	}
}

// An output goes to every successor and to every condition, each with a stream of its own; a single successor
// gets the very reader. What a node sends where no data goes is dropped, and closed.
// Rule compose/X-15.
func TestGraph_RoutesOutputsToNodesAndConditions(t *testing.T) {
	for mode, opts := range modes {
		t.Run(mode, func(t *testing.T) {
			var source *schema.StreamReader[string]
			var closed <-chan struct{}
			first := func(_ context.Context, s *schema.StreamReader[string]) (string, error) {
				defer s.Close()
				v, err := s.Recv()
				require.Contains(t, []string{"1", "123"}, v, "the first chunk, or the only one of a run of values")
				return "b", err
			}
			all := func(_ context.Context, in string) (string, error) {
				require.Equal(t, "123", in)
				return "c", nil
			}
			emits := StreamableLambda(func(context.Context, string) (*schema.StreamReader[string], error) {
				source, closed = tracked("1", "2", "3")
				return source, nil
			})
			g := NewGraph[string, kv]()
			require.NoError(t, g.AddLambdaNode("s", emits))
			for _, k := range []string{"a", "b", "c"} {
				require.NoError(t, g.AddLambdaNode(k, keyedSuffix(k)))
				require.NoError(t, g.AddEdge(k, END))
			}
			require.NoError(t, g.AddEdge(START, "s"))
			require.NoError(t, g.AddEdge("s", "a"))
			require.NoError(t, g.AddBranch("s", NewStreamGraphBranch(first, map[string]bool{"b": true})))
			require.NoError(t, g.AddBranch("s", NewGraphBranch(all, map[string]bool{"c": true})))
			forms4(t, compiled[string, kv](t, g, opts...), "x", kv{"a": "123a", "b": "123b", "c": "123c"})
			<-closed

			one := NewGraph[string, string]()
			require.NoError(t, one.AddLambdaNode("s", emits))
			require.NoError(t, one.AddLambdaNode("n",
				TransformableLambda(func(_ context.Context, in *schema.StreamReader[string]) (*schema.StreamReader[string], error) {
					require.Same(t, source, in, "a copy for a single reader")
					return in, nil
				})))
			line(t, one, "s", "n")
			s, err := compiled[string, string](t, one, opts...).Stream(context.Background(), "x")
			require.NoError(t, err)
			require.Same(t, source, s)
			require.Equal(t, []string{"1", "2", "3"}, readAll(t, s))

			// A dependency and a workflow's branch carry no data.
			wf := NewWorkflow[string, string]()
			wf.AddLambdaNode("s", emits).AddInput(START)
			wf.AddLambdaNode("after", suffix("!")).AddInputWithOptions(START, nil, WithNoDirectDependency()).AddDependency("s")
			wf.AddBranch("s", NewStreamGraphBranch(func(_ context.Context, s *schema.StreamReader[string]) (string, error) {
				s.Close()
				return "after", nil
			}, map[string]bool{"after": true}))
			wf.End().AddInput("after")
			forms4(t, compiled[string, string](t, wf), "x", "x!")
			<-closed
		})
	}
}

// Joins of ways that are taken and ways that are not.
// Rules compose/X-21, compose/X-22, compose/X-24.
func TestGraph_JoinsTakenAndSkippedPaths(t *testing.T) {
	node := func(g *Graph[string, kv], keys ...string) {
		for _, k := range keys {
			require.NoError(t, g.AddLambdaNode(k, InvokableLambda(func(_ context.Context, in kv) (kv, error) {
				out := kv{k: true}
				for key := range in {
					out[key] = true
				}
				return out, nil
			})))
		}
	}
	edges := func(g *Graph[string, kv], es ...[2]string) {
		for _, e := range es {
			require.NoError(t, g.AddEdge(e[0], e[1]))
		}
	}
	branch := func(g *Graph[string, kv], from string, chosen []string, ends ...string) {
		can := map[string]bool{}
		for _, e := range ends {
			can[e] = true
		}
		require.NoError(t, g.AddBranch(from, NewGraphMultiBranch(func(context.Context, kv) (map[string]bool, error) {
			set := map[string]bool{}
			for _, k := range chosen {
				set[k] = true
			}
			return set, nil
		}, can)))
	}
	ran := func(keys ...string) kv {
		out := kv{}
		for _, k := range keys {
			out[k] = true
		}
		return out
	}
	cases := []struct {
		name  string
		build func(g *Graph[string, kv])
		want  kv // the nodes whose outputs END gets; nil: several with the same key, which do not merge
	}{
		{"a chosen and a skipped way into a node", func(g *Graph[string, kv]) {
			node(g, "a", "b", "join")
			branch(g, "first", []string{"a"}, "a", "b")
			edges(g, [2]string{"a", "join"}, [2]string{"b", "join"}, [2]string{"join", END})
		}, ran("first", "a", "join")},
		{"two branches into END, the way of one of which is skipped", func(g *Graph[string, kv]) {
			node(g, "a", "b", "c")
			branch(g, "first", []string{"a"}, "a", "b")
			branch(g, "a", []string{END}, END, "c")
			branch(g, "b", []string{END}, END, "c")
			edges(g, [2]string{"c", END})
		}, ran("first", "a")},
		{"several branches on a node, each with a choice of its own", func(g *Graph[string, kv]) {
			node(g, "a", "b", "c", "join")
			branch(g, "first", []string{"a"}, "a", "b", "c")
			branch(g, "first", []string{"b"}, "a", "b", "c")
			edges(g, [2]string{"a", "join"}, [2]string{"b", "join"}, [2]string{"c", "join"}, [2]string{"join", END})
		}, nil},
		{"one branch chooses what another does not", func(g *Graph[string, kv]) {
			node(g, "a", "b")
			branch(g, "first", []string{"a"}, "a", "b")
			branch(g, "first", nil, "a", "b")
			edges(g, [2]string{"a", END}, [2]string{"b", END})
		}, ran("first", "a")},
		{"a branch behind a branch", func(g *Graph[string, kv]) {
			node(g, "a", "b", "c", "d", "join")
			branch(g, "first", []string{"a"}, "a", "b")
			branch(g, "a", []string{"d"}, "c", "d")
			edges(g, [2]string{"b", "join"}, [2]string{"c", "join"}, [2]string{"d", "join"}, [2]string{"join", END})
		}, ran("first", "a", "d", "join")},
		{"a whole skipped subtree beside a live edge", func(g *Graph[string, kv]) {
			node(g, "a", "b", "c", "d", "join")
			branch(g, "first", nil, "a")
			edges(g, [2]string{"a", "b"}, [2]string{"a", "c"}, [2]string{"b", "join"}, [2]string{"c", "join"})
			edges(g, [2]string{"first", "d"}, [2]string{"d", "join"}, [2]string{"join", END})
		}, ran("first", "d", "join")},
	}
	for mode, opts := range modes {
		for _, c := range cases {
			t.Run(mode+"/"+c.name, func(t *testing.T) {
				g := NewGraph[string, kv]()
				require.NoError(t, g.AddLambdaNode("first",
					InvokableLambda(func(context.Context, string) (kv, error) { return ran("first"), nil })))
				require.NoError(t, g.AddEdge(START, "first"))
				c.build(g)
				r := compiled[string, kv](t, g, opts...)
				if c.want == nil {
					_, err := r.Invoke(context.Background(), "x")
					require.ErrorContains(t, err, "duplicated key ('first')", "a and b ran, and joined")
					return
				}
				forms4(t, r, "x", c.want)
			})
		}
	}
}

// Rules compose/R-3, compose/R-4.
func TestGraph_ReportsErrorsOfBranches(t *testing.T) {
	build := func(b *GraphBranch) Runnable[string, string] {
		g := NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("n", suffix("")))
		require.NoError(t, g.AddEdge(START, "n"))
		require.NoError(t, g.AddBranch("n", b))
		return compiled[string, string](t, g)
	}
	ends := map[string]bool{END: true}
	for want, b := range map[string]*GraphBranch{
		"[GraphRunError] calculate next step fail, node: n, error: branch invoke run error: boom": NewGraphBranch(func(
			context.Context, string,
		) (string, error) {
			return "", errBoom
		}, ends),
		"[GraphRunError] calculate next step fail, node: n, error: branch collect run error: boom": NewStreamGraphBranch(func(
			_ context.Context, s *schema.StreamReader[string],
		) (string, error) {
			s.Close()
			return "", errBoom
		}, ends),
		"[GraphRunError] calculate next step fail, node: n, error: branch invocation returns unintended end node: x": NewGraphBranch(func(context.Context, string) (string, error) {
			return "x", nil
		}, ends),
	} {
		for _, err := range fails(t, build(b), "x") {
			requireError(t, err, want)
		}
	}
	b := NewGraphBranch(func(context.Context, string) (string, error) { return END, nil }, ends)
	b.GetEndNode()["other"] = true
	require.Equal(t, map[string]bool{END: true}, b.GetEndNode(), "the caller got the branch's own map")
	false2 := NewGraphMultiBranch(func(context.Context, string) (map[string]bool, error) {
		return map[string]bool{END: false}, nil
	}, ends)
	forms4(t, build(false2), "x", "x") // the keys count, not the values
}

// ErrorLine says all of an error on one line.
func TestErrorLine_OneLine(t *testing.T) {
	failed := nodeError("outer", nodeError("n", errBoom))
	for want, err := range map[string]error{
		"":                                    nil,
		"boom":                                errBoom,
		"[GraphRunError] boom":                graphError(errBoom),
		"[NodeRunError] boom, node path: [n]": nodeError("n", errBoom),
		"[NodeRunError] boom, node path: [outer, n]":                     failed,
		"agent 'a': [NodeRunError] boom, node path: [outer, n]: gave up": fmt.Errorf("agent 'a': %w: gave up", failed),
		"boom; [NodeRunError] boom, node path: [outer, n]":               errors.Join(errBoom, failed),
		"one; two": errors.New("one\r\n\n  two\n"),
		"[NodeRunError] panic error: boom, node path: [n]": nodeError("n", safe.NewPanicError(errBoom, []byte("a\nb"))),
	} {
		require.Equal(t, want, ErrorLine(err))
	}
}

// Rules compose/E-1, compose/E-2, compose/B22.13.
func TestErrors_NameThePathOfTheNode(t *testing.T) {
	deep := NewGraph[string, string]()
	require.NoError(t, deep.AddLambdaNode("n",
		InvokableLambda(func(context.Context, string) (string, error) { return "", errBoom })))
	line(t, deep, "n")
	mid := NewGraph[string, string]()
	require.NoError(t, mid.AddGraphNode("deep", deep))
	line(t, mid, "deep")
	g := NewGraph[string, string]()
	require.NoError(t, g.AddGraphNode("mid", mid))
	line(t, g, "mid")
	for _, err := range fails(t, compiled[string, string](t, g), "x") {
		require.EqualError(t, err, "[NodeRunError] boom\n------------------------\nnode path: [mid, deep, n]")
		var failed *RunError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, []string{"mid", "deep", "n"}, failed.Path())
		require.Equal(t, NodeRunError, failed.Kind())
		require.Equal(t, errBoom, errors.Unwrap(err))
	}

	// Text that a node puts around the error of a graph that it runs stays, and the inner error is not changed.
	innerRun := compiled[string, string](t, deep)
	var innerErr error
	outer := NewGraph[string, string]()
	require.NoError(t, outer.AddLambdaNode("o", InvokableLambda(func(ctx context.Context, in string) (string, error) {
		_, innerErr = innerRun.Invoke(ctx, in)
		return "", fmt.Errorf("OUTER: %w", innerErr)
	})))
	line(t, outer, "o")
	_, err := compiled[string, string](t, outer).Invoke(context.Background(), "x")
	require.ErrorContains(t, err, "OUTER")
	require.ErrorContains(t, err, "node path: [o, n]")
	require.ErrorIs(t, err, errBoom)
	require.NotContains(t, innerErr.Error(), "o, n")
}

// Rules compose/S-2, compose/S-3, compose/S-4.
func TestState_IsFoundByItsType(t *testing.T) {
	type iface interface{ get() int }
	ctx := context.Background()
	require.EqualError(t, ProcessState(ctx, func(context.Context, *counters) error { return nil }),
		"get state from context fail: have not set state")

	inner := NewGraph[string, string](WithGenLocalState(func(context.Context) *propState { return &propState{} }))
	require.NoError(t, inner.AddLambdaNode("i", InvokableLambda(func(ctx context.Context, in string) (string, error) {
		err := ProcessState(ctx, func(_ context.Context, s *counters) error { s.Pre++; return nil }) // of the outer graph
		if err == nil {
			err = ProcessState(ctx, func(_ context.Context, s *propState) error { s.Pres = append(s.Pres, in); return nil })
		}
		missing := ProcessState(ctx, func(context.Context, iface) error { return nil })
		require.ErrorContains(t, missing,
			"cannot find state with type: compose.iface in states chain, current state type: *compose.propState")
		return in, err
	})))
	line(t, inner, "i")
	var state *counters
	g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters { state = &counters{}; return state }))
	require.NoError(t, g.AddGraphNode("sub", inner))
	line(t, g, "sub")
	r := compiled[string, string](t, g)
	_, err := r.Invoke(ctx, "x")
	require.NoError(t, err)
	require.Equal(t, 1, state.Pre)
}

// The holder of the state of a nested graph may use the state of the graph around it.
// Rule compose/S-3.
func TestState_TheOuterStateIsReachedUnderTheInnerLock(t *testing.T) {
	count := func(ctx context.Context) error {
		return ProcessState(ctx, func(_ context.Context, s *counters) error { s.Pre++; return nil })
	}
	inner := NewGraph[string, string](WithGenLocalState(func(context.Context) *propState { return &propState{} }))
	require.NoError(t, inner.AddLambdaNode("i", InvokableLambda(func(ctx context.Context, in string) (string, error) {
		return in, ProcessState(ctx, func(ctx context.Context, _ *propState) error { return count(ctx) })
	}), WithStatePreHandler(func(ctx context.Context, in string, _ *propState) (string, error) { return in, count(ctx) })))
	line(t, inner, "i")
	g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters { return &counters{} }))
	require.NoError(t, g.AddGraphNode("sub", inner,
		WithStatePostHandler(func(_ context.Context, out string, s *counters) (string, error) {
			return fmt.Sprint(out, s.Pre), nil
		})))
	line(t, g, "sub")
	forms4(t, compiled[string, string](t, g), "x", "x2")
}

// Rules compose/S-5, compose/S-6.
func TestState_HandlersChangeInputsAndOutputs(t *testing.T) {
	build := func(opts ...GraphAddNodeOpt) Runnable[string, string] {
		g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters { return &counters{} }))
		require.NoError(t, g.AddLambdaNode("n", streamSuffix("n"), opts...))
		line(t, g, "n")
		return compiled[string, string](t, g)
	}
	count := func(_ context.Context, in string, s *counters) (string, error) {
		s.Pre++
		return fmt.Sprint(in, s.Pre), nil
	}
	stream := func(_ context.Context, in *schema.StreamReader[string], s *counters) (*schema.StreamReader[string], error) {
		s.Post++
		return schema.StreamReaderWithConvert(in, func(c string) (string, error) { return c + "s", nil }), nil
	}
	forms4(t, build(WithStatePreHandler(count), WithStatePostHandler(count)), "x", "x1n2")
	forms4(t, build(WithStreamStatePreHandler(stream), WithStreamStatePostHandler(stream)), "x", "xsns")
	for _, err := range fails(t,
		build(WithStatePreHandler(func(context.Context, string, *counters) (string, error) { return "", errBoom })), "x") {
		require.EqualError(t, err,
			"[NodeRunError] run node[n] pre processor fail: boom\n------------------------\nnode path: [n]")
	}
	for _, err := range fails(t,
		build(WithStatePostHandler(func(context.Context, string, *counters) (string, error) { return "", errBoom })), "x") {
		require.EqualError(t, err,
			"[NodeRunError] run node[n] post processor fail: boom\n------------------------\nnode path: [n]")
	}
	g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters { return &counters{} }))
	require.NoError(t, g.AddPassthroughNode("p",
		WithStatePreHandler(func(_ context.Context, in any, _ *counters) (any, error) { return in.(string) + "!", nil }),
		WithStreamStatePostHandler(func(
			_ context.Context, out *schema.StreamReader[any], _ *counters,
		) (*schema.StreamReader[any], error) {
			return out, nil
		})))
	line(t, g, "p")
	forms4(t, compiled[string, string](t, g), "x", "x!")
}
