package compose

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// joinKeys turns a map of strings into one string, for what comes after a parallel.
func joinKeys(keys ...string) *Lambda {
	return InvokableLambda(func(_ context.Context, in map[string]any) (string, error) {
		var sb strings.Builder
		for _, k := range keys {
			fmt.Fprintf(&sb, "[%v]", in[k])
		}
		return sb.String(), nil
	})
}

// choose is a condition that always gives the same answer.
func choose(key string) GraphBranchCondition[string] {
	return func(context.Context, string) (string, error) { return key, nil }
}

// described compiles a graph and returns what its compile callbacks received.
func described[I, O any](t *testing.T, g interface {
	Compile(context.Context, ...GraphCompileOption) (Runnable[I, O], error)
}, opts ...GraphCompileOption) *GraphInfo {
	t.Helper()
	var info *GraphInfo
	compiled[I, O](t, g, append(opts, WithGraphCompileCallbacks(onCompile(func(i *GraphInfo) { info = i })))...)
	require.NotNil(t, info)
	return info
}

type onCompile func(info *GraphInfo)

func (f onCompile) OnFinish(_ context.Context, info *GraphInfo) { f(info) }

// Rules compose/C-1, compose/C-2.
func TestChain_NamesAndConnectsItsNodes(t *testing.T) {
	c := NewChain[string, string]()
	c.AppendLambda(suffix("a")).
		AppendLambda(suffix("b"), WithNodeKey("named")).
		AppendBranch(NewChainBranch(choose("r")).
			AddLambda("l", suffix("l")).
			AddLambda("r", suffix("r"), WithNodeKey("right"))).
		AppendPassthrough().
		AppendParallel(NewParallel().
			AddLambda("x", suffix("x")).
			AddLambda("y", suffix("y"), WithNodeKey("ypsilon"))).
		AppendLambda(joinKeys("x", "y"))
	info := described[string, string](t, c)
	require.Equal(t, []string{"named", "node_0", "node_2_branch_l", "node_3", "node_4_parallel_0", "node_5", "right",
		"ypsilon"}, sortedKeys(info.Nodes))
	require.Equal(t, map[string][]string{
		START:               {"node_0"},
		"node_0":            {"named"},
		"node_2_branch_l":   {"node_3"},
		"right":             {"node_3"},
		"node_3":            {"node_4_parallel_0", "ypsilon"},
		"node_4_parallel_0": {"node_5"},
		"ypsilon":           {"node_5"},
		"node_5":            {END},
	}, info.Edges)
	require.Len(t, info.Branches["named"], 1)
	require.Equal(t, map[string]bool{"node_2_branch_l": true, "right": true}, info.Branches["named"][0].GetEndNode(),
		"branches are described by node keys")
	forms4(t, compiled[string, string](t, c), "0", "[0abrx][0abry]")
}

func TestChain_StartsWithABranchOrParallel(t *testing.T) {
	branched := NewChain[string, string]().
		AppendBranch(NewChainBranch(choose("b")).AddLambda("a", suffix("a")).AddLambda("b", suffix("b")))
	forms4(t, compiled[string, string](t, branched), "x", "xb")
	parallel := NewChain[string, map[string]any]().
		AppendParallel(NewParallel().AddLambda("a", suffix("a")).AddLambda("b", suffix("b")))
	forms4(t, compiled[string, map[string]any](t, parallel), "x", map[string]any{"a": "xa", "b": "xb"})
}

