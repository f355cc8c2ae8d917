package adk

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/cancelscope"
)

// TestPendingCall_IsNotMadeOnceItWasAbandoned: a call whose goroutine comes to run after the run has stopped, and has
// maybe been resumed, must not call the tool beside the resumed one.
func TestPendingCall_IsNotMadeOnceItWasAbandoned(t *testing.T) {
	var control cancelscope.Control
	view := control.Root()
	called := false
	call := watch(t.Context(), view, func(context.Context) (int, error) { called = true; return 1, nil })
	defer call.Release()
	control.Ask(cancelscope.Request{})
	require.False(t, call.Wait())
	call.work()
	require.False(t, called)
}
