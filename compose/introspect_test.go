package compose

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rule compose/V-1.
func TestIntrospect_CallsItsCallbacksAfterCompile(t *testing.T) {
	var order []string
	callback := func(name string) GraphCompileCallback {
		return onCompile(func(info *GraphInfo) { order = append(order, name+":"+info.Name) })
	}
	InitGraphCompileCallbacks([]GraphCompileCallback{callback("replaced")})
	InitGraphCompileCallbacks([]GraphCompileCallback{callback("global 1"), nil, callback("global 2")})
	t.Cleanup(func() { InitGraphCompileCallbacks(nil) })

	inner := NewGraph[string, string]()
	require.NoError(t, inner.AddLambdaNode("i", suffix("i")))
	line(t, inner, "i")
	g := NewGraph[string, string]()
	// Nested graphs are reported to their own callbacks as parts of the outer one only.
	require.NoError(t, g.AddGraphNode("sub", inner, WithGraphCompileOptions(WithGraphName("inner"))))
	require.NoError(t, g.AddEdge(START, "sub"))
	_, err := g.Compile(context.Background(), WithGraphName("outer"), WithGraphCompileCallbacks(callback("own 1")))
	require.Error(t, err)
	require.Empty(t, order, "only a successful compile is reported")
	g = NewGraph[string, string]()
	require.NoError(t, g.AddGraphNode("sub", inner, WithGraphCompileOptions(WithGraphName("inner"))))
	line(t, g, "sub")
	for range 2 {
		order = nil
		compiled[string, string](t, g, WithGraphName("outer"), WithGraphCompileCallbacks(callback("own 1"), nil),
			WithGraphCompileCallbacks(callback("own 2")))
		require.Equal(t, []string{"global 1:outer", "global 2:outer", "own 1:outer", "own 2:outer"}, order)
	}
	_, err = g.Compile(context.Background(), WithGraphCompileCallbacks(onCompile(func(*GraphInfo) { panic(errBoom) })))
	require.ErrorIs(t, err, errBoom)
}

// Rule compose/V-2.
func TestIntrospect_DescribesTheGraph(t *testing.T) {
	lambda := suffix("a")
	inner := NewChain[string, string]().AppendLambda(lambda)
	name := WithNodeName("A")
	state := WithGenLocalState(func(context.Context) *counters { return &counters{Pre: 7} })
	g := NewGraph[string, map[string]any](state)
	require.NoError(t, g.AddLambdaNode("a", lambda, name))
	require.NoError(t, g.AddGraphNode("sub", inner, WithOutputKey("k"), WithGraphCompileOptions(WithGraphName("inner"))))
	require.NoError(t, g.AddPassthroughNode("p"))
	require.NoError(t, g.AddPassthroughNode("q"))
	require.NoError(t, g.AddEdge(START, "a"))
	require.NoError(t, g.AddEdge("a", "sub"))
	require.NoError(t, g.AddEdge("sub", "p"))
	require.NoError(t, g.AddEdge("q", END))
	branch := func(ends ...string) *GraphBranch {
		set := map[string]bool{}
		for _, e := range ends {
			set[e] = true
		}
		return NewGraphBranch(func(context.Context, map[string]any) (string, error) { return ends[0], nil }, set)
	}
	require.NoError(t, g.AddBranch("p", branch("q", END)))
	require.NoError(t, g.AddBranch("p", branch("q")))
	graphName, steps := WithGraphName("g"), WithMaxRunSteps(9)
	info := described[string, map[string]any](t, g, graphName, steps)

	require.Equal(t, "g", info.Name)
	require.Equal(t, reflect.TypeFor[string](), info.InputType)
	require.Equal(t, reflect.TypeFor[map[string]any](), info.OutputType)
	require.Len(t, info.CompileOptions, 3, "as given, the callback's own included")
	require.Len(t, info.NewGraphOptions, 1)
	require.Equal(t, &counters{Pre: 7}, info.GenStateFn(context.Background()))
	require.Equal(t, map[string][]string{START: {"a"}, "a": {"sub"}, "sub": {"p"}, "q": {END}}, info.Edges)
	require.Equal(t, info.Edges, info.DataEdges)
	require.Len(t, info.Branches, 1)
	require.Equal(t, map[string]bool{"q": true, END: true}, info.Branches["p"][0].GetEndNode())
	require.Equal(t, map[string]bool{"q": true}, info.Branches["p"][1].GetEndNode())

	require.Len(t, info.Nodes, 4)
	a := info.Nodes["a"]
	require.Equal(t, ComponentOfLambda, a.Component)
	require.Same(t, lambda, a.Instance)
	require.Equal(t, "A", a.Name)
	require.Len(t, a.GraphAddNodeOpts, 1)
	require.Nil(t, a.GraphInfo)
	sub := info.Nodes["sub"]
	require.Equal(t, ComponentOfChain, sub.Component)
	require.Same(t, inner, sub.Instance)
	require.Equal(t, reflect.TypeFor[string](), sub.OutputType, "without the key")
	require.Equal(t, "k", sub.OutputKey)
	require.Equal(t, "inner", sub.GraphInfo.Name)
	require.Equal(t, []string{"node_0"}, sortedKeys(sub.GraphInfo.Nodes))
	require.Nil(t, sub.GraphInfo.GenStateFn)
	p := info.Nodes["p"]
	require.Equal(t, ComponentOfPassthrough, p.Component)
	require.Nil(t, p.Instance)
	require.Equal(t, reflect.TypeFor[map[string]any](), p.InputType, "inferred")

	// The maps are copies: the graph compiles and runs as before.
	clear(info.Nodes)
	clear(info.Edges)
	clear(info.Branches)
	forms4(t, compiled[string, map[string]any](t, g), "x", map[string]any{"k": "xaa"})
	require.Len(t, described[string, map[string]any](t, g).Nodes, 4)
}

// Rule compose/V-2.
func TestIntrospect_DescribesAWorkflow(t *testing.T) {
	wf := NewWorkflow[kv, kv]()
	wf.AddLambdaNode("a", InvokableLambda(func(_ context.Context, in kv) (kv, error) { return in, nil })).
		AddInput(START, MapFields("x", "y"), ToField("all"))
	wf.AddLambdaNode("b", InvokableLambda(func(_ context.Context, in kv) (kv, error) { return in, nil })).
		AddInputWithOptions(START, []*FieldMapping{MapFields("z", "z")}, WithNoDirectDependency()).
		AddInput("a", ToField("a")).
		AddDependency(START)
	wf.End().AddInput("b")
	info := described[kv, kv](t, wf)
	require.Equal(t, map[string][]string{START: {"a", "b"}, "a": {"b"}, "b": {END}}, info.Edges)
	require.Equal(t, map[string][]string{START: {"a", "b"}, "a": {"b"}, "b": {END}}, info.DataEdges)
	var texts []string
	for _, m := range append(info.Nodes["a"].Mappings, info.Nodes["b"].Mappings...) {
		texts = append(texts, m.String())
	}
	require.Equal(t, []string{
		"[from x(field) of start to y(field)]", "[from start to all(field)]",
		"[from z(field) of start to z(field)]", "[from a to a(field)]",
	}, texts)
}
