package callbacks_test

import (
	"context"
	"fmt"
	"io"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/schema"
)

// A handler that prints what a model was asked and what it answered, and a component that fires its own callbacks.
func ExampleNewHandlerBuilder() {
	printing := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, input callbacks.CallbackInput) context.Context {
			fmt.Printf("%s %s starts with %q\n", info.Component, info.Name, input)
			return ctx
		}).
		OnEndWithStreamOutputFn(func(ctx context.Context, info *callbacks.RunInfo,
			output *schema.StreamReader[callbacks.CallbackOutput],
		) context.Context {
			defer output.Close() // a stream that does not end soon would be read in a goroutine
			for {
				chunk, err := output.Recv()
				if err == io.EOF {
					return ctx
				}
				fmt.Printf("%s %s sends %q\n", info.Component, info.Name, chunk)
			}
		}).
		Build()

	ctx := callbacks.InitCallbacks(context.Background(), &callbacks.RunInfo{
		Name:      "answer",
		Type:      "Echo",
		Component: components.ComponentOfChatModel,
	}, printing)

	answer := echo(ctx, "hello")
	defer answer.Close()
	// Output:
	// ChatModel answer starts with "hello"
	// ChatModel answer sends "hel"
	// ChatModel answer sends "lo"
}

func echo(ctx context.Context, question string) *schema.StreamReader[string] {
	ctx = callbacks.EnsureRunInfo(ctx, "Echo", components.ComponentOfChatModel)
	ctx = callbacks.OnStart(ctx, question)
	_, answer := callbacks.OnEndWithStreamOutput(ctx, schema.StreamReaderFromArray([]string{question[:3], question[3:]}))
	return answer
}
