package pipe

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/pull"
)

func item(v int) pull.Item[int] { return pull.Item[int]{Value: v} }

// calls counts wakes; it is no parker, so nothing is handed to it.
type calls int

func (c *calls) Wake() { *c++ }

func requirePoll(t *testing.T, p *Pipe[int], want pull.Item[int]) {
	t.Helper()
	got, ok := p.Poll(nil)
	require.True(t, ok)
	require.Equal(t, want, got)
}

func TestPoll_WakesOnceForEachEmptyAnswer(t *testing.T) {
	p := New[int](4)
	var first, second calls
	for _, w := range []*calls{&first, &second} {
		_, ok := p.Poll(w)
		require.False(t, ok)
	}
	require.False(t, p.Send(item(1)))
	require.False(t, p.Send(item(2)))
	require.Zero(t, first, "only the latest waker is kept")
	require.EqualValues(t, 1, second)
	requirePoll(t, p, item(1))
	requirePoll(t, p, item(2))

	_, ok := p.Poll(&first)
	require.False(t, ok)
	_, ok = p.Poll(nil) // takes the waker back
	require.False(t, ok)
	p.Send(item(3))
	require.Zero(t, first)
}

func TestPoll_AnswersOfAClosedPipe(t *testing.T) {
	p := New[int](4)
	var w calls
	_, ok := p.Poll(&w)
	require.False(t, ok)
	p.CloseWrite()
	require.EqualValues(t, 1, w)
	requirePoll(t, p, pull.Item[int]{Err: io.EOF})
	requirePoll(t, p, pull.Item[int]{Err: io.EOF})
	require.True(t, p.Send(item(1)))
	p.Close()
	requirePoll(t, p, pull.Item[int]{Err: pull.ErrClosed})

	p = New[int](4)
	p.Send(item(1))
	p.Close()
	requirePoll(t, p, pull.Item[int]{Err: pull.ErrClosed})
	p.Close()
	p.CloseWrite()
	require.True(t, p.Prompt())
}

// A waker that is no goroutine may never take the item: with capacity 0 the sender must not continue for it.
func TestSend_HandsOverToParkedGoroutinesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, w := range []pull.Waker{new(calls), nil} {
			p := New[int](0)
			_, ok := p.Poll(w)
			require.False(t, ok)
			sent := false
			go func() {
				p.Send(item(1))
				sent = true
			}()
			synctest.Wait()
			require.False(t, sent)
			requirePoll(t, p, item(1))
			synctest.Wait()
			require.True(t, sent)
		}

		p := New[int](0)
		_, ok := p.Poll(pull.NewParker())
		require.False(t, ok)
		require.False(t, p.Send(item(1)))
		requirePoll(t, p, item(1))
	})
}

func TestSend_TakenItemIsNoDroppedItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New[int](1)
		results := make(chan bool, 2)
		p.Send(item(1))
		go func() { results <- p.Send(item(2)) }()
		synctest.Wait()
		requirePoll(t, p, item(1))
		requirePoll(t, p, item(2))
		p.Close()
		require.False(t, <-results, "it was taken")

		p = New[int](0)
		go func() { results <- p.Send(item(1)) }()
		synctest.Wait()
		go func() { results <- p.Send(item(2)) }()
		synctest.Wait()
		p.Close()
		require.True(t, <-results)
		require.True(t, <-results)
	})
}
