package merge

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/pipe"
	"github.com/weftgo/weft/internal/pull"
)

func item(v int) pull.Item[int] { return pull.Item[int]{Value: v} }

type calls int

func (c *calls) Wake() { *c++ }

func open(n int) (pipes []*pipe.Pipe[int], srcs []pull.Source[int]) {
	for range n {
		p := pipe.New[int](100)
		pipes, srcs = append(pipes, p), append(srcs, p)
	}
	return pipes, srcs
}

func requirePoll(t *testing.T, q *Queue[int], want pull.Item[int]) {
	t.Helper()
	got, ok := q.Poll(nil)
	require.True(t, ok)
	require.Equal(t, want, got)
}

func TestQueue_AsksOnlyWhoHasSomething(t *testing.T) {
	pipes, srcs := open(3)
	q := New(srcs, nil, nil)
	var w calls
	_, ok := q.Poll(&w)
	require.False(t, ok)
	pipes[2].Send(item(20))
	pipes[2].Send(item(21))
	pipes[0].Send(item(1))
	require.EqualValues(t, 1, w)
	requirePoll(t, q, item(20))
	requirePoll(t, q, item(1))
	requirePoll(t, q, item(21))
	_, ok = q.Poll(&w)
	require.False(t, ok)
	for _, p := range pipes {
		p.CloseWrite()
	}
	require.EqualValues(t, 2, w)
	requirePoll(t, q, pull.Item[int]{Err: io.EOF})
	requirePoll(t, q, pull.Item[int]{Err: io.EOF})
	require.Empty(t, q.Sources())
	require.True(t, q.Prompt())
}

func TestQueue_EndsAreItems(t *testing.T) {
	pipes, srcs := open(2)
	boom := errors.New("boom")
	pipes[0].Send(pull.Item[int]{Err: boom})
	pipes[1].CloseWrite()
	pipes[0].CloseWrite()
	end := func(name string) error { return fmt.Errorf("end of %q", name) }
	q := New(srcs, []string{"a"}, end)
	requirePoll(t, q, pull.Item[int]{Err: boom})
	requirePoll(t, q, pull.Item[int]{Err: end("")})
	requirePoll(t, q, pull.Item[int]{Err: end("a")})
	requirePoll(t, q, pull.Item[int]{Err: io.EOF})
}

func TestQueue_SourceClosedByOthersEnds(t *testing.T) {
	pipes, srcs := open(2)
	q := New(srcs, nil, nil)
	pipes[0].Close()
	requirePoll(t, q, pull.Item[int]{Err: pull.ErrClosed})
	pipes[1].Send(item(1))
	requirePoll(t, q, item(1))
	pipes[1].CloseWrite()
	requirePoll(t, q, pull.Item[int]{Err: io.EOF})
}

func TestQueue_Close(t *testing.T) {
	pipes, srcs := open(3)
	pipes[0].CloseWrite()
	q := New(srcs, nil, nil)
	var w calls
	_, ok := q.Poll(&w)
	require.False(t, ok)
	require.True(t, pipes[0].Send(item(1)), "closed as it ended")
	require.Equal(t, srcs[1:], q.Sources())
	q.Close()
	q.Close()
	require.EqualValues(t, 1, w)
	requirePoll(t, q, pull.Item[int]{Err: pull.ErrClosed})
	for _, p := range pipes {
		require.True(t, p.Send(item(1)))
	}
}

// A wake that comes while its input is asked queues it; if the answer is the end, it must not be asked again.
func TestQueue_LateWakeOfAnEndedInput(t *testing.T) {
	pipes, srcs := open(3)
	q := New(srcs, nil, nil)
	pipes[1].Send(item(1))
	ended := q.inputs[0]
	ended.src = waking{q: q, Pipe: pipes[0]}
	pipes[0].CloseWrite()
	requirePoll(t, q, item(1))
	pipes[1].Send(item(2))
	requirePoll(t, q, item(2))
	_, ok := q.Poll(nil)
	require.False(t, ok)
	ended.Wake()
	require.Zero(t, q.count)
	pipes[1].CloseWrite()
	pipes[2].CloseWrite()
	requirePoll(t, q, pull.Item[int]{Err: io.EOF})
}

// waking calls its input, and the others, whenever it is asked.
type waking struct {
	q *Queue[int]
	*pipe.Pipe[int]
}

func (s waking) Poll(w pull.Waker) (pull.Item[int], bool) {
	w.Wake()
	for _, in := range s.q.inputs {
		in.Wake()
	}
	return s.Pipe.Poll(w)
}

// coded is a pipe with user code.
type coded struct {
	*pipe.Pipe[int]
	run func()
}

func (c coded) Prompt() bool { return false }

func (c coded) Poll(w pull.Waker) (pull.Item[int], bool) {
	got, ok := c.Pipe.Poll(w)
	if ok {
		c.run()
	}
	return got, ok
}

func TestPump_CloseReachesItWhereverItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes, _ := open(2)
		gate := make(chan struct{})
		idle := coded{pipes[0], func() {}}
		busy := coded{pipes[1], func() { <-gate }}
		pipes[1].Send(item(1))
		q := New([]pull.Source[int]{idle, busy}, nil, nil)
		parker := pull.NewParker()
		var last pull.Item[int]
		go func() { last = pull.Wait(q, parker) }()
		synctest.Wait()
		q.Close()
		synctest.Wait()
		require.Equal(t, pull.Item[int]{Err: pull.ErrClosed}, last)
		require.True(t, pipes[0].Send(item(1)))
		require.True(t, pipes[1].Send(item(1)))
		close(gate)
	})
}

func TestPump_ExitOfTheGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes, _ := open(1)
		pipes[0].Send(item(1))
		q := New([]pull.Source[int]{coded{pipes[0], runtime.Goexit}}, nil, nil)
		parker := pull.NewParker()
		require.Equal(t, pull.Item[int]{Err: errAborted}, pull.Wait(q, parker))
		require.Equal(t, pull.Item[int]{Err: io.EOF}, pull.Wait(q, parker))
	})
}