// Rules compose/C-3, compose/C-4, compose/C-5, compose/C-6, compose/C-7, compose/B-10.
func TestChain_CompileReportsTheFirstError(t *testing.T) {
	two := func() *ChainBranch {
		return NewChainBranch(choose("a")).AddLambda("a", suffix("")).AddLambda("b", suffix(""))
	}
	both := func() *Parallel { return NewParallel().AddLambda("a", suffix("")).AddLambda("b", suffix("")) }
	number := InvokableLambda(func(_ context.Context, in int) (string, error) { return "", nil })
	type chain = *Chain[string, string]
	cases := []struct {
		rule, want string
		build      func(c chain)
	}{
		{"compose/C-3", "pre node keys not set, number of nodes in chain= 0", func(c chain) {}},
		{"compose/C-3: the first error wins", "append branch invalid, branch is nil",
			func(c chain) { c.AppendBranch(nil).AppendParallel(nil).AppendLambda(suffix("")) }},
		{"compose/C-3", "node 'same' already present", func(c chain) {
			c.AppendLambda(suffix(""), WithNodeKey("same")).AppendLambda(suffix(""), WithNodeKey("same"))
		}},
		{"compose/C-4", "append branch error: chain branch add node, duplicate branch node key= a",
			func(c chain) { c.AppendBranch(two().AddPassthrough("a")) }},
		{"compose/C-4", "append branch invalid, nodeList is empty",
			func(c chain) { c.AppendBranch(NewChainBranch(choose("a"))) }},
		{"compose/C-4", "append branch invalid, nodeList length = 1",
			func(c chain) { c.AppendBranch(NewChainBranch(choose("a")).AddLambda("a", suffix(""))) }},
		{"compose/C-4", "append branch invalid, multiple previous nodes: [node_0_branch_a node_0_branch_b] ",
			func(c chain) { c.AppendBranch(two()).AppendBranch(two()) }},
		{"compose/C-4", "add branch node[b] to chain failed: node 'k' already present", func(c chain) {
			c.AppendBranch(NewChainBranch(choose("a")).AddLambda("a", suffix(""), WithNodeKey("k")).AddLambda("b", suffix(""),
				WithNodeKey("k")))
		}},
		{"compose/C-4",
			"chain append branch failed: condition's input type[int] and start node[start]'s output type[string] are mismatched",
			func(c chain) {
				c.AppendBranch(NewChainBranch(func(context.Context, int) (string, error) { return "", nil }).AddLambda("a",
					suffix("")).AddLambda("b", suffix("")))
			}},
		{"compose/C-4",
			"chain append branch failed: graph edge[start]-[node_0_branch_b]: start node's output type[string] and end node's input type[int] mismatch", func(c chain) {
				c.AppendBranch(NewChainBranch(choose("a")).AddLambda("a", suffix("")).AddLambda("b", number))
			}},
		{"compose/C-5", "append parallel invalid, parallel is nil", func(c chain) { c.AppendParallel(nil) }},
		{"compose/C-5", "append parallel invalid, parallel error: parallel add node err, duplicate output key= a",
			func(c chain) { c.AppendParallel(both().AddLambda("a", suffix(""))) }},
		{"compose/C-5", "append parallel invalid, not enough nodes, count = 0",
			func(c chain) { c.AppendParallel(NewParallel()) }},
		{"compose/C-5", "append parallel invalid, not enough nodes, count = 1",
			func(c chain) { c.AppendParallel(NewParallel().AddLambda("a", suffix(""))) }},
		{"compose/C-5", "append parallel invalid, multiple previous nodes: [node_0_parallel_0 node_0_parallel_1] ",
			func(c chain) { c.AppendParallel(both()).AppendParallel(both()) }},
		{"compose/C-6", "append parallel invalid, multiple previous nodes: [node_0_branch_a node_0_branch_b] ",
			func(c chain) { c.AppendBranch(two()).AppendParallel(both()) }},
		{"compose/C-6", "append branch invalid, multiple previous nodes: [node_0_parallel_0 node_0_parallel_1] ",
			func(c chain) { c.AppendParallel(both()).AppendBranch(two()) }},
		{"compose/C-5", "add parallel node to chain failed, key=k, err: node 'k' already present", func(c chain) {
			c.AppendParallel(NewParallel().AddLambda("a", suffix(""), WithNodeKey("k")).AddLambda("b", suffix(""),
				WithNodeKey("k")))
		}},
		{"compose/C-5",
			"add parallel edge failed, from=start, to=node_0_parallel_1, err: graph edge[start]-[node_0_parallel_1]: start node's output type[string] and end node's input type[int] mismatch", func(c chain) {
				c.AppendParallel(NewParallel().AddLambda("a", suffix("")).AddLambda("b", number))
			}},
		{"compose/B-10", "Chain doesn't support node trigger mode option", nil},
	}
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			chain := NewChain[string, string]()
			var opts []GraphCompileOption
			if c.build == nil {
				chain.AppendLambda(suffix(""))
				opts = append(opts, WithNodeTriggerMode(AnyPredecessor))
			} else {
				c.build(chain)
			}
			_, err := chain.Compile(context.Background(), opts...)
			requireError(t, err, c.want, c.rule)
			_, again := chain.Compile(context.Background(), opts...)
			require.Equal(t, err, again, "the error sticks")
		})
	}
}

