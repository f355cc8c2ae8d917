package adk

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEarlyCall_Phases is the table at earlyPhase.
func TestEarlyCall_Phases(t *testing.T) {
	legal := map[[2]earlyPhase]bool{
		{earlyHeld, earlyPublished}: true, {earlyHeld, earlyDiscarded}: true, {earlyPublished, earlyClosed}: true,
	}
	for from := earlyHeld; from <= earlyClosed; from++ {
		for to := earlyHeld; to <= earlyClosed; to++ {
			c := &earlyCall{phase: from}
			if legal[[2]earlyPhase{from, to}] {
				require.NotPanics(t, func() { c.move(to) })
			} else {
				require.Panics(t, func() { c.move(to) }, "%d to %d", from, to)
			}
		}
	}
}

// TestEarlyCall_HoldsItsEventsUntilItsMessageStands: what a call emits is held, published or dropped with it.
func TestEarlyCall_HoldsItsEventsUntilItsMessageStands(t *testing.T) {
	newCall := func() *earlyCall {
		c := &earlyCall{done: make(chan struct{})}
		c.ctx, c.cancel = context.WithCancelCause(t.Context())
		return c
	}
	var said []string
	event := func(name string) heldEvent {
		return heldEvent{publish: func() error { said = append(said, name); return nil }, drop: func() { said = append(said, "drop "+name) }}
	}
	c := newCall()
	require.NoError(t, c.hold(event("one")))
	require.NoError(t, c.holdAction(event("its action").publish))
	require.Empty(t, said)
	require.NoError(t, c.release())
	require.NoError(t, c.hold(event("two")))
	c.discard(errRunOver) // too late
	require.NoError(t, c.ctx.Err())
	c.close(errRunOver)
	c.close(errRunOver)
	require.ErrorIs(t, context.Cause(c.ctx), errRunOver)
	require.NoError(t, c.hold(event("three")))
	require.Equal(t, []string{"its action", "one", "two", "three"}, said)

	said = nil
	c = newCall()
	require.NoError(t, c.hold(event("one")))
	c.close(errRunOver)
	require.NoError(t, c.release())
	require.NoError(t, c.hold(event("two")))
	require.Equal(t, []string{"drop one", "drop two"}, said)

	failed := errors.New("failed")
	c = newCall()
	require.NoError(t, c.hold(heldEvent{publish: func() error { return failed }}))
	require.ErrorIs(t, c.release(), failed)
	require.Equal(t, earlyHeld, c.phase)
}
