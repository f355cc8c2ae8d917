package compose_test

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

func upper(_ context.Context, in string) (string, error) { return strings.ToUpper(in), nil }

func exclaim(_ context.Context, in string) (string, error) { return in + "!", nil }

// A graph with a branch: short greetings are shouted.
func ExampleGraph() {
	ctx := context.Background()
	g := compose.NewGraph[string, string]()
	_ = g.AddLambdaNode("shout", compose.InvokableLambda(upper))
	_ = g.AddLambdaNode("greet", compose.InvokableLambda(exclaim))
	_ = g.AddBranch(compose.START, compose.NewGraphBranch(func(_ context.Context, in string) (string, error) {
		if len(in) < 4 {
			return "shout", nil
		}
		return "greet", nil
	}, map[string]bool{"shout": true, "greet": true}))
	_ = g.AddEdge("shout", "greet")
	_ = g.AddEdge("greet", compose.END)
	r, err := g.Compile(ctx) // reports the errors of the calls above, too
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, in := range []string{"hi", "hello"} {
		out, err := r.Invoke(ctx, in)
		fmt.Println(out, err)
	}
	// Output:
	// HI! <nil>
	// hello! <nil>
}

// A chain whose middle runs side by side.
func ExampleChain() {
	ctx := context.Background()
	r, err := compose.NewChain[string, string]().
		AppendParallel(compose.NewParallel().
			AddLambda("loud", compose.InvokableLambda(upper)).
			AddPassthrough("quiet")).
		AppendLambda(compose.InvokableLambda(func(_ context.Context, in map[string]any) (string, error) {
			return fmt.Sprintf("%v, %v", in["loud"], in["quiet"]), nil
		})).
		Compile(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := r.Invoke(ctx, "hello")
	fmt.Println(out, err)
	// Output: HELLO, hello <nil>
}

// A stream goes through a chain chunk by chunk.
func ExampleRunnable() {
	ctx := context.Background()
	r, err := compose.NewChain[string, string]().
		AppendLambda(compose.StreamableLambda(func(_ context.Context, in string) (*schema.StreamReader[string], error) {
			return schema.StreamReaderFromArray(strings.SplitAfter(in, " ")), nil
		})).
		AppendLambda(compose.TransformableLambda(func(
			_ context.Context, in *schema.StreamReader[string],
		) (*schema.StreamReader[string], error) {
			return schema.StreamReaderWithConvert(in,
				func(word string) (string, error) { return strings.ToUpper(word), nil }), nil
		})).
		Compile(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	stream, err := r.Stream(ctx, "one two three")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Close()
	for chunk, err := range stream.All() {
		fmt.Printf("%q %v\n", chunk, err)
	}
	// Output:
	// "ONE " <nil>
	// "TWO " <nil>
	// "THREE" <nil>
}

// Nodes of a workflow take the fields that they need.
func ExampleWorkflow() {
	type order struct {
		Item  string
		Count int
	}
	ctx := context.Background()
	wf := compose.NewWorkflow[order, map[string]any]()
	wf.AddLambdaNode("price",
		compose.InvokableLambda(func(_ context.Context, item string) (int, error) { return len(item), nil })).
		AddInput(compose.START, compose.FromField("Item"))
	wf.AddLambdaNode("total",
		compose.InvokableLambda(func(_ context.Context, in map[string]int) (int, error) {
			return in["price"] * in["count"], nil
		})).
		AddInput("price", compose.ToField("price")).
		AddInput(compose.START, compose.MapFields("Count", "count"))
	wf.End().
		AddInput("total", compose.ToField("total")).
		AddInput(compose.START, compose.MapFieldPaths(compose.FieldPath{"Item"}, compose.FieldPath{"bill", "item"})).
		SetStaticValue(compose.FieldPath{"bill", "currency"}, "EUR")
	r, err := wf.Compile(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := r.Invoke(ctx, order{Item: "apple", Count: 3})
	fmt.Println(out, err)
	// Output: map[bill:map[currency:EUR item:apple] total:15] <nil>
}

// memory keeps checkpoints.
type memory struct{ m sync.Map }

func (s *memory) Get(_ context.Context, id string) ([]byte, bool, error) {
	data, ok := s.m.Load(id)
	if !ok {
		return nil, false, nil
	}
	return data.([]byte), true, nil
}

func (s *memory) Set(_ context.Context, id string, data []byte) error {
	s.m.Store(id, data)
	return nil
}

// A node asks a question; the run continues when it is answered.
func ExampleStatefulInterrupt() {
	ctx := context.Background()
	r, err := compose.NewChain[string, string]().
		AppendLambda(compose.InvokableLambda(func(ctx context.Context, in string) (string, error) {
			if was, _, saved := compose.GetInterruptState[string](ctx); was {
				in = saved // the input of the first call is not passed again
			}
			if target, has, approved := compose.GetResumeContext[bool](ctx); target && has {
				return fmt.Sprintf("%s: approved %v", in, approved), nil
			}
			return "", compose.StatefulInterrupt(ctx, "may I "+in+"?", in)
		})).
		Compile(ctx, compose.WithCheckPointStore(&memory{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = r.Invoke(ctx, "delete the file", compose.WithCheckPointID("run 1"))
	info, interrupted := compose.ExtractInterruptInfo(err)
	if !interrupted {
		fmt.Println(err)
		return
	}
	asked := info.InterruptContexts[0]
	fmt.Println(asked.Info)

	// Later: another process may do this.
	out, err := r.Invoke(compose.ResumeWithData(ctx, asked.ID, true), "", compose.WithCheckPointID("run 1"))
	fmt.Println(out, err)
	// Output:
	// may I delete the file?
	// delete the file: approved true <nil>
}

type weather struct{}

func (weather) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "weather", Desc: "the weather in a city",
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"city": {Type: schema.String, Required: true},
		})}, nil
}

func (weather) InvokableRun(_ context.Context, arguments string, _ ...tool.Option) (string, error) {
	return "sunny for " + arguments, nil
}

// A tools node answers the tool calls of a model's message.
func ExampleToolsNode() {
	ctx := context.Background()
	tools, err := compose.NewToolNode(ctx, &compose.ToolsNodeConfig{Tools: []tool.BaseTool{weather{}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := compose.NewChain[*schema.Message, []*schema.Message]().AppendToolsNode(tools).Compile(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	answers, err := r.Invoke(ctx, schema.AssistantMessage("", []schema.ToolCall{
		{ID: "1", Function: schema.FunctionCall{Name: "weather", Arguments: `{"city":"Oslo"}`}},
		{ID: "2", Function: schema.FunctionCall{Name: "weather", Arguments: `{"city":"Rome"}`}},
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range answers {
		fmt.Println(m.ToolCallID, m.ToolName, m.Content)
	}
	// Output:
	// 1 weather sunny for {"city":"Oslo"}
	// 2 weather sunny for {"city":"Rome"}
}