// Rules compose/C-4, compose/R-3.
func TestChain_ConditionsUseTheKeysOfTheBranch(t *testing.T) {
	build := func(cond GraphBranchCondition[string], add ...GraphAddNodeOpt) Runnable[string, string] {
		return compiled[string, string](t, NewChain[string, string]().AppendBranch(NewChainBranch(cond).
			AddLambda("a", suffix("a"), add...).
			AddLambda("b", InvokableLambda(func(context.Context, string) (string, error) { return "", errBoom }))))
	}
	named := build(choose("a"), WithNodeKey("node key"))
	forms4(t, named, "x", "xa")
	for _, wrong := range []string{"node key", "c", END, "node_0_branch_a"} {
		for _, err := range fails(t, build(choose(wrong), WithNodeKey("node key")), "x") {
			require.ErrorContains(t, err, "branch invocation returns unintended end node: "+wrong)
		}
	}
	// Errors and call options use the node keys.
	for _, err := range fails(t, build(choose("b")), "x") {
		require.ErrorContains(t, err, "node path: [node_0_branch_b]")
	}
	_, err := named.Invoke(context.Background(), "x", WithCallbacks(onStart(func(string) {})).DesignateNode("a"))
	require.ErrorContains(t, err, "option has designated an unknown node: [a]")
	starts := 0
	_, err = named.Invoke(context.Background(), "x",
		WithCallbacks(onStart(func(string) { starts++ })).DesignateNode("node key"))
	require.NoError(t, err)
	require.Equal(t, 1, starts)
}

func TestChain_EveryFormOfBranch(t *testing.T) {
	first := func(s *schema.StreamReader[string]) (string, error) {
		defer s.Close()
		return s.Recv()
	}
	branches := map[string]*ChainBranch{
		"one": NewChainBranch(func(_ context.Context, in string) (string, error) { return in, nil }),
		"many": NewChainMultiBranch(func(_ context.Context, in string) (map[string]bool, error) {
			return map[string]bool{in: true}, nil
		}),
		"one by stream": NewStreamChainBranch(func(_ context.Context, in *schema.StreamReader[string]) (string, error) {
			return first(in)
		}),
		"many by stream": NewStreamChainMultiBranch(func(
			_ context.Context, in *schema.StreamReader[string],
		) (map[string]bool, error) {
			key, err := first(in)
			return map[string]bool{key: true}, err
		}),
	}
	for name, b := range branches {
		t.Run(name, func(t *testing.T) {
			b.AddLambda("a", suffix("1"), WithOutputKey("a")).AddLambda("b", suffix("2"), WithOutputKey("b"))
			c := compiled[string, map[string]any](t, NewChain[string, map[string]any]().AppendBranch(b))
			forms4(t, c, "a", map[string]any{"a": "a1"})
			forms4(t, c, "b", map[string]any{"b": "b2"})
			for _, err := range fails(t, c, "c") {
				require.ErrorContains(t, err, "branch invocation returns unintended end node: c")
			}
		})
	}
	both := NewChainMultiBranch(func(context.Context, string) (map[string]bool, error) {
		return map[string]bool{"a": true, "b": false}, nil // keys count whatever their value (rule compose/R-3)
	}).AddLambda("a", suffix("1"), WithOutputKey("a")).AddLambda("b", suffix("2"), WithOutputKey("b"))
	forms4(t, compiled[string, map[string]any](t, NewChain[string, map[string]any]().AppendBranch(both)), "x",
		map[string]any{"a": "x1", "b": "x2"})
}

// Rule compose/C-7.
func TestChain_TheOutputKeyOfAParallelWins(t *testing.T) {
	c := NewChain[string, map[string]any]().AppendParallel(NewParallel().
		AddLambda("a", suffix("a"), WithOutputKey("other")).
		AddPassthrough("b"))
	forms4(t, compiled[string, map[string]any](t, c), "x", map[string]any{"a": "xa", "b": "x"})
}

