// Package toolcalls finds out whether a model calls tools while its answer still comes in.
//
// The agents of flow use it to choose the next node of their graphs. It must never decide too early: a model may
// speak before it calls a tool.
package toolcalls

import (
	"context"
	"io"

	"github.com/weftgo/weft/schema"
)

// Checker reports whether a streamed answer calls tools. The stream is its own copy.
type Checker = func(ctx context.Context, answer *schema.StreamReader[*schema.Message]) (bool, error)

// InStream is the default [Checker]: it reads until the first tool call, wherever in the answer that is, or to the end.
// An error item of the stream is returned; so is the end of ctx. It closes the stream.
func InStream(ctx context.Context, answer *schema.StreamReader[*schema.Message]) (bool, error) {
	defer answer.Close()
	for {
		chunk, err := answer.RecvContext(ctx)
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if chunk != nil && len(chunk.ToolCalls) > 0 {
			return true, nil
		}
	}
}

// Or returns check, or the default for nil. The stream is closed when check returns, whether it does so or not.
func Or(check Checker) Checker {
	if check == nil {
		return InStream
	}
	return func(ctx context.Context, answer *schema.StreamReader[*schema.Message]) (bool, error) {
		defer answer.Close()
		return check(ctx, answer)
	}
}
