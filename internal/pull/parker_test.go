package pull

import (
	"context"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestParker_KeepsOneWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewParker()
		p.Wake()
		p.Wake()
		p.Park()
		parked := true
		go func() {
			p.Park()
			parked = false
		}()
		synctest.Wait()
		require.True(t, parked)
		p.Wake()
		synctest.Wait()
		require.False(t, parked)
	})
}

func TestParker_ParkContext(t *testing.T) {
	p := NewParker()
	p.Wake()
	require.True(t, p.ParkContext(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, p.ParkContext(ctx))
}

// late has an item after it has been asked and has woken its waker.
type late struct{ asked int }

func (l *late) Poll(w Waker) (Item[int], bool) {
	if l.asked++; l.asked%2 == 1 {
		go w.Wake()
		return Item[int]{}, false
	}
	if l.asked > 4 {
		return Item[int]{Err: io.EOF}, true
	}
	return Item[int]{Value: l.asked}, true
}

func (l *late) Prompt() bool     { return true }
func (l *late) Close()           {}
func (l *late) Producer() Closer { return nil }

func TestWait(t *testing.T) {
	src, p := new(late), NewParker()
	require.Equal(t, Item[int]{Value: 2}, Wait(src, p))
	require.Equal(t, Item[int]{Value: 4}, Wait(src, p))
	require.Equal(t, Item[int]{Err: io.EOF}, Wait(src, p))
}
