package compose_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// run compiles a graph, calls it with a value and prints what comes of it.
func run[I, O any](g interface {
	Compile(ctx context.Context, opts ...compose.GraphCompileOption) (compose.Runnable[I, O], error)
}, in I, opts ...compose.Option) {
	ctx := context.Background()
	r, err := g.Compile(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := r.Invoke(ctx, in, opts...)
	if err != nil {
		fmt.Println(compose.ErrorLine(err))
		return
	}
	fmt.Println(out)
}

// A function from a value to a value.
func ExampleInvokableLambda() {
	run(compose.NewChain[string, int]().
		AppendLambda(compose.InvokableLambda(func(_ context.Context, in string) (int, error) {
			return len(in), nil
		})), "four")
	// Output: 4
}

// A function that gives its output piece by piece. A caller that wants a value gets the pieces joined.
func ExampleStreamableLambda() {
	run(compose.NewChain[string, string]().
		AppendLambda(compose.StreamableLambda(func(_ context.Context, in string) (*schema.StreamReader[string], error) {
			return schema.StreamReaderFromArray([]string{in, " and ", in}), nil
		})), "on")
	// Output: on and on
}

// A function that reads a stream and returns a value.
func ExampleCollectableLambda() {
	ctx := context.Background()
	longest := compose.CollectableLambda(func(_ context.Context, in *schema.StreamReader[string]) (string, error) {
		longest := ""
		for chunk, err := range in.All() { // closes the stream
			if err != nil {
				return "", err
			}
			if len(chunk) > len(longest) {
				longest = chunk
			}
		}
		return longest, nil
	})
	r, err := compose.NewChain[string, string]().AppendLambda(longest).Compile(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Collect(ctx, schema.StreamReaderFromArray([]string{"a", "long", "way"})))
	// Output: long <nil>
}

// A function from a stream to a stream: it need not wait for the end of the one before it gives the first piece of the
// other.
func ExampleTransformableLambda() {
	ctx := context.Background()
	dots := compose.TransformableLambda(func(
		_ context.Context, in *schema.StreamReader[string],
	) (*schema.StreamReader[string], error) {
		return schema.StreamReaderWithConvert(in, func(chunk string) (string, error) { return chunk + ".", nil }), nil
	})
	r, err := compose.NewChain[string, string]().AppendLambda(dots).Compile(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := r.Transform(ctx, schema.StreamReaderFromArray([]string{"one", "two"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	for chunk := range out.All() {
		fmt.Println(chunk)
	}
	// Output:
	// one.
	// two.
}

// Between a node that gives a message and one that takes a list of them.
func ExampleToList() {
	run(compose.NewChain[*schema.Message, int]().
		AppendLambda(compose.ToList[*schema.Message]()).
		AppendLambda(compose.InvokableLambda(func(_ context.Context, in []*schema.Message) (int, error) {
			return len(in), nil
		})), schema.UserMessage("Hi"))
	// Output: 1
}

// The text of a message, which is JSON, becomes a value.
func ExampleMessageParser() {
	type city struct{ Name string }
	parser := schema.NewMessageJSONParser[city](&schema.MessageJSONParseConfig{ParseFrom: schema.MessageParseFromContent})
	run(compose.NewChain[*schema.Message, city]().AppendLambda(compose.MessageParser(parser)),
		schema.AssistantMessage(`{"Name":"Oslo"}`, nil))
	// Output: {Oslo}
}

// The condition gets what the node before it gives, and returns the key of the node to go to.
func ExampleNewGraphBranch() {
	g := compose.NewGraph[string, string]()
	_ = g.AddLambdaNode("shout", compose.InvokableLambda(upper))
	_ = g.AddBranch(compose.START, compose.NewGraphBranch(func(_ context.Context, in string) (string, error) {
		if strings.HasSuffix(in, "!") {
			return "shout", nil
		}
		return compose.END, nil
	}, map[string]bool{"shout": true, compose.END: true}))
	_ = g.AddEdge("shout", compose.END)
	run(g, "hello")
	run(g, "hello!")
	// Output:
	// hello
	// HELLO!
}

// The condition chooses any number of nodes, which run at the same time.
func ExampleNewGraphMultiBranch() {
	g := compose.NewGraph[string, map[string]any]()
	_ = g.AddLambdaNode("upper", compose.InvokableLambda(upper), compose.WithOutputKey("upper"))
	_ = g.AddLambdaNode("exclaim", compose.InvokableLambda(exclaim), compose.WithOutputKey("exclaim"))
	choose := func(_ context.Context, in string) (map[string]bool, error) {
		return map[string]bool{"upper": true, "exclaim": len(in) > 3}, nil
	}
	_ = g.AddBranch(compose.START,
		compose.NewGraphMultiBranch(choose, map[string]bool{"upper": true, "exclaim": true}))
	_ = g.AddEdge("upper", compose.END)
	_ = g.AddEdge("exclaim", compose.END)
	run(g, "hello")
	// Output: map[exclaim:hello! upper:HELLO]
}

// A chain's condition chooses among nodes that the branch brings along.
func ExampleChainBranch() {
	chain := compose.NewChain[string, string]().
		AppendBranch(compose.NewChainBranch(func(_ context.Context, in string) (string, error) {
			if in == "" {
				return "nothing", nil
			}
			return "something", nil
		}).
			AddLambda("nothing", compose.InvokableLambda(func(context.Context, string) (string, error) {
				return "(empty)", nil
			})).
			AddLambda("something", compose.InvokableLambda(upper))).
		AppendLambda(compose.InvokableLambda(exclaim))
	run(chain, "")
	// Output: (empty)!
}

// The state belongs to one run. Here it counts the rounds of a loop.
func ExampleWithGenLocalState() {
	type rounds struct{ n int }
	g := compose.NewGraph[string, string](compose.WithGenLocalState(func(context.Context) *rounds { return &rounds{} }))
	_ = g.AddLambdaNode("add", compose.InvokableLambda(exclaim),
		compose.WithStatePostHandler(func(_ context.Context, out string, r *rounds) (string, error) {
			r.n++
			return out, nil
		}))
	_ = g.AddEdge(compose.START, "add")
	_ = g.AddBranch("add", compose.NewGraphBranch(func(ctx context.Context, _ string) (next string, err error) {
		next = "add"
		err = compose.ProcessState(ctx, func(_ context.Context, r *rounds) error {
			if r.n == 3 {
				next = compose.END
			}
			return nil
		})
		return next, err
	}, map[string]bool{"add": true, compose.END: true}))
	run(g, "go")
	// Output: go!!!
}

// Two nodes write into one value: the function says how.
func ExampleRegisterValuesMergeFunc() {
	type score int
	compose.RegisterValuesMergeFunc(func(scores []score) (sum score, err error) {
		for _, s := range scores {
			sum += s
		}
		return sum, nil
	})
	g := compose.NewGraph[string, score]()
	for _, key := range []string{"a", "b"} {
		_ = g.AddLambdaNode(key, compose.InvokableLambda(func(_ context.Context, in string) (score, error) {
			return score(len(in)), nil
		}))
		_ = g.AddEdge(compose.START, key)
		_ = g.AddEdge(key, compose.END)
	}
	run(g, "four")
	// Output: 8
}

// Handlers of a call see the graph and all its nodes.
func ExampleWithCallbacks() {
	chain := compose.NewChain[string, string]().
		AppendLambda(compose.InvokableLambda(upper), compose.WithNodeName("upper")).
		AppendLambda(compose.InvokableLambda(exclaim), compose.WithNodeName("exclaim"))
	handler := callbacks.NewHandlerBuilder().
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			fmt.Printf("%s %q: %v\n", info.Component, info.Name, out)
			return ctx
		}).Build()
	run(chain, "hi", compose.WithCallbacks(handler))
	// Output:
	// Lambda "upper": HI
	// Lambda "exclaim": HI!
	// Chain "": HI!
	// HI!
}

// The error of a run says which node failed, and wraps what the node returned.
func ExampleRunError() {
	ctx := context.Background()
	errOffline := errors.New("offline")
	g := compose.NewGraph[string, string]()
	_ = g.AddLambdaNode("search", compose.InvokableLambda(func(context.Context, string) (string, error) {
		return "", errOffline
	}))
	_ = g.AddEdge(compose.START, "search")
	_ = g.AddEdge("search", compose.END)
	r, err := g.Compile(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = r.Invoke(ctx, "tea")
	var failed *compose.RunError
	fmt.Println(errors.As(err, &failed) && errors.Is(err, errOffline), failed.Path())
	fmt.Println(compose.ErrorLine(err))
	// Output:
	// true [search]
	// [NodeRunError] offline, node path: [search]
}

// A run stops before a node, and continues when it is called again with the ID.
func ExampleWithInterruptBeforeNodes() {
	ctx := context.Background()
	g := compose.NewGraph[string, string]()
	_ = g.AddLambdaNode("draft", compose.InvokableLambda(exclaim))
	_ = g.AddLambdaNode("publish", compose.InvokableLambda(upper))
	_ = g.AddEdge(compose.START, "draft")
	_ = g.AddEdge("draft", "publish")
	_ = g.AddEdge("publish", compose.END)
	r, err := g.Compile(ctx, compose.WithCheckPointStore(&memory{}), compose.WithInterruptBeforeNodes([]string{"publish"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = r.Invoke(ctx, "news", compose.WithCheckPointID("run 1"))
	info, interrupted := compose.ExtractInterruptInfo(err)
	fmt.Println(interrupted, info.BeforeNodes)
	fmt.Println(r.Invoke(ctx, "", compose.WithCheckPointID("run 1")))
	// Output:
	// true [publish]
	// NEWS! <nil>
}

// The picture can be put into a page of Markdown, in a fenced block of the language mermaid.
func ExampleGraphInfo_Mermaid() {
	chain := compose.NewChain[string, string]().
		AppendLambda(compose.InvokableLambda(upper), compose.WithNodeKey("upper")).
		AppendLambda(compose.InvokableLambda(exclaim), compose.WithNodeKey("exclaim"))
	info, err := compose.Describe(chain)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(info.Mermaid())
	// Output:
	// flowchart TD
	//     n_start(["START"])
	//     n_upper["upper<br/>Lambda"]
	//     n_exclaim["exclaim<br/>Lambda"]
	//     n_end(["END"])
	//     n_start --> n_upper
	//     n_upper --> n_exclaim
	//     n_exclaim --> n_end
}
