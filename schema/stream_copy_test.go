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

	"github.com/stretchr/testify/require"
)

// Rule schema/S15.
func TestCopy_ReturnsTheReaderItselfForOneCopy(t *testing.T) {
	sr := sent(got[int]{v: 1})
	for _, n := range []int{1, 0, -3} {
		copies := sr.Copy(n)
		require.Len(t, copies, 1)
		require.Same(t, sr, copies[0])
	}
	requireRecv(t, sr, 1)
	sr.Close()
}

// Rule schema/S16.
func TestCopy_EveryCopySeesEverythingUnread(t *testing.T) {
	boom := errors.New("boom")
	end := newSourceEOF("a")
	sr := sent(got[int]{v: 0}, got[int]{v: 1}, got[int]{2, boom}, got[int]{err: end}, got[int]{v: 3})
	requireRecv(t, sr, 0)
	for _, c := range sr.Copy(3) {
		requireRecv(t, c, 1)
		v, err := c.Recv()
		require.Equal(t, got[int]{2, boom}, got[int]{v, err})
		requireRecvError(t, c, end)
		requireRecv(t, c, 3)
		requireRecvError(t, c, io.EOF)
		requireRecvError(t, c, io.EOF)
		c.Close()
	}
}

// Rule schema/S17.
func TestCopy_FetchesOnlyWhatIsAskedFor(t *testing.T) {
	calls := 0
	sr := StreamReaderWithConvert(StreamReaderFromArray([]int{1, 2, 3}), func(v int) (int, error) {
		calls++
		return v, nil
	})
	copies := sr.Copy(2)
	require.Zero(t, calls)
	requireRecv(t, copies[0], 1)
	requireRecv(t, copies[0], 2)
	require.Equal(t, 2, calls)
	requireRecv(t, copies[1], 1)
	requireRecv(t, copies[1], 2)
	require.Equal(t, 2, calls)
	requireRecv(t, copies[1], 3)
	require.Equal(t, 3, calls)
	copies[0].Close()
	copies[1].Close()
}

// Rule schema/S17.
func TestCopy_AWaitingCopyDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow := func(v int) (int, error) { // user code that holds the fetching copy
			if v == 2 {
				<-release
			}
			return v, nil
		}
		src, sw := Pipe[int](4)
		sw.Send(0, nil)
		sw.Send(1, nil)
		sw.Send(2, nil)
		sw.Close()
		copies := StreamReaderWithConvert(src, slow).Copy(3)
		requireRecv(t, copies[0], 0)
		requireRecv(t, copies[0], 1)
		for _, c := range copies[:2] {
			go func() {
				defer c.Close()
				if c == copies[1] {
					requireRecv(t, c, 0)
					requireRecv(t, c, 1)
				}
				requireRecv(t, c, 2)
				requireRecvError(t, c, io.EOF)
			}()
		}
		synctest.Wait()
		requireRecv(t, copies[2], 0)
		requireRecv(t, copies[2], 1)
		copies[2].Close()
		close(release)
		synctest.Wait()
	})
}

// Rule schema/S18.
func TestCopy_ReleasesReadItems(t *testing.T) {
	type big [1 << 10]byte
	var live atomic.Int64
	src, sw := Pipe[*big](1)
	copies := src.Copy(3)
	copies[2].Close()
	stuck := copies[1]
	send := func(n int) {
		for range n {
			b := new(big)
			live.Add(1)
			runtime.AddCleanup(b, func(int) { live.Add(-1) }, 0)
			sw.Send(b, nil)
			_, err := copies[0].Recv()
			require.NoError(t, err)
		}
	}
	send(1000)
	runtime.GC()
	require.EqualValues(t, 1000, live.Load(), "the slow copy still needs them")
	stuck.Close()
	require.Eventually(t, func() bool {
		runtime.GC()
		return live.Load() <= 2*64
	}, 5*time.Second, time.Millisecond)
	send(1000)
	require.Eventually(t, func() bool {
		runtime.GC()
		return live.Load() <= 2*64
	}, 5*time.Second, time.Millisecond)
	copies[0].Close()
}

