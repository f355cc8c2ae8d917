package toolresult

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

var errTool = errors.New("the tool failed")

func TestRewrite(t *testing.T) {
	m := Rewrite(func(_ context.Context, in *compose.ToolInput, result string) (string, error) {
		if result == "" {
			return "", errTool
		}
		return in.Name + ":" + result, nil
	})
	in := &compose.ToolInput{Name: "t"}
	stream := func(chunks ...string) compose.StreamableToolEndpoint {
		return m.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
			return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray(chunks)}, nil
		})
	}
	streamed, err := stream("a", "b")(t.Context(), in)
	require.NoError(t, err)
	got, err := streamed.Result.Recv()
	require.NoError(t, err)
	require.Equal(t, "t:ab", got)
	_, err = stream()(t.Context(), in)
	require.ErrorIs(t, err, errTool)

	out, err := m.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
		return &compose.ToolOutput{Result: "x"}, nil
	})(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, "t:x", out.Result)
	_, err = m.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
		return nil, nil
	})(t.Context(), in)
	require.EqualError(t, err, "stream is nil")
}
