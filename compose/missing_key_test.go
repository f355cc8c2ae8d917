package compose

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/internal/fstring"
	"github.com/weftgo/weft/schema"
)

// documentsGraph leads from START through search to join, which gives the documents, or to nothing, and on to a
// template that needs them.
func documentsGraph(t *testing.T, join *Lambda, joinOpts ...GraphAddNodeOpt) *Graph[string, []*schema.Message] {
	template := prompt.FromMessages(schema.FString, schema.UserMessage("{question} {documents}"))
	g := NewGraph[string, []*schema.Message]()
	require.NoError(t, g.AddLambdaNode("search", suffix("")))
	require.NoError(t, g.AddLambdaNode("join", join, joinOpts...))
	require.NoError(t, g.AddLambdaNode("nothing", suffix(""), WithOutputKey("note")))
	require.NoError(t, g.AddPassthroughNode("question", WithOutputKey("question")))
	require.NoError(t, g.AddChatTemplateNode("template", template))
	require.NoError(t, g.AddEdge(START, "search"))
	require.NoError(t, g.AddEdge(START, "question"))
	require.NoError(t, g.AddBranch("search", NewGraphBranch(func(_ context.Context, in string) (string, error) {
		return in, nil
	}, map[string]bool{"join": true, "nothing": true})))
	for _, from := range []string{"question", "join", "nothing"} {
		require.NoError(t, g.AddEdge(from, "template"))
	}
	require.NoError(t, g.AddEdge("template", END))
	return g
}

// The error of a key that the input of a node lacks names the predecessor that should have given it.
func TestMissingKey_NamesWhoGaveNothing(t *testing.T) {
	const skipped = "was skipped: no branch chose the way to it. Give the key on every way that leads here)"
	const notYet = "had given nothing yet: with AnyPredecessor a node runs as soon as one of those before it has. " +
		"Compile with WithNodeTriggerMode(AllPredecessor), or give the key on every way that leads here)"
	all, documents := WithNodeTriggerMode(AllPredecessor), WithOutputKey("documents")
	byItself := InvokableLambda(func(_ context.Context, in string) (kv, error) { return kv{"documents": in}, nil })
	for name, c := range map[string]struct {
		graph AnyGraph
		opts  []GraphCompileOption
		in    string
		want  string
	}{
		"skipped": {documentsGraph(t, suffix(""), documents), []GraphCompileOption{all}, "nothing",
			"could not find key: documents (node 'join', which gives it, " + skipped},
		"skipped, key in its output": {documentsGraph(t, byItself), []GraphCompileOption{all}, "nothing",
			"could not find key: documents (there was nothing from 'join', which " + skipped},
		"not waited for": {documentsGraph(t, suffix(""), documents), nil, "join",
			"could not find key: documents (node 'join', which gives it, " + notYet},
		"not waited for, key in its output": {documentsGraph(t, byItself), nil, "join",
			"could not find key: documents (there was nothing from 'join', 'nothing', which " + notYet},
		"all ran": {documentsGraph(t, suffix(""), WithOutputKey("other")), []GraphCompileOption{all}, "join",
			"could not find key: documents (there was nothing from 'nothing', which " + skipped},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := c.graph.compilePlan(newCompileOptions(c.opts))
			require.NoError(t, err)
			for _, err := range fails(t, Runnable[string, []*schema.Message](&runnable[string, []*schema.Message]{p}), c.in) {
				require.ErrorContains(t, err, c.want+"\n")
				var missing interface{ MissingKey() string }
				require.True(t, errors.As(err, &missing))
				require.Equal(t, "documents", missing.MissingKey())
				var failed *RunError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, []string{"template"}, failed.Path())
			}
		})
	}
}

// The error of a field mapping names the node that gives a key, too, and so does the input key of a node.
func TestMissingKey_OfMappingsAndInputKeys(t *testing.T) {
	wf := NewWorkflow[string, string]()
	wf.AddLambdaNode("a", suffix("")).AddInputWithOptions(START, nil, WithNoDirectDependency())
	wf.AddLambdaNode("b", suffix("")).AddInputWithOptions(START, nil, WithNoDirectDependency())
	wf.AddBranch(START, NewGraphBranch(func(_ context.Context, in string) (string, error) { return in, nil },
		map[string]bool{"a": true, "b": true}))
	wf.AddLambdaNode("n", suffix(""), WithInputKey("k")).AddInput("a", ToField("k")).AddInput("b", ToField("l"))
	wf.End().AddInput("n")
	r := compiled[string, string](t, wf)
	forms4(t, r, "a", "a")
	_, err := r.Invoke(context.Background(), "b")
	require.ErrorContains(t, err, "cannot find input key: k (node 'a', which gives it, was skipped")
}

// Nothing is added to the error of a node that had everything, or that fails for another reason.
func TestMissingKey_OtherErrorsStay(t *testing.T) {
	for _, failure := range []error{errBoom, fmt.Errorf("own template: %w", missingIn("x"))} {
		g := documentsGraph(t, InvokableLambda(func(context.Context, string) (kv, error) { return nil, failure }))
		r := compiled[string, []*schema.Message](t, g, WithNodeTriggerMode(AllPredecessor))
		_, err := r.Invoke(context.Background(), "join")
		require.EqualError(t, err, "[NodeRunError] "+failure.Error()+"\n------------------------\nnode path: [join]")
	}
}

// missingIn is the error of a template without one of its variables.
func missingIn(key string) error {
	t, err := fstring.Compile("{" + key + "}")
	if err == nil {
		_, err = t.Execute(nil, 100)
	}
	return err
}
