package schema

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// watched observes a reader and notes what it sees.
type watched struct {
	mu   sync.Mutex
	seen []string
}

func (w *watched) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, what)
}

func (w *watched) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.seen...)
}

func watching[T any](sr *StreamReader[T]) *watched {
	w := &watched{}
	Observe(sr, func(v T) { w.note(fmt.Sprint(v)) }, func(err error) { w.note(fmt.Sprint("end: ", err)) })
	return w
}

func TestObserve_FedByWhoeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sr, sw := Pipe[int](2)
		copies := sr.Copy(3)
		sw.Send(1, nil)
		v, err := copies[0].Recv() // before the observation: read by another, and not yet by the observed copy
		require.NoError(t, err)
		require.Equal(t, 1, v)
		w := watching(StreamReaderWithConvert(copies[1], func(v int) (string, error) {
			if v == 2 {
				return "", ErrNoValue
			}
			return fmt.Sprint("<", v, ">"), nil
		}))
		require.Equal(t, []string{"<1>"}, w.all())
		sw.Send(2, nil)
		sw.Send(3, nil)
		require.Equal(t, []string{"<1>"}, w.all(), "nobody has read it")
		_, _ = copies[2].Recv()
		_, _ = copies[2].Recv()
		_, _ = copies[2].Recv()
		require.Equal(t, []string{"<1>", "<3>"}, w.all(), "the fastest reader feeds it")
		sw.Close()
		_, err = copies[2].Recv()
		require.Equal(t, io.EOF, err)
		require.Equal(t, []string{"<1>", "<3>", "end: <nil>"}, w.all())
		_, _ = copies[0].Recv()
		copies[0].Close()
		copies[2].Close()
		require.Len(t, w.all(), 3)
		_, err = copies[1].Recv()
		require.Error(t, err, "it was taken over")
	})
}

func TestObserve_Ends(t *testing.T) {
	boom := errors.New("boom")
	t.Run("closed before the end", func(t *testing.T) {
		sr, sw := Pipe[int](2)
		copies := sr.Copy(2)
		w := watching(copies[0])
		sw.Send(1, nil)
		_, _ = copies[1].Recv()
		copies[1].Close()
		require.True(t, sw.Send(2, nil), "the observation keeps nothing open")
		require.Equal(t, []string{"1", "end: recv after stream closed"}, w.all())
	})
	t.Run("an error item", func(t *testing.T) {
		sr, sw := Pipe[int](3)
		copies := sr.Copy(2)
		w := watching(copies[0])
		sw.Send(1, nil)
		sw.Send(0, boom)
		sw.Send(2, nil)
		sw.Close()
		for _, err := copies[1].Recv(); err != io.EOF; _, err = copies[1].Recv() {
		}
		require.Equal(t, []string{"1", "end: boom"}, w.all())
	})
	t.Run("a panic", func(t *testing.T) {
		copies := StreamReaderWithConvert(StreamReaderFromArray([]int{1, 2, 3}),
			func(v int) (int, error) { return v, nil }).Copy(2)
		calls := 0
		Observe(copies[0], func(int) { calls++; panic("mine") }, func(error) { t.Error("called after the panic") })
		var got []int
		for v, err := range copies[1].All() {
			require.NoError(t, err)
			got = append(got, v)
		}
		require.Equal(t, []int{1, 2, 3}, got)
		require.Equal(t, 1, calls)
	})
	t.Run("without functions", func(t *testing.T) {
		sr, sw := Pipe[int](1)
		copies := sr.Copy(2)
		Observe(copies[0], nil, nil)
		sw.Send(1, nil)
		sw.Close()
		for range copies[1].All() {
		}
	})
}

func TestObserve_WithoutOtherCopies(t *testing.T) {
	require.Equal(t, []string{"1", "2", "end: <nil>"}, watching(StreamReaderFromArray([]int{1, 2})).all())
	require.Equal(t, []string{"end: stream reader is nil"}, watching[int](nil).all())
	copies := StreamReaderFromArray([]int{1}).Copy(2)
	require.Equal(t, []string{"1", "end: <nil>"}, watching(copies[0]).all())
	synctest.Test(t, func(t *testing.T) {
		sr, sw := Pipe[int](1)
		w := watching(sr)
		sw.Send(1, nil)
		sw.Send(2, nil)
		sw.Close()
		synctest.Wait()
		require.Equal(t, []string{"1", "2", "end: <nil>"}, w.all())
	})
	synctest.Test(t, func(t *testing.T) {
		sr, _ := Pipe[int](1)
		copies := sr.Copy(2)
		copies[1].Close() // the other copy has gone already
		w := watching(copies[0])
		sr.Close()
		synctest.Wait()
		require.Equal(t, []string{"end: recv after stream closed"}, w.all())
	})
}

// Readers and observers of one stream, all at once: every observer sees every item once, in order.
func TestObserve_ConcurrentReaders(t *testing.T) {
	const n = 500
	for range 20 {
		sr, sw := Pipe[int](4)
		copies := sr.Copy(5)
		var want []string
		for i := range n {
			want = append(want, fmt.Sprint(i))
		}
		want = append(want, "end: <nil>")
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				for range copies[i].All() {
				}
			})
		}
		first := watching(copies[3])
		wg.Go(func() {
			for i := range n {
				sw.Send(i, nil)
			}
			sw.Close()
		})
		second := watching(copies[4])
		wg.Wait()
		require.Equal(t, want, first.all())
		require.Equal(t, want, second.all())
	}
}

func TestObserve_CostsNoAllocationsAChunk(t *testing.T) {
	sr, sw := Pipe[int](1)
	copies := sr.Copy(2)
	sum := 0
	Observe(copies[0], func(v int) { sum += v }, nil)
	allocs := testing.AllocsPerRun(1000, func() {
		sw.Send(1, nil)
		_, _ = copies[1].Recv()
	})
	require.Less(t, allocs, 0.5, "only blocks of the log")
	require.Positive(t, sum)
}

// TestObserve_HasSeenTheEndBeforeAReaderGetsIt, also where another reader makes it look at the same time: what a reader
// does at the end may be the end of what is observed.
func TestObserve_HasSeenTheEndBeforeAReaderGetsIt(t *testing.T) {
	for range 300 {
		sr, sw := Pipe[int](4)
		copies := sr.Copy(3)
		var ended atomic.Bool
		Observe(copies[2], func(int) { runtime.Gosched() }, func(error) { runtime.Gosched(); ended.Store(true) })
		var readers sync.WaitGroup
		for _, reader := range copies[:2] {
			readers.Go(func() {
				for {
					if _, err := reader.Recv(); err != nil {
						assert.True(t, ended.Load())
						return
					}
				}
			})
		}
		for i := range 8 {
			sw.Send(i, nil)
		}
		sw.Close()
		readers.Wait()
	}
}

// TestObserve_AFunctionThatReadsTheStreamItselfHangsNobody.
func TestObserve_AFunctionThatReadsTheStreamItselfHangsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		copies := StreamReaderFromArray([]int{1, 2, 3}).Copy(3)
		seen := 0
		Observe(copies[2], func(int) {
			for seen++; ; {
				if _, err := copies[1].Recv(); err != nil {
					return
				}
			}
		}, nil)
		begun := time.Now()
		for {
			if _, err := copies[0].Recv(); err != nil {
				break
			}
		}
		require.Equal(t, 3, seen)
		require.LessOrEqual(t, time.Since(begun), 10*time.Second)
	})
}
