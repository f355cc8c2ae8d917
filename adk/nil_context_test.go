package adk

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/compose"
)

// What code of users asks of a context is answered without one as it is outside a run, and never by a panic.
func TestNilContext_IsOutsideARun(t *testing.T) {
	var noContext context.Context
	for name, err := range map[string]error{
		"SendEvent":           SendEvent(noContext, &AgentEvent{}),
		"TypedSendEvent":      TypedSendEvent(noContext, &TypedAgentEvent[AgenticMessage]{}),
		"SendToolGenAction":   SendToolGenAction(noContext, "t", NewExitAction()),
		"SetRunLocalValue":    SetRunLocalValue(noContext, "k", 1),
		"DeleteRunLocalValue": DeleteRunLocalValue(noContext, "k"),
	} {
		require.ErrorIs(t, err, errOutsideRun, name)
	}
	_, _, err := GetRunLocalValue(noContext, "k")
	require.ErrorIs(t, err, errOutsideRun)

	for name, event := range map[string]*AgentEvent{
		"Interrupt":          Interrupt(noContext, "why"),
		"StatefulInterrupt":  StatefulInterrupt(noContext, "why", 1),
		"CompositeInterrupt": CompositeInterrupt(noContext, "why", 1),
	} {
		require.NoError(t, event.Err, name)
		require.Len(t, event.Action.Interrupted.InterruptContexts, 1, name)
		require.Equal(t, "why", event.Action.Interrupted.InterruptContexts[0].Info, name)
	}

	AddSessionValue(noContext, "k", 1)
	_, ok := GetSessionValue(noContext, "k")
	require.False(t, ok)
	require.Empty(t, GetSessionValues(noContext))
	require.Empty(t, GetIdempotencyKey(noContext))
	require.Nil(t, ClearRunCtx(noContext))
	done, mode := CancelRequested(noContext)
	require.Nil(t, done)
	_, requested := mode()
	require.False(t, requested)
	require.Equal(t, "agent:a",
		compose.GetCurrentAddress(AppendAddressSegment(noContext, AddressSegmentAgent, "a")).String())
}
