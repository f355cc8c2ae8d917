package compose

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var updatePictures = flag.Bool("update", false, "write the golden files of pictures")

// requirePicture holds the pictures of a graph against those in testdata/pictures.
func requirePicture(t *testing.T, name string, info *GraphInfo) {
	t.Helper()
	for ending, text := range map[string]string{".mmd": info.Mermaid(), ".dot": info.DOT()} {
		file := "testdata/pictures/" + name + ending
		if *updatePictures {
			require.NoError(t, os.MkdirAll("testdata/pictures", 0o755))
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), text, "%s: go test ./compose -run Picture -update", file)
	}
}

func choosing(many bool, keys ...string) *GraphBranch {
	ends := map[string]bool{}
	for _, key := range keys {
		ends[key] = true
	}
	if many {
		return NewGraphMultiBranch(func(context.Context, string) (map[string]bool, error) { return ends, nil }, ends)
	}
	return NewGraphBranch(func(context.Context, string) (string, error) { return keys[0], nil }, ends)
}

func pictured(t *testing.T, g AnyGraph) *GraphInfo {
	t.Helper()
	info, err := Describe(g)
	require.NoError(t, err)
	require.Equal(t, info.Mermaid(), info.Mermaid(), "the same picture each time")
	return info
}

// loopOf has two branches at one node, a cycle and a passthrough.
func loopOf(t *testing.T) *Graph[string, string] {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("try", suffix("."), WithNodeName("attempt")))
	require.NoError(t, g.AddPassthroughNode("again"))
	require.NoError(t, g.AddLambdaNode("log", suffix("")))
	require.NoError(t, g.AddEdge(START, "try"))
	require.NoError(t, g.AddBranch("try", choosing(false, "again", END)))
	require.NoError(t, g.AddBranch("try", choosing(true, "log", END)))
	require.NoError(t, g.AddEdge("again", "try"))
	require.NoError(t, g.AddEdge("log", "again"))
	return g
}

func TestPicture_ShowsBranchesAndCycles(t *testing.T) {
	requirePicture(t, "loop", pictured(t, loopOf(t)))
}

func TestPicture_FramesNestedGraphs(t *testing.T) {
	g := NewGraph[string, map[string]any]()
	deeper := NewChain[string, string]().AppendGraph(loopOf(t), WithNodeKey("loop")).AppendLambda(suffix("!"))
	require.NoError(t, g.AddGraphNode("first", deeper, WithNodeName("The first")))
	require.NoError(t, g.AddGraphNode("second", NewChain[string, string]().AppendLambda(suffix("?")),
		WithOutputKey("out")))
	line(t, g, "first", "second")
	requirePicture(t, "nested", pictured(t, g))
}

func TestPicture_CallsTheChoicesOfAChainByTheirNames(t *testing.T) {
	c := NewChain[string, string]().
		AppendBranch(NewChainBranch(func(context.Context, string) (string, error) { return "yes", nil }).
			AddLambda("yes", suffix("y")).
			AddLambda("no", suffix("n"), WithNodeKey("refuse"))).
		AppendPassthrough().
		AppendParallel(NewParallel().AddLambda("a", suffix("a")).AddLambda("b", suffix("b"))).
		AppendLambda(suffix("c"), WithInputKey("a"))
	requirePicture(t, "chain", pictured(t, c))
}

func TestPicture_ShowsWhatAWorkflowTakesAndWhatItWaitsFor(t *testing.T) {
	type order struct {
		Item  string
		Price struct{ Net int }
	}
	pass := func() *Lambda {
		return InvokableLambda(func(_ context.Context, in map[string]any) (map[string]any, error) { return in, nil })
	}
	wf := NewWorkflow[order, map[string]any]()
	wf.AddLambdaNode("take", pass()).
		AddInput(START, MapFields("Item", "item"), MapFieldPaths(FieldPath{"Price", "Net"}, FieldPath{"bill", "net"}))
	wf.AddLambdaNode("check", pass()).AddInput("take")
	wf.AddLambdaNode("ship", pass()).
		AddInputWithOptions("take", []*FieldMapping{ToField("order")}, WithNoDirectDependency())
	wf.AddLambdaNode("refuse", pass()).
		AddInputWithOptions("take", []*FieldMapping{ToField("order", WithCustomExtractor(
			func(any) (any, error) { return 0, nil }))}, WithNoDirectDependency())
	wf.AddLambdaNode("mail", pass()).AddDependency("ship")
	wf.AddBranch("check", NewGraphBranch(func(context.Context, map[string]any) (string, error) { return "ship", nil },
		map[string]bool{"ship": true, "refuse": true}))
	wf.End().AddInput("ship", ToField("shipped")).AddInput("refuse", MapFields("why", "refused")).AddDependency("mail")
	requirePicture(t, "workflow", pictured(t, wf))
}

func TestPicture_KeepsKeysThatMeanSomethingElsewhere(t *testing.T) {
	g := NewGraph[string, string]()
	keys := []string{"graph", "subgraph", "START", "Ünïcode \"quoted\"", "a[b]{c}<br/>", "two\nlines",
		"a b", "a_b", "%%"}
	for _, key := range keys {
		require.NoError(t, g.AddLambdaNode(key, suffix("")))
	}
	line(t, g, keys...)
	requirePicture(t, "keys", pictured(t, g))
}

func TestPicture_OfADescriptionMadeByHand(t *testing.T) {
	info := &GraphInfo{
		Nodes:     map[string]GraphNodeInfo{"b": {}, "a": {}, "alone": {}, "c": {}},
		Edges:     map[string][]string{START: {"b", "missing"}, "alone": {"c"}, "b": {"a"}},
		DataEdges: map[string][]string{"b": {"a"}},
	}
	require.Equal(t, `flowchart TD
    n_start(["START"])
    n_b["b"]
    n_a["a"]
    n_alone["alone"]
    n_c["c"]
    n_end(["END"])
    n_start -.-> n_b
    n_b --> n_a
    n_alone -.-> n_c
`, info.Mermaid())
	require.Contains(t, (&GraphInfo{}).Mermaid(), "START")
}

func TestDescribe_ChecksAsCompileDoes(t *testing.T) {
	_, err := Describe(nil)
	require.EqualError(t, err, "Describe: the graph is nil")
	_, err = Describe((*Graph[string, string])(nil))
	require.EqualError(t, err, "Describe: the graph is nil")
	_, err = Describe(NewGraph[string, string]())
	require.ErrorContains(t, err, "start node not set")

	g := loopOf(t)
	info, err := Describe(g, WithGraphName("loop"), WithGraphCompileCallbacks(onCompile(func(*GraphInfo) { t.Fatal() })))
	require.NoError(t, err)
	require.Equal(t, "loop", info.Name)
	require.ErrorIs(t, g.AddEdge("log", END), ErrGraphCompiled)
	r := compiled[string, string](t, g)
	again, ok := GraphInfoOf(r)
	require.True(t, ok)
	require.Equal(t, info.Mermaid(), again.Mermaid())

	var none Runnable[string, string]
	_, ok = GraphInfoOf(none)
	require.False(t, ok)
	_, ok = GraphInfoOf[string, string](struct{ Runnable[string, string] }{r})
	require.False(t, ok, "what wraps a compiled graph is not one")
}
