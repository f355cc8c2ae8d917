package reduction

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

var errNoTruncBackend = errors.New("truncation: no backend for offload")

// WrapInvokableToolCall cuts the results of a tool.
func (m *middleware[M]) WrapInvokableToolCall(_ context.Context, endpoint adk.InvokableToolCallEndpoint, tCtx *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	t := m.truncationOf(tCtx.Name)
	if t == nil {
		return endpoint, nil
	}
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		text, err := endpoint(ctx, arguments, opts...)
		if err != nil || t.handler == nil && len(text) <= m.conf.MaxLengthForTrunc {
			return text, err
		}
		cut, err := m.truncate(ctx, t, &ToolDetail{
			ToolContext: tCtx, ToolArgument: &schema.ToolArgument{Text: arguments}, ToolResult: textResult(text)})
		if err != nil {
			return "", err
		}
		if cut == nil {
			return text, nil
		}
		return firstText(cut), nil
	}, nil
}

// WrapEnhancedInvokableToolCall cuts the results of a tool.
func (m *middleware[M]) WrapEnhancedInvokableToolCall(_ context.Context, endpoint adk.EnhancedInvokableToolCallEndpoint, tCtx *adk.ToolContext) (adk.EnhancedInvokableToolCallEndpoint, error) {
	t := m.truncationOf(tCtx.Name)
	if t == nil {
		return endpoint, nil
	}
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.ToolResult, error) {
		result, err := endpoint(ctx, argument, opts...)
		if err != nil {
			return result, err
		}
		cut, err := m.truncate(ctx, t, &ToolDetail{ToolContext: tCtx, ToolArgument: argument, ToolResult: result})
		if err != nil {
			return nil, err
		}
		if cut == nil {
			return result, nil
		}
		return cut, nil
	}, nil
}

// WrapStreamableToolCall cuts the results of a tool that streams.
func (m *middleware[M]) WrapStreamableToolCall(_ context.Context, endpoint adk.StreamableToolCallEndpoint, tCtx *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	t := m.truncationOf(tCtx.Name)
	if t == nil {
		return endpoint, nil
	}
	return func(ctx context.Context, arguments string, opts ...tool.Option) (*schema.StreamReader[string], error) {
		stream, err := endpoint(ctx, arguments, opts...)
		if err != nil || stream == nil {
			return stream, err
		}
		detail := &ToolDetail{ToolContext: tCtx, ToolArgument: &schema.ToolArgument{Text: arguments}}
		if t.handler == nil {
			return cutStream(ctx, stream, textCut{}, m.saver(t, detail)), nil
		}
		original, cut, err := handleStream(ctx, t, detail, stream, asResults)
		if err != nil || cut == nil {
			return original, err
		}
		return schema.StreamReaderWithConvert(cut, func(r *schema.ToolResult) (string, error) { return firstText(r), nil }), nil
	}, nil
}

// WrapEnhancedStreamableToolCall cuts the results of a tool that streams.
func (m *middleware[M]) WrapEnhancedStreamableToolCall(_ context.Context, endpoint adk.EnhancedStreamableToolCallEndpoint, tCtx *adk.ToolContext) (adk.EnhancedStreamableToolCallEndpoint, error) {
	t := m.truncationOf(tCtx.Name)
	if t == nil {
		return endpoint, nil
	}
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
		stream, err := endpoint(ctx, argument, opts...)
		if err != nil || stream == nil {
			return stream, err
		}
		detail := &ToolDetail{ToolContext: tCtx, ToolArgument: argument}
		if t.handler == nil {
			return cutStream(ctx, stream, partsCut{}, m.saver(t, detail)), nil
		}
		same := func(s *schema.StreamReader[*schema.ToolResult]) *schema.StreamReader[*schema.ToolResult] { return s }
		original, cut, err := handleStream(ctx, t, detail, stream, same)
		if err != nil || cut == nil {
			return original, err
		}
		return cut, nil
	}, nil
}

// truncate returns what takes the place of a result, nil if it stays.
func (m *middleware[M]) truncate(ctx context.Context, t *truncation, detail *ToolDetail) (*schema.ToolResult, error) {
	handler := t.handler
	if handler == nil {
		handler = m.truncateDefault
	}
	cut, err := t.handled(ctx, handler, detail)
	if err != nil || cut == nil {
		return nil, err
	}
	if cut.ToolResult == nil {
		return nil, fmt.Errorf("truncation: the handler of tool %q wants its result replaced and returned none", detail.ToolContext.Name)
	}
	return cut.ToolResult, nil
}

// handled calls a handler and writes what it wants written. It returns nil if the result stays.
func (t *truncation) handled(ctx context.Context, handler func(context.Context, *ToolDetail) (*TruncResult, error), detail *ToolDetail) (*TruncResult, error) {
	cut, err := handler(ctx, detail)
	if err != nil || cut == nil || !cut.NeedTrunc {
		return nil, err
	}
	if !cut.NeedOffload {
		return cut, nil
	}
	return cut, t.write(ctx, cut.OffloadFilePath, cut.OffloadContent)
}

func (t *truncation) write(ctx context.Context, path, content string) error {
	if t.backend == nil {
		return errNoTruncBackend
	}
	return t.backend.Write(ctx, &filesystem.WriteRequest{FilePath: path, Content: content})
}

// handleStream shows a copy of a stream to a tool's own handler. It returns what takes its place, or else the stream
// itself, with all that the handler has read.
func handleStream[T any](ctx context.Context, t *truncation, detail *ToolDetail, stream *schema.StreamReader[T],
	asResults func(*schema.StreamReader[T]) *schema.StreamReader[*schema.ToolResult]) (*schema.StreamReader[T], *schema.StreamReader[*schema.ToolResult], error) {
	copies := stream.Copy(2)
	original, shown := copies[0], asResults(copies[1])
	detail.StreamToolResult = shown
	cut, err := t.handled(ctx, t.handler, detail)
	if err != nil {
		original.Close()
		shown.Close()
		return nil, nil, err
	}
	if cut == nil {
		shown.Close()
		return original, nil, nil
	}
	original.Close()
	switch {
	case cut.StreamToolResult != nil:
		// It may read from the copy, which is closed by whoever closes the result then.
		shown.SetAutomaticClose()
		return nil, cut.StreamToolResult, nil
	case cut.ToolResult != nil:
		shown.Close()
		return nil, schema.StreamReaderFromArray([]*schema.ToolResult{cut.ToolResult}), nil
	}
	shown.Close()
	return nil, nil, fmt.Errorf("truncation: the handler of tool %q wants its stream replaced and returned none", detail.ToolContext.Name)
}

func asResults(s *schema.StreamReader[string]) *schema.StreamReader[*schema.ToolResult] {
	return schema.StreamReaderWithConvert(s, func(text string) (*schema.ToolResult, error) { return textResult(text), nil })
}

// textResult is a text as the result of a tool.
func textResult(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

// firstText is the text of the first part of a result.
func firstText(r *schema.ToolResult) string {
	if r == nil || len(r.Parts) == 0 {
		return ""
	}
	return r.Parts[0].Text
}
