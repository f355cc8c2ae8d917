package toolerrors

import (
	"context"
	"io"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

func textResult(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

func sameText(text string) string { return text }

// WrapInvokableToolCall has errors told, and so do the three methods after it.
func (m *middleware[M]) WrapInvokableToolCall(_ context.Context, endpoint adk.InvokableToolCallEndpoint, tCtx *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		result, err := endpoint(ctx, arguments, opts...)
		if text, ok := m.told(ctx, tCtx, err); ok {
			return text, nil
		}
		return result, err
	}, nil
}

// WrapEnhancedInvokableToolCall has errors told.
func (m *middleware[M]) WrapEnhancedInvokableToolCall(_ context.Context, endpoint adk.EnhancedInvokableToolCallEndpoint, tCtx *adk.ToolContext) (adk.EnhancedInvokableToolCallEndpoint, error) {
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.ToolResult, error) {
		result, err := endpoint(ctx, argument, opts...)
		if text, ok := m.told(ctx, tCtx, err); ok {
			return textResult(text), nil
		}
		return result, err
	}, nil
}

// WrapStreamableToolCall has errors told.
func (m *middleware[M]) WrapStreamableToolCall(_ context.Context, endpoint adk.StreamableToolCallEndpoint, tCtx *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (*schema.StreamReader[string], error) {
		stream, err := endpoint(ctx, arguments, opts...)
		return toldStream(stream, err, sameText, func(err error) (string, bool) { return m.told(ctx, tCtx, err) })
	}, nil
}

// WrapEnhancedStreamableToolCall has errors told.
func (m *middleware[M]) WrapEnhancedStreamableToolCall(_ context.Context, endpoint adk.EnhancedStreamableToolCallEndpoint, tCtx *adk.ToolContext) (adk.EnhancedStreamableToolCallEndpoint, error) {
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
		stream, err := endpoint(ctx, argument, opts...)
		return toldStream(stream, err, textResult, func(err error) (string, bool) { return m.told(ctx, tCtx, err) })
	}, nil
}

// toldStream is the result of a call that streams, with its error told: the one that it did not begin for, or else the
// first one inside, which ends the stream as its last chunk.
func toldStream[T any](stream *schema.StreamReader[T], err error, chunk func(text string) T, told func(error) (string, bool)) (*schema.StreamReader[T], error) {
	if text, ok := told(err); ok {
		return schema.StreamReaderFromArray([]T{chunk(text)}), nil
	}
	if err != nil || stream == nil {
		return stream, err
	}
	stream, abort := schema.StreamReaderWithAbort(stream)
	shown, last := false, ""
	return schema.StreamReaderWithConvert(stream,
		func(c T) (T, error) {
			shown = true
			return c, nil
		},
		schema.WithErrWrapper(func(err error) error {
			text, ok := told(err)
			if !ok {
				return err
			}
			if last = text; shown {
				last = "\n" + text
			}
			abort(io.EOF) // nothing that might come after the error counts
			return nil
		}),
		schema.WithOnEOF(func() (any, error) {
			if last == "" {
				return nil, io.EOF
			}
			return chunk(last), nil
		}),
	), nil
}
