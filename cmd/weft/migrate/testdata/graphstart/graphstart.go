// Tracing with one handler for models and one for graphs.
package graphstart

import (
	"context"
	"log"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/schema"
	ucb "github.com/cloudwego/eino/utils/callbacks"
)

func start(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
	log.Print("start ", info.Name)
	return ctx
}

func streamStart(
	ctx context.Context, info *callbacks.RunInfo, in *schema.StreamReader[callbacks.CallbackInput],
) context.Context {
	in.Close()
	log.Print("start ", info.Name)
	return ctx
}

func inline() callbacks.Handler {
	return ucb.NewHandlerHelper().
		Graph(callbacks.NewHandlerBuilder().OnStartFn(start).Build()). // want `this handler does not see the start of an agent that streams`
		Handler()
}

func byVariable() callbacks.Handler {
	graphs := callbacks.NewHandlerBuilder().OnStartFn(start).Build()
	return ucb.NewHandlerHelper().Graph(graphs).Handler() // want `this handler does not see the start of an agent that streams`
}

func both() callbacks.Handler {
	graphs := callbacks.NewHandlerBuilder().OnStartFn(start).OnStartWithStreamInputFn(streamStart).Build()
	return ucb.NewHandlerHelper().Graph(graphs).Handler()
}

// lambdas are as they were.
func lambdas() callbacks.Handler {
	return ucb.NewHandlerHelper().Lambda(callbacks.NewHandlerBuilder().OnStartFn(start).Build()).Handler()
}

// given is a handler of somebody's.
func given(h callbacks.Handler) callbacks.Handler { return ucb.NewHandlerHelper().Graph(h).Handler() }
