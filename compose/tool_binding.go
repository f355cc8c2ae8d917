package compose

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// boundTool is a tool inside its callbacks and middlewares, ready to be called. One of the families is set.
type boundTool struct {
	info     callbacks.RunInfo // with the tool's own name
	silent   bool
	text     *toolFamily[string]
	enhanced *toolFamily[*schema.ToolResult]
	// arguments maps aliases to the names that the tool knows.
	arguments map[string]string
}

// streams reports whether the tool has a streaming side.
func (b *boundTool) streams() bool {
	if b.enhanced != nil {
		return b.enhanced.stream != nil
	}
	return b.text.stream != nil
}

// toolFamily is a tool by the type of its result. A form that the tool does not have is derived from the other.
type toolFamily[R any] struct {
	invoke toolCallFunc[R]
	stream toolCallFunc[*schema.StreamReader[R]]
	// joining is the text of an error from joining a stream.
	joining string
	// nothing is the result of a tool whose stream ends without a chunk: it had nothing to say.
	nothing R
}

func (f *toolFamily[R]) value(ctx context.Context, in *ToolInput) (R, error) {
	if f.invoke != nil {
		return f.invoke(ctx, in)
	}
	return f.joined(ctx, in)
}

func (f *toolFamily[R]) joined(ctx context.Context, in *ToolInput) (v R, err error) {
	s, err := f.stream(ctx, in)
	if err != nil {
		return v, err
	}
	if v, err = joinToolStream(s, f.nothing); err != nil {
		err = fmt.Errorf("%s: %w", f.joining, err)
	}
	return v, err
}

func (f *toolFamily[R]) chunks(ctx context.Context, in *ToolInput) (*schema.StreamReader[R], error) {
	if f.stream != nil {
		return f.stream(ctx, in)
	}
	v, err := f.invoke(ctx, in)
	if err != nil {
		return nil, err
	}
	return singleOf(v), nil
}

// joinToolStream is the value of a tool's stream, nothing if there was no chunk.
func joinToolStream[R any](s *schema.StreamReader[R], nothing R) (R, error) {
	v, err := concatStream(s)
	if errors.Is(err, errEmptyStream) {
		return nothing, nil
	}
	return v, err
}

// bindTool puts a tool into its callbacks and middlewares; the first middleware is outermost. A tool that gives
// multi-modal results in some form is called in that form only.
func bindTool(t tool.BaseTool, name string, middlewares []ToolMiddleware) (_ *boundTool, err error) {
	defer func() { // of the tool's GetType or IsCallbacksEnabled, or a middleware
		if v := recover(); v != nil {
			err = fmt.Errorf("tool %s: %w", name, safe.NewPanicError(v, debug.Stack()))
		}
	}()
	silent := components.IsCallbacksEnabled(t)
	b := &boundTool{
		info:   callbacks.RunInfo{Name: name, Type: callbacks.TypeName(t), Component: components.ComponentOfTool},
		silent: silent,
	}
	enhanced := toolFamily[*schema.ToolResult]{
		joining: "failed to concat EnhancedStreamableTool output message stream", nothing: &schema.ToolResult{},
	}
	if et, ok := t.(tool.EnhancedInvokableTool); ok {
		enhanced.invoke = bindEnhancedInvokable(et, silent, middlewares)
	}
	if et, ok := t.(tool.EnhancedStreamableTool); ok {
		enhanced.stream = bindEnhancedStreamable(et, silent, middlewares)
	}
	if enhanced.invoke != nil || enhanced.stream != nil {
		b.enhanced = &enhanced
		return b, nil
	}
	text := toolFamily[string]{joining: "failed to concat StreamableTool output message stream"}
	if it, ok := t.(tool.InvokableTool); ok {
		text.invoke = bindInvokable(it, silent, middlewares)
	}
	if st, ok := t.(tool.StreamableTool); ok {
		text.stream = bindStreamable(st, silent, middlewares)
	}
	if text.invoke == nil && text.stream == nil {
		return nil, fmt.Errorf("tool %s is not invokable, streamable, enhanced invokable or enhanced streamable", name)
	}
	b.text = &text
	return b, nil
}

// toolCallFunc is a tool's function inside its callbacks.
type toolCallFunc[R any] func(ctx context.Context, in *ToolInput) (R, error)

func bindInvokable(t tool.InvokableTool, silent bool, middlewares []ToolMiddleware) toolCallFunc[string] {
	f := &forms[string, string, tool.Option]{invoke: t.InvokableRun, silent: silent}
	return wrapCall(InternalInvokable, textOutputs, func(ctx context.Context, in *ToolInput) (string, error) {
		return f.callInvoke(ctx, in.Arguments, in.CallOptions)
	}, middlewares, func(m *ToolMiddleware) InvokableToolMiddleware { return m.Invokable })
}

func bindStreamable(
	t tool.StreamableTool, silent bool, middlewares []ToolMiddleware,
) toolCallFunc[*schema.StreamReader[string]] {
	f := &forms[string, string, tool.Option]{stream: t.StreamableRun, silent: silent}
	return wrapCall(InternalStreamable, textStreamOutputs,
		func(ctx context.Context, in *ToolInput) (*schema.StreamReader[string], error) {
			return f.callStream(ctx, in.Arguments, in.CallOptions)
		}, middlewares, func(m *ToolMiddleware) StreamableToolMiddleware { return m.Streamable })
}

func bindEnhancedInvokable(
	t tool.EnhancedInvokableTool, silent bool, middlewares []ToolMiddleware,
) toolCallFunc[*schema.ToolResult] {
	f := &forms[*schema.ToolArgument, *schema.ToolResult, tool.Option]{invoke: t.InvokableRun, silent: silent}
	return wrapCall(InternalEnhancedInvokable, resultOutputs,
		func(ctx context.Context, in *ToolInput) (*schema.ToolResult, error) {
			return f.callInvoke(ctx, &schema.ToolArgument{Text: in.Arguments}, in.CallOptions)
		}, middlewares, func(m *ToolMiddleware) EnhancedInvokableToolMiddleware { return m.EnhancedInvokable })
}

func bindEnhancedStreamable(
	t tool.EnhancedStreamableTool, silent bool, middlewares []ToolMiddleware,
) toolCallFunc[*schema.StreamReader[*schema.ToolResult]] {
	f := &forms[*schema.ToolArgument, *schema.ToolResult, tool.Option]{stream: t.StreamableRun, silent: silent}
	call := func(ctx context.Context, in *ToolInput) (*schema.StreamReader[*schema.ToolResult], error) {
		return f.callStream(ctx, &schema.ToolArgument{Text: in.Arguments}, in.CallOptions)
	}
	return wrapCall(InternalEnhancedStreamable, resultStreamOutputs, call,
		middlewares, func(m *ToolMiddleware) EnhancedStreamableToolMiddleware { return m.EnhancedStreamable })
}
