package compose

import (
	"context"

	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/core"
)

// runContext is the context of a graph, a node or a tool call: one value answers everything that the runtime looks
// up, so that no lookup walks a chain and each of them costs one allocation.
type runContext struct {
	context.Context
	frame     core.Frame
	callbacks callbacks.State
	scope     *stateScope
	// call is set for tool calls.
	call *toolCall
}

func (c *runContext) Value(key any) any {
	switch key.(type) {
	case core.FrameKey:
		return &c.frame
	case callbacks.Key:
		return &c.callbacks
	case scopeKey:
		return c.scope
	case toolCallKey:
		if c.call != nil {
			return c.call
		}
	}
	return c.Context.Value(key)
}

// graphContext is the context of a graph, with the state that everything in the graph shares.
type graphContext struct {
	runContext
	state stateScope
}

type toolCallKey struct{}

// newRunContext starts from what ctx says.
func newRunContext(ctx context.Context) runContext {
	c := runContext{Context: ctx, scope: scopeFrom(ctx)}
	if f := core.FrameFrom(ctx); f != nil {
		c.frame = *f
	}
	if s := callbacks.FromContext(ctx); s != nil {
		c.callbacks = *s
	}
	return c
}
