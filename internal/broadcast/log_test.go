package broadcast

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/pipe"
	"github.com/weftgo/weft/internal/pull"
)

func item(v int) pull.Item[int] { return pull.Item[int]{Value: v} }

type calls int

func (c *calls) Wake() { *c++ }

// counted counts how often its pipe was asked and closed.
type counted struct {
	*pipe.Pipe[int]
	polls, closes int
}

func (c *counted) Poll(w pull.Waker) (pull.Item[int], bool) {
	c.polls++
	return c.Pipe.Poll(w)
}

func (c *counted) Close() {
	c.closes++
	c.Pipe.Close()
}

func newCounted() *counted { return &counted{Pipe: pipe.New[int](200)} }

func requirePoll(t *testing.T, c *Cursor[int], want pull.Item[int]) {
	t.Helper()
	got, ok := c.Poll(nil)
	require.True(t, ok)
	require.Equal(t, want, got)
}

func TestCursors_ReadTheSourceOnce(t *testing.T) {
	src := newCounted()
	first := New[int](src)
	second := first.Clone()
	for i := range 150 { // over several blocks
		src.Send(item(i))
		requirePoll(t, first, item(i))
	}
	third := first.Clone()
	for i := range 150 {
		requirePoll(t, second, item(i))
	}
	require.Equal(t, 150, src.polls)
	src.CloseWrite()
	for _, c := range []*Cursor[int]{first, second, third} {
		requirePoll(t, c, pull.Item[int]{Err: io.EOF})
		requirePoll(t, c, pull.Item[int]{Err: io.EOF})
		c.Close()
	}
	require.Equal(t, 151, src.polls, "the end is remembered")
	require.Equal(t, 1, src.closes)
}

func TestCursors_AllAreWokenByTheSource(t *testing.T) {
	src := newCounted()
	first := New[int](src)
	second := first.Clone()
	var a, b calls
	for range 3 { // registered once however often they ask
		_, ok := first.Poll(&a)
		require.False(t, ok)
		_, ok = second.Poll(&b)
		require.False(t, ok)
	}
	src.Send(item(1))
	require.EqualValues(t, 1, a)
	require.EqualValues(t, 1, b)
	requirePoll(t, first, item(1))

	_, ok := first.Poll(&a)
	require.False(t, ok)
	_, ok = first.Poll(nil) // no cursor waits any more
	require.False(t, ok)
	require.Empty(t, first.log.list)
	src.Send(item(2))
	require.EqualValues(t, 1, a)
}

func TestClose_WakesItsCursorOnly(t *testing.T) {
	src := newCounted()
	first := New[int](src)
	second := first.Clone()
	var a, b calls
	first.Poll(&a)
	second.Poll(&b)
	first.Close()
	first.Close()
	require.EqualValues(t, 1, a)
	require.Zero(t, b)
	requirePoll(t, first, pull.Item[int]{Err: pull.ErrClosed})
	requirePoll(t, first.Clone(), pull.Item[int]{Err: pull.ErrClosed})
	require.Zero(t, src.closes)
	second.Close()
	require.EqualValues(t, 1, b)
	require.Equal(t, 1, src.closes)
}

func TestClosedSourceEndsTheLog(t *testing.T) {
	src := newCounted()
	first := New[int](src)
	second := first.Clone()
	src.Pipe.Close()
	for _, c := range []*Cursor[int]{first, second} {
		requirePoll(t, c, pull.Item[int]{Err: pull.ErrClosed})
		requirePoll(t, c, pull.Item[int]{Err: io.EOF})
	}
}

// Drain hides the Drain of the pipe: a source that does more than a pipe is no leaf.
func (c *counted) Drain() {}

func TestLeafIsReadAheadByHalfItsCapacityAtMost(t *testing.T) {
	src := pipe.New[int](4)
	for i := range 4 {
		require.False(t, src.Send(item(i)))
	}
	first := New[int](src)
	second := first.Clone()
	requirePoll(t, first, item(0)) // took 1 and 2 as well
	for i := 4; i < 7; i++ {
		require.False(t, src.Send(item(i)))
	}
	for i := range 7 {
		requirePoll(t, second, item(i))
		if i > 0 {
			requirePoll(t, first, item(i))
		}
	}
	src.Close()
	requirePoll(t, first, pull.Item[int]{Err: pull.ErrClosed})
	requirePoll(t, second, pull.Item[int]{Err: pull.ErrClosed})
}

