package toolcalls

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

func text(s string) *schema.Message { return schema.AssistantMessage(s, nil) }

func call() *schema.Message {
	return schema.AssistantMessage("", []schema.ToolCall{{Function: schema.FunctionCall{Name: "t"}}})
}

func TestInStream_FindsCallsWhereverTheyAre(t *testing.T) {
	both := call()
	both.Content = "text"
	reasoning := &schema.Message{Role: schema.Assistant, ReasoningContent: "hm"}
	cases := map[string]struct {
		chunks []*schema.Message
		want   bool
	}{
		"nothing":                 {nil, false},
		"text":                    {[]*schema.Message{text("a"), text("b")}, false},
		"call":                    {[]*schema.Message{call()}, true},
		"both in a chunk":         {[]*schema.Message{both}, true},
		"empty chunks, then call": {[]*schema.Message{text(""), nil, call()}, true},
		"text, then call":         {[]*schema.Message{text("let me see"), text("…"), call()}, true},
		"reasoning, text, call":   {[]*schema.Message{reasoning, text("a"), call(), text("b")}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := InStream(context.Background(), schema.StreamReaderFromArray(c.chunks))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestInStream_ErrorsAreReturnedAndTheStreamIsClosed(t *testing.T) {
	boom := errors.New("boom")
	sr, sw := schema.Pipe[*schema.Message](2)
	sw.Send(text("a"), nil)
	sw.Send(nil, boom)
	_, err := InStream(context.Background(), sr)
	require.ErrorIs(t, err, boom)
	require.True(t, sw.Send(text("b"), nil), "the stream is closed")

	sr, sw = schema.Pipe[*schema.Message](1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = InStream(ctx, sr)
	require.ErrorIs(t, err, context.Canceled, "a silent model does not hold up a cancelled run")
	require.True(t, sw.Send(text("b"), nil))
}

func TestOr_ClosesTheStreamForTheChecker(t *testing.T) {
	sr, sw := schema.Pipe[*schema.Message](1)
	got, err := Or(func(context.Context, *schema.StreamReader[*schema.Message]) (bool, error) {
		return true, nil
	})(context.Background(), sr)
	require.NoError(t, err)
	require.True(t, got)
	require.True(t, sw.Send(text("b"), nil))

	got, err = Or(nil)(context.Background(), schema.StreamReaderFromArray([]*schema.Message{text("a"), call()}))
	require.NoError(t, err)
	require.True(t, got)
}