// Rule schema/S19.
func TestCopy_LastCloseClosesTheSource(t *testing.T) {
	src, sw := Pipe[int](4)
	copies := src.Copy(3)
	sw.Send(1, nil)
	requireRecv(t, copies[0], 1)
	copies[0].Close()
	copies[0].Close()
	requireRecvError(t, copies[0], ErrRecvAfterClosed)
	copies[2].Close()
	require.False(t, sw.Send(2, nil), "one copy is open")
	requireRecv(t, copies[1], 1)
	requireRecv(t, copies[1], 2)
	copies[1].Close()
	require.True(t, sw.Send(3, nil))
}

// Rule schema/S20.
func TestCopy_CopiesCanBeCopied(t *testing.T) {
	src, sw := Pipe[int](16)
	for i := range 10 {
		sw.Send(i, nil)
	}
	sw.Close()
	first := src.Copy(2)
	require.Len(t, values(t, first[0]), 10) // read to its end and closed
	level := first[1]
	for depth := range 5 {
		requireRecv(t, level, depth)
		copies := level.Copy(3)
		copies[0].Close()
		require.Equal(t, 9-depth, len(values(t, copies[1])))
		level = copies[2]
	}
	require.Equal(t, []int{5, 6, 7, 8, 9}, values(t, level))
	require.True(t, sw.Send(1, nil))
}

// Rule schema/S20.
func TestCopy_KeepsTheSourceOfACopiedCopyOpen(t *testing.T) {
	src, sw := Pipe[int](4)
	copies := src.Copy(2)
	copies[1].Close()
	again := copies[0].Copy(2)
	copies[0].Close() // handed over: it has nothing to close any more
	require.False(t, sw.Send(1, nil))
	requireRecv(t, again[0], 1)
	again[0].Close()
	require.False(t, sw.Send(2, nil))
	again[1].Close()
	require.True(t, sw.Send(3, nil))
}

func TestCopy_OfAClosedReader(t *testing.T) {
	src, sw := Pipe[int](1)
	src.Close()
	for _, c := range src.Copy(2) {
		require.Equal(t, []got[int]{{err: ErrRecvAfterClosed}}, readAll(t, c))
	}
	require.True(t, sw.Send(1, nil))

	copies := sent[int]().Copy(2)
	copies[0].Close()
	for _, c := range copies[0].Copy(2) {
		_, err := c.Recv()
		require.Equal(t, ErrRecvAfterClosed, err)
		c.Close()
	}
	copies[1].Close()
}

// Rule schema/S21.
func TestCopy_ManyCopiesWithHalfClosingEarlySeeNoGap(t *testing.T) {
	const n, items = 100, 1000
	for _, capacity := range []int{0, 5, 64} {
		src, sw := Pipe[int](capacity)
		go func() {
			defer sw.Close()
			for i := range items {
				sw.Send(i, nil)
			}
		}()
		var wg sync.WaitGroup
		for k, c := range src.Copy(n) {
			wg.Go(func() {
				defer c.Close()
				limit := items
				if k%2 == 1 {
					limit = k * 7
				}
				for i := range limit {
					if v, err := c.Recv(); v != i || err != nil {
						t.Errorf("copy %d: got %d, %v, want %d", k, v, err, i)
						return
					}
				}
				if _, err := c.Recv(); limit == items && err != io.EOF {
					t.Errorf("copy %d: %v", k, err)
				}
			})
		}
		wg.Wait()
	}
}

// Rule schema/B15.1.6.
func TestCopy_CloseAndRecvOfOneCopyMayRunAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for range 200 {
		src, sw := Pipe[int](2)
		wg.Go(func() {
			for !sw.Send(1, nil) {
			}
		})
		for _, c := range src.Copy(3) {
			wg.Go(c.Close)
			wg.Go(func() {
				for {
					if _, err := c.Recv(); err != nil {
						return
					}
				}
			})
		}
	}
	wg.Wait()
}

