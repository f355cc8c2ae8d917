// Package toolresult changes what tools return before the model gets it.
//
// The middlewares that move large results into files are made of it.
// It must never keep a stream open that it has read.
package toolresult

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// Rewrite returns a middleware that replaces the texts of tools by what rewrite makes of them. Streams are read to
// their end first and become one chunk. Multi-modal results are left alone.
func Rewrite(
	rewrite func(ctx context.Context, input *compose.ToolInput, result string) (string, error),
) compose.ToolMiddleware {
	return compose.ToolMiddleware{
		Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			return func(ctx context.Context, input *compose.ToolInput) (*compose.ToolOutput, error) {
				output, err := next(ctx, input)
				if err != nil || output == nil {
					return output, err
				}
				result, err := rewrite(ctx, input, output.Result)
				if err != nil {
					return nil, err
				}
				return &compose.ToolOutput{Result: result}, nil
			}
		},
		Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			return func(ctx context.Context, input *compose.ToolInput) (*compose.StreamToolOutput, error) {
				output, err := next(ctx, input)
				if err != nil {
					return nil, err
				}
				if output == nil || output.Result == nil {
					return nil, errors.New("stream is nil")
				}
				whole, err := readAll(ctx, output.Result)
				if err != nil {
					return nil, err
				}
				result, err := rewrite(ctx, input, whole)
				if err != nil {
					return nil, err
				}
				return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray([]string{result})}, nil
			}
		},
	}
}

func readAll(ctx context.Context, stream *schema.StreamReader[string]) (string, error) {
	defer stream.Close()
	var b strings.Builder
	for {
		chunk, err := stream.RecvContext(ctx)
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		b.WriteString(chunk)
	}
}