// called is a source that calls its waker before it answers that it has nothing.
type called struct {
	counted
	calling bool
}

func (c *called) Poll(w pull.Waker) (pull.Item[int], bool) {
	got, ok := c.counted.Poll(w)
	if !ok && !c.calling {
		c.calling = true
		c.Send(item(1))
	}
	return got, ok
}

func TestWakeDuringAFetchIsNotLost(t *testing.T) {
	src := &called{counted: counted{Pipe: pipe.New[int](4)}}
	requirePoll(t, New[int](src), item(1))
}

// slow answers when it is released.
type slow struct {
	counted
	release chan struct{}
	late    func() // called once, when the answer is made
}

func (s *slow) Poll(w pull.Waker) (pull.Item[int], bool) {
	<-s.release
	got, ok := s.counted.Poll(w)
	if late := s.late; late != nil {
		s.late = nil
		late()
	}
	return got, ok
}

// A source may call while one cursor asks it and another waits. If the first is closed meanwhile, it is for the other
// to ask again.
func TestWakeDuringTheFetchOfAClosedCursorIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &slow{counted: counted{Pipe: pipe.New[int](4)}, release: make(chan struct{})}
		first := New[int](src)
		second := first.Clone()
		go func() {
			got, ok := first.Poll(nil)
			require.True(t, ok)
			require.Equal(t, pull.Item[int]{Err: pull.ErrClosed}, got)
		}()
		synctest.Wait()
		var w calls
		_, ok := second.Poll(&w)
		require.False(t, ok)
		src.late = func() {
			src.Send(item(1))
			require.EqualValues(t, 1, w)
			_, ok := second.Poll(&w) // it looks while the first is fetching still
			require.False(t, ok)
			first.Close()
		}
		close(src.release)
		synctest.Wait()
		require.EqualValues(t, 2, w)
		requirePoll(t, second, item(1))
	})
}

func TestFetchHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &slow{counted: counted{Pipe: pipe.New[int](4)}, release: make(chan struct{})}
		src.Send(item(1))
		first := New[int](src)
		second, third := first.Clone(), first.Clone()
		go requirePoll(t, first, item(1))
		synctest.Wait()
		var w calls
		_, ok := second.Poll(&w)
		require.False(t, ok)
		third.Close()
		close(src.release)
		synctest.Wait()
		require.EqualValues(t, 1, w)
		requirePoll(t, second, item(1))
	})
}

func TestCutOff_EndsAllCursorsBehindWhatTheSourceHad(t *testing.T) {
	gone := errors.New("gone")
	for _, leaf := range []bool{true, false} {
		p := pipe.New[int](200)
		var src pull.Source[int] = p
		if !leaf {
			src = &counted{Pipe: p}
		}
		left, reads := New[int](src), (*Cursor[int])(nil)
		reads = left.Clone()
		p.Send(item(1))
		requirePoll(t, left, item(1))
		p.Send(item(2))
		var woken calls
		if !leaf {
			_, _ = reads.Poll(nil)
			requirePoll(t, reads, item(2))
			_, ok := reads.Poll(&woken)
			require.False(t, ok)
		}
		left.CutOff(gone)
		left.CutOff(io.ErrUnexpectedEOF)
		left.Close()
		require.True(t, p.Send(item(3)), "the producer does not wait for anybody")
		if leaf {
			requirePoll(t, reads, item(1))
			requirePoll(t, reads, item(2))
		} else {
			require.EqualValues(t, 1, woken)
		}
		requirePoll(t, reads, pull.Item[int]{Err: gone})
		requirePoll(t, reads, pull.Item[int]{Err: io.EOF})
	}
}

func TestCutOff_AfterTheEndChangesNothing(t *testing.T) {
	src := newCounted()
	c := New[int](src)
	src.Send(item(1))
	src.CloseWrite()
	other := c.Clone()
	requirePoll(t, c, item(1))
	requirePoll(t, c, pull.Item[int]{Err: io.EOF})
	c.CutOff(errors.New("late"))
	requirePoll(t, other, item(1))
	requirePoll(t, other, pull.Item[int]{Err: io.EOF})
}