// Two scenarios of chained interfaces: what compiles and what does not.
func TestChain_InterfacesIntoParallel(t *testing.T) {
	type reader interface{ Read() string }
	type writer interface{ Write() string }
	type both interface {
		reader
		writer
	}
	members := func() *Parallel {
		return NewParallel().
			AddLambda("r", InvokableLambda(func(_ context.Context, in reader) (string, error) { return in.Read(), nil })).
			AddLambda("w", InvokableLambda(func(_ context.Context, in writer) (string, error) { return in.Write(), nil }))
	}
	ok := NewChain[string, map[string]any]().
		AppendLambda(InvokableLambda(func(_ context.Context, in string) (both, error) { return file(in), nil })).
		AppendParallel(members())
	forms4(t, compiled[string, map[string]any](t, ok), "f", map[string]any{"r": "read f", "w": "wrote f"})
	_, err := NewChain[string, map[string]any]().AppendParallel(members()).Compile(context.Background())
	require.ErrorContains(t, err, "node_0_parallel_0")
}

type file string

func (f file) Read() string  { return "read " + string(f) }
func (f file) Write() string { return "wrote " + string(f) }

// Rule compose/C-8.
func TestChain_RunsInSteps(t *testing.T) {
	c := NewChain[string, string]()
	for range 3 {
		c.AppendLambda(suffix("a"))
	}
	forms4(t, compiled[string, string](t, c, WithMaxRunSteps(3)), "x", "xaaa")
	for _, err := range fails(t, compiled[string, string](t, c, WithMaxRunSteps(2)), "x") {
		require.ErrorIs(t, err, ErrExceedMaxSteps)
	}
}

// What was compiled keeps running, but appending later is an error of the next compile.
// Rules compose/C-8, compose/B22.19.
func TestChain_AppendingAfterCompileIsReported(t *testing.T) {
	appends := map[string]func(c *Chain[string, string]){
		"node":     func(c *Chain[string, string]) { c.AppendLambda(suffix("b")) },
		"branch":   func(c *Chain[string, string]) { c.AppendBranch(NewChainBranch(choose("a"))) },
		"parallel": func(c *Chain[string, string]) { c.AppendParallel(NewParallel()) },
	}
	for name, app := range appends {
		t.Run(name, func(t *testing.T) {
			c := NewChain[string, string]().AppendLambda(suffix("a"))
			before := compiled[string, string](t, c)
			compiled[string, string](t, c) // compiling again is fine
			app(c)
			_, err := c.Compile(context.Background())
			require.ErrorIs(t, err, ErrChainCompiled)
			forms4(t, before, "x", "xa")
		})
	}
}

// Rule compose/C-9.
func TestChain_PartsMayBeUsedManyTimes(t *testing.T) {
	inner := NewChain[string, string]().AppendLambda(suffix("i"))
	branch := NewChainBranch(choose("l")).AddGraph("l", inner).AddGraph("r", inner)
	parallel := NewParallel().AddGraph("a", inner).AddGraph("b", inner)
	build := func() *Chain[string, string] {
		return NewChain[string, string]().AppendGraph(inner).AppendBranch(branch).AppendGraph(inner).
			AppendParallel(parallel).AppendLambda(joinKeys("a", "b"))
	}
	one, two := compiled[string, string](t, build()), compiled[string, string](t, build())
	forms4(t, one, "x", "[xiiii][xiiii]")
	forms4(t, two, "x", "[xiiii][xiiii]")
	forms4(t, compiled[string, string](t, inner), "x", "xi")
}

func TestChain_NestedErrorsKeepTheirPlace(t *testing.T) {
	bad := InvokableLambda(func(context.Context, string) (string, error) { return "", errBoom })
	c := NewChain[string, string]().AppendLambda(suffix("a")).AppendGraph(NewChain[string, string]().AppendLambda(bad))
	for _, err := range fails(t, compiled[string, string](t, c), "x") {
		require.ErrorIs(t, err, errBoom)
		var at *RunError
		require.True(t, errors.As(err, &at))
		require.Equal(t, []string{"node_1", "node_0"}, at.Path())
	}
}

func TestGraph_CannotContainItself(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddGraphNode("self", g))
	line(t, g, "self")
	_, err := g.Compile(context.Background())
	require.ErrorContains(t, err, "the graph contains itself")

	outer, inner := NewChain[string, string](), NewChain[string, string]()
	outer.AppendGraph(inner)
	inner.AppendGraph(outer)
	_, err = outer.Compile(context.Background())
	require.ErrorContains(t, err, "the graph contains itself")
}
