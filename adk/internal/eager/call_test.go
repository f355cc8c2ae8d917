package eager

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCall_Phases is the table at callPhase.
func TestCall_Phases(t *testing.T) {
	legal := map[[2]callPhase]bool{
		{callHeld, callPublished}: true, {callHeld, callDiscarded}: true, {callPublished, callClosed}: true,
	}
	for from := callHeld; from <= callClosed; from++ {
		for to := callHeld; to <= callClosed; to++ {
			c := &Call{phase: from}
			if legal[[2]callPhase{from, to}] {
				require.NotPanics(t, func() { c.move(to) })
			} else {
				require.Panics(t, func() { c.move(to) }, "%d to %d", from, to)
			}
		}
	}
}

// TestCall_HoldsItsEventsUntilItsMessageStands: what a call emits is held, published or dropped with it.
func TestCall_HoldsItsEventsUntilItsMessageStands(t *testing.T) {
	newCall := func() *Call {
		c := &Call{done: make(chan struct{})}
		c.ctx, c.cancel = context.WithCancelCause(t.Context())
		return c
	}
	var said []string
	event := func(name string) Event {
		return Event{Publish: func() error { said = append(said, name); return nil },
			Drop: func() { said = append(said, "drop "+name) }}
	}
	c := newCall()
	require.NoError(t, c.Hold(event("one")))
	require.NoError(t, c.HoldAction(event("its action").Publish))
	require.Empty(t, said)
	require.NoError(t, c.release())
	require.NoError(t, c.Hold(event("two")))
	c.discard(errRunOver) // too late
	require.NoError(t, c.ctx.Err())
	c.close(errRunOver)
	c.close(errRunOver)
	require.ErrorIs(t, context.Cause(c.ctx), errRunOver)
	require.NoError(t, c.Hold(event("three")))
	require.Equal(t, []string{"its action", "one", "two", "three"}, said)

	said = nil
	c = newCall()
	require.NoError(t, c.Hold(event("one")))
	c.close(errRunOver)
	require.NoError(t, c.release())
	require.NoError(t, c.Hold(event("two")))
	require.Equal(t, []string{"drop one", "drop two"}, said)

	failed := errors.New("failed")
	c = newCall()
	require.NoError(t, c.Hold(Event{Publish: func() error { return failed }}))
	require.ErrorIs(t, c.release(), failed)
	require.Equal(t, callHeld, c.phase)
}
