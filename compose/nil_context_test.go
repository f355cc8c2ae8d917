package compose

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

var noContext context.Context

// What code of users asks of a context is answered without one as it is outside a run, and never by a panic.
func TestNilContext_IsOutsideARun(t *testing.T) {
	for name, err := range map[string]error{
		"Interrupt":          Interrupt(noContext, "why"),
		"StatefulInterrupt":  StatefulInterrupt(noContext, "why", 1),
		"CompositeInterrupt": CompositeInterrupt(noContext, "why", 1, InterruptAndRerun),
		"WrapInterruptAndRerunIfNeeded": WrapInterruptAndRerunIfNeeded(noContext,
			AddressSegment{Type: AddressSegmentNode, ID: "n"}, InterruptAndRerun),
	} {
		_, is := IsInterruptRerunError(err)
		require.True(t, is, "%s: %v", name, err)
	}
	require.ErrorContains(t, ProcessState(noContext, func(context.Context, int) error { return nil }),
		"have not set state")
	require.Empty(t, GetCurrentAddress(noContext))
	require.Empty(t, GetToolCallID(noContext))
	was, hasState, _ := GetInterruptState[int](noContext)
	target, hasData, _ := GetResumeContext[int](noContext)
	require.False(t, was || hasState || target || hasData)
}

// A context made of none is one for everything.
func TestNilContext_IsDerivedFrom(t *testing.T) {
	at := AppendAddressSegment(noContext, AddressSegmentNode, "n")
	require.Equal(t, "node:n", GetCurrentAddress(at).String())
	for _, ctx := range []context.Context{at, Resume(noContext, "id"), ResumeWithData(noContext, "id", 1)} {
		require.NoError(t, ctx.Err())
		require.Nil(t, ctx.Value("anything"))
	}
}

func TestNilContext_OfARunIsAnError(t *testing.T) {
	const want = "the context is nil: pass context.Background() if there is none"
	r := plainGraph(t)
	_, err := r.Invoke(noContext, "in")
	require.ErrorContains(t, err, want)
	_, err = r.Stream(noContext, "in")
	require.ErrorContains(t, err, want)
	in, writer := schema.Pipe[string](0)
	_, err = r.Collect(noContext, in)
	require.ErrorContains(t, err, want)
	require.True(t, writer.Send("nobody reads", nil), "the input stream is to be closed")

	node, err := NewToolNode(context.Background(), &ToolsNodeConfig{})
	require.NoError(t, err)
	_, err = node.Invoke(noContext, schema.UserMessage(""))
	require.ErrorContains(t, err, want)
	_, err = node.Stream(noContext, schema.UserMessage(""))
	require.ErrorContains(t, err, want)
}
