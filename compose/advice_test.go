package compose

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// requireError wants a text, behind which there may be advice. Texts without advice have to be equal.
func requireError(t *testing.T, err error, text string, msgAndArgs ...any) {
	t.Helper()
	require.Error(t, err, msgAndArgs...)
	if !strings.HasPrefix(err.Error(), text+": ") {
		require.EqualError(t, err, text, msgAndArgs...)
	}
}

// TestErrors_SayWhatToDo has the texts that a user reads who builds a graph for the first time.
func TestErrors_SayWhatToDo(t *testing.T) {
	type graphs = *Graph[string, string]
	length := InvokableLambda(func(_ context.Context, s string) (int, error) { return len(s), nil })
	message := InvokableLambda(func(_ context.Context, s string) (*schema.Message, error) { return nil, nil })
	messages := InvokableLambda(func(_ context.Context, m []*schema.Message) (string, error) { return "", nil })
	fields := InvokableLambda(func(_ context.Context, m map[string]any) (string, error) { return "", nil })
	ends := func(keys ...string) *GraphBranch { return choosing(false, keys...) }
	for _, c := range []struct {
		want  string
		build func(g graphs) error
	}{
		{"edge end node 'serach' needs to be added to graph first: the edge leads from 'start' to 'serach', and there is a " +
			"node 'search'",
			func(g graphs) error { return addAll(g.AddLambdaNode("search", suffix("")), g.AddEdge(START, "serach")) }},
		{"edge start node 'model' needs to be added to graph first: the edge leads from 'model' to 'end', and the nodes " +
			"are " +
			"'search', 'join'", func(g graphs) error {
			return addAll(g.AddLambdaNode("search", suffix("")), g.AddLambdaNode("join", suffix("")), g.AddEdge("model", END))
		}},
		{"branch end node 'model' needs to be added to graph first: the branch leads from 'start' to 'model', and no " +
			"node was " +
			"added before it", func(g graphs) error { return g.AddBranch(START, ends("model")) }},
		{"graph edge[length]-[end]: start node's output type[int] and end node's input type[string] mismatch: put a lambda " +
			"between the two that converts the value",
			func(g graphs) error { return addAll(g.AddLambdaNode("length", length), g.AddEdge("length", END)) }},
		{"graph edge[start]-[fields]: start node's output type[string] and end node's input type[map[string]interface {}] " +
			"mismatch: the node takes a map: put a passthrough with WithOutputKey between the two, which makes its input an " +
			"entry of a map",
			func(g graphs) error { return addAll(g.AddLambdaNode("fields", fields), g.AddEdge(START, "fields")) }},
		{"graph edge[a]-[fields]: start node's output type[string] and end node's input type[map[string]interface {}] " +
			"mismatch: the node takes a map: WithOutputKey at 'a' makes its output an entry of one", func(g graphs) error {
			return addAll(g.AddLambdaNode("a", suffix("")), g.AddLambdaNode("fields", fields), g.AddEdge("a", "fields"))
		}},
		{"graph edge[a]-[end]: start node's output type[map[string]interface {}] and end node's input type[string] " +
			"mismatch: " +
			"'a' has an output key, which makes its output a map: leave WithOutputKey away, or have the next node take the " +
			"value out of the map (WithInputKey)", func(g graphs) error {
			return addAll(g.AddLambdaNode("a", suffix(""), WithOutputKey("k")), g.AddEdge("a", END))
		}},
		{"graph edge[a]-[b]: start node's output type[string] and end node's input type[map[string]interface {}] mismatch: " +
			"'b' has an input key, so it takes a map: give the node before it the same key (WithOutputKey)", func(g graphs) error {
			return addAll(g.AddLambdaNode("a", suffix("")), g.AddLambdaNode("b", suffix(""), WithInputKey("k")),
				g.AddEdge("a", "b"))
		}},
		{"graph edge[a]-[b]: start node's output type[*schema.Message] and end node's input type[[]*schema.Message] " +
			"mismatch: " +
			"compose.ToList[*schema.Message]() is a lambda that makes a list of one value: put it between the two",
			func(g graphs) error {
				return addAll(g.AddLambdaNode("a", message), g.AddLambdaNode("b", messages), g.AddEdge("a", "b"))
			}},
		{"condition's input type[string] and start node[length]'s output type[int] are mismatched: a condition gets " +
			"what the " +
			"node before it gives, so let it take int",
			func(g graphs) error {
				return addAll(g.AddLambdaNode("length", length), g.AddBranch("length", ends(END)))
			}},
		{"start node not set: nothing leads from START, and the graph has no nodes",
			func(g graphs) error { return nil }},
		{`start node not set: nothing leads from START; add AddEdge(compose.START, "b"), or a branch there`,
			func(g graphs) error {
				return addAll(g.AddLambdaNode("a", suffix("")), g.AddLambdaNode("b", suffix("")), g.AddEdge("b", "a"),
					g.AddEdge("a", END))
			}},
		{`end node not set: nothing leads to END, so there would be no output; add AddEdge("b", compose.END), or a ` +
			`branch that ` +
			"may choose compose.END", func(g graphs) error {
			return addAll(g.AddLambdaNode("a", suffix("")), g.AddLambdaNode("b", suffix("")), g.AddEdge(START, "a"),
				g.AddEdge("a", "b"))
		}},
		{"node 'end' is reserved, cannot add manually: it stands for the output of the graph; use another key",
			func(g graphs) error { return g.AddLambdaNode("end", suffix("")) }},
		{"DAG is invalid, has loop: [a->b->a]: where nodes wait for all those before them, these wait for each other; a " +
			"Graph " +
			"without WithNodeTriggerMode(AllPredecessor) may have a loop", func(g graphs) error {
			return addAll(g.AddLambdaNode("a", suffix("")), g.AddLambdaNode("b", suffix("")), g.AddEdge(START, "a"),
				g.AddEdge("a", "b"), g.AddEdge("b", "a"), g.AddEdge("b", END))
		}},
	} {
		g := NewGraph[string, string]()
		err := c.build(g)
		if err == nil {
			_, err = g.Compile(context.Background(), WithNodeTriggerMode(AllPredecessor))
		}
		require.EqualError(t, err, c.want)
	}
}