// Rules schema/S45, schema/B15.1.6.
func TestCopy_PanicOfTheSourceReachesEveryCopyOnce(t *testing.T) {
	src := StreamReaderWithConvert(StreamReaderFromArray([]int{1, 2, 3}), func(v int) (int, error) {
		if v == 2 {
			panic("two")
		}
		return v, nil
	})
	for _, c := range src.Copy(3) {
		all := readAll(t, c)
		require.Len(t, all, 2)
		require.Equal(t, got[int]{v: 1}, all[0])
		require.ErrorContains(t, all[1].err, "panic error: two")
	}
}

// Rule schema/S45.
func TestCopy_ExitInTheSourceStopsNoOtherCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := StreamReaderWithConvert(StreamReaderFromArray([]int{1, 2}), func(v int) (int, error) {
			runtime.Goexit() // as t.FailNow does
			return v, nil
		})
		copies := src.Copy(3)
		go func() {
			defer copies[0].Close()
			_, _ = copies[0].Recv()
		}()
		synctest.Wait()
		for _, c := range copies[1:] {
			all := readAll(t, c)
			require.Len(t, all, 1)
			require.ErrorContains(t, all[0].err, "aborted")
		}
	})
}

// TestCopy_NoLostWakeup lets every copy run at a pace of its own.
func TestCopy_NoLostWakeup(t *testing.T) {
	for seed := range 60 {
		synctest.Test(t, func(t *testing.T) {
			pace := func(i int) {
				if d := (i*7919 + seed*104729) % 5; d > 1 {
					time.Sleep(time.Duration(d) * time.Millisecond)
				}
			}
			src, sw := Pipe[int](seed % 3)
			go func() {
				defer sw.Close()
				for i := range 40 {
					pace(i)
					sw.Send(i, nil)
				}
			}()
			var wg sync.WaitGroup
			for k, c := range src.Copy(4) {
				wg.Go(func() {
					defer c.Close()
					for i := range 40 {
						pace(i * (k + 3))
						requireRecv(t, c, i)
					}
					requireRecvError(t, c, io.EOF)
				})
			}
			wg.Wait()
		})
	}
}

// Rule schema/B15.1.6.
func TestCopy_AllocatesLittle(t *testing.T) {
	n := testing.AllocsPerRun(10, func() {
		for _, c := range produce(16, benchItems, new(int)).Copy(4) {
			drain(t, c)
		}
	})
	require.LessOrEqual(t, n, 400.0, fmt.Sprintf("allocations for %d items", benchItems))
}

// TestAbandon_EndsTheOtherCopies: who leaves for good takes the producer along; the other copies keep what there was.
func TestAbandon_EndsTheOtherCopies(t *testing.T) {
	left := errors.New("left")
	r, w := Pipe[int](3)
	copies := r.Copy(3)
	for i := range 3 {
		require.False(t, w.Send(i, nil))
	}
	first, err := copies[0].Recv()
	require.NoError(t, err)
	require.Zero(t, first)
	copies[0].Abandon(left)
	require.True(t, w.Send(9, nil))
	for _, c := range copies[1:] {
		for i := range 3 {
			item, err := c.Recv()
			require.NoError(t, err)
			require.Equal(t, i, item)
		}
		_, err := c.Recv()
		require.ErrorIs(t, err, left)
		_, err = c.Recv()
		require.Equal(t, io.EOF, err)
	}
	_, err = copies[0].Recv()
	require.ErrorIs(t, err, ErrRecvAfterClosed)
	var none *StreamReader[int]
	none.Abandon(left)
	alone, w := Pipe[int](1)
	alone.Abandon(left)
	require.True(t, w.Send(1, nil))
}
