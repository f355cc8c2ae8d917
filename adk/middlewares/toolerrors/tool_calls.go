package toolerrors

import (
	"context"
	"io"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// reportErrors turns the errors of a tool into results that the model can read.
func (m *middleware[M]) reportErrors(
	ctx context.Context, call *compose.ToolInput, next compose.ToolCallEndpoint,
) (*compose.ToolCallOutput, error) {
	name, callID := call.Name, call.CallID
	out, err := next(ctx, call)
	if err == nil && out.TextStream == nil && out.ResultStream == nil {
		return out, nil
	}
	textOf := func(err error) (string, bool) {
		return m.textOf(ctx, &adk.ToolContext{Name: name, CallID: callID}, err)
	}
	if err != nil {
		if text, ok := textOf(err); ok {
			return &compose.ToolCallOutput{Text: text}, nil
		}
		return nil, err
	}
	if out.TextStream != nil {
		out.TextStream = withoutErrors(out.TextStream, func(text string) string { return text }, textOf)
	}
	if out.ResultStream != nil {
		out.ResultStream = withoutErrors(out.ResultStream, textResult, textOf)
	}
	return out, nil
}

// textResult is a text as the result of a tool.
func textResult(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

// withoutErrors is a stream in which the first error is the last chunk, if a text takes its place.
func withoutErrors[T any](
	stream *schema.StreamReader[T], chunk func(text string) T, textOf func(error) (string, bool),
) *schema.StreamReader[T] {
	stream, abort := schema.StreamReaderWithAbort(stream)
	shown, last := false, ""
	return schema.StreamReaderWithConvert(stream,
		func(c T) (T, error) {
			shown = true
			return c, nil
		},
		schema.WithErrWrapper(func(err error) error {
			text, ok := textOf(err)
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
	)
}