// addAll is the last error of several steps: the first of a graph sticks.
func addAll(steps ...error) error { return steps[len(steps)-1] }

func TestErrors_OfWorkflowsSayWhatToDo(t *testing.T) {
	type flow = *Workflow[string, string]
	for _, c := range []struct {
		want  string
		build func(wf flow)
	}{
		{"start node not set: nothing leads from START; add AddInput(compose.START) to a node, such as 'a'", func(wf flow) {
			wf.AddLambdaNode("a", suffix(""))
			wf.End().AddInput("a")
		}},
		{`end node not set: nothing leads to END, so there would be no output; add End().AddInput("a")`,
			func(wf flow) { wf.AddLambdaNode("a", suffix("")).AddInput(START) }},
		{"edge start node 'nobody' needs to be added to graph first: the edge leads from 'nobody' to 'a', and the nodes " +
			"are " +
			"'a'", func(wf flow) { wf.AddLambdaNode("a", suffix("")).AddInput("nobody") }},
		{"DAG is invalid, has loop: [a->b->a]: a workflow has no loops, as its nodes wait for all those before them; " +
			"put the " +
			"loop into a Graph, and add that with AddGraphNode", func(wf flow) {
			wf.AddLambdaNode("a", suffix("")).AddInput("b").AddDependency(START)
			wf.AddLambdaNode("b", suffix("")).AddInput("a")
			wf.End().AddInput("b")
		}},
		{"static check fail: successor input type should be struct or map, actual: string: node 'a' has no field for Foo; " +
			"let it take a struct or a map, or take the whole (without ToField)", func(wf flow) {
			wf.AddLambdaNode("a", suffix("")).AddInput(START, ToField("Foo"))
			wf.End().AddInput("a")
		}},
		{"static check fail: predecessor output type should be struct or map, actual: string: node 'start' has no field " +
			"Foo " +
			"that node 'a' could take; take the whole, or WithCustomExtractor", func(wf flow) {
			wf.AddLambdaNode("a", suffix("")).AddInput(START, FromField("Foo"))
			wf.End().AddInput("a")
		}},
	} {
		wf := NewWorkflow[string, string]()
		c.build(wf)
		_, err := wf.Compile(context.Background())
		require.EqualError(t, err, c.want)
	}
}

func TestErrors_OfRunsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		want  string
		build func(g *Graph[string, string]) error
	}{
		{"[GraphRunError] calculate next step fail, node: a, error: branch invocation returns unintended end node: c: the " +
			"condition may choose 'b', 'end'; it returns one of these, or the branch has to be made with 'c' among its end " +
			"nodes, too", func(g *Graph[string, string]) error {
			wrong := NewGraphBranch(func(context.Context, string) (string, error) { return "c", nil },
				map[string]bool{"b": true, END: true})
			return addAll(g.AddLambdaNode("a", suffix("")), g.AddLambdaNode("b", suffix("")), g.AddEdge(START, "a"),
				g.AddEdge("b", END), g.AddBranch("a", wrong))
		}},
		{"[GraphRunError] no tasks to execute, last completed nodes: [a]: END was not reached, and there is nothing " +
			"left that " +
			"leads to it: add an edge or a branch behind these nodes, or choose another node in a branch before them",
			func(g *Graph[string, string]) error {
				return addAll(g.AddLambdaNode("a", suffix("")), g.AddLambdaNode("b", suffix("")), g.AddEdge(START, "a"),
					g.AddEdge("b", END))
			}},
		{"[GraphRunError] (mergeValues) unsupported type: string: node 'end' gets values from 'a', 'b' at once: give " +
			"each of " +
			"them an output key of its own (WithOutputKey), so that they become entries of one map, or say how such values " +
			"become one (RegisterValuesMergeFunc)", func(g *Graph[string, string]) error {
			return addAll(g.AddLambdaNode("a", suffix("")), g.AddLambdaNode("b", suffix("")), g.AddEdge(START, "a"),
				g.AddEdge(START, "b"), g.AddEdge("a", END), g.AddEdge("b", END))
		}},
	} {
		g := NewGraph[string, string]()
		require.NoError(t, c.build(g))
		_, err := compiled[string, string](t, g).Invoke(context.Background(), "x")
		require.EqualError(t, err, c.want)
	}
}

func TestNearest_IsWhatSomebodyMayHaveMeant(t *testing.T) {
	keys := []string{"search", "Template", "日本", "a"}
	for key, want := range map[string]string{
		"serch": "search", "searchs": "search", "template": "Template", "tmplate": "Template", "日木": "日本", "": "",
		"model": "", "ab": "a", "xyz": "",
	} {
		require.Equal(t, want, nearest(key, keys), key)
	}
	many := strings.Split("abcdefghijklmnop", "")
	require.Equal(t, "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l' and 4 more", quotedList(many))
}
