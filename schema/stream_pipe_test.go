package schema

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Rule schema/S1.
func TestPipe_SendBlocksExactlyAtCapacity(t *testing.T) {
	for _, capacity := range []int{0, 1, 2, 7, 8, 9, 16, 100} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sr, sw := Pipe[int](capacity)
				accepted := 0
				go func() {
					for !sw.Send(accepted, nil) {
						accepted++
					}
				}()
				for received := range 3*capacity + 5 {
					synctest.Wait()
					require.Equal(t, received+capacity, accepted, "after %d received", received)
					requireRecv(t, sr, received)
				}
				sr.Close()
				synctest.Wait()
			})
		})
	}
	require.Panics(t, func() { Pipe[int](-1) })
}

// Rule schema/S1.
func TestPipe_WaitingReceiverTakesFromSendAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sr, sw := Pipe[int](0)
		recv := make(chan int, 1)
		go func() {
			v, _ := sr.Recv()
			recv <- v
		}()
		synctest.Wait()
		require.False(t, sw.Send(1, nil))
		require.Equal(t, 1, <-recv)

		var second bool
		go func() { second = sw.Send(2, nil) }() // the receiver is gone
		synctest.Wait()
		require.False(t, second)
		sr.Close()
		synctest.Wait()
		require.True(t, second)
	})
}

// Rule schema/S2.
func TestPipe_CloseReleasesEverySender(t *testing.T) {
	for _, capacity := range []int{0, 1, 8} {
		synctest.Test(t, func(t *testing.T) {
			sr, sw := Pipe[int](capacity)
			var results []bool
			var mu sync.Mutex
			for range capacity + 5 {
				go func() {
					closed := sw.Send(1, nil)
					mu.Lock()
					results = append(results, closed)
					mu.Unlock()
				}()
			}
			synctest.Wait()
			require.Len(t, results, capacity)
			sr.Close()
			synctest.Wait()
			require.Len(t, results, capacity+5)
			require.NotContains(t, results[capacity:], false)
			require.True(t, sw.Send(1, nil), "a closed reader wins over free room")
		})
	}
}

// Rule schema/S3.
func TestPipe_ValueAndErrorTravelTogether(t *testing.T) {
	boom := errors.New("boom")
	sr := sent(got[int]{7, boom}, got[int]{8, nil})
	defer sr.Close()
	v, err := sr.Recv()
	require.Equal(t, 7, v)
	require.Equal(t, boom, err)
	requireRecv(t, sr, 8)
}

// Rule schema/S4.
func TestPipe_WriterCloseDeliversWhatWasAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sr, sw := Pipe[int](2)
		defer sr.Close()
		sw.Send(1, nil)
		sw.Send(2, nil)
		var third, fourth bool
		go func() { third = sw.Send(3, nil) }() // in the ring already, waiting for room
		synctest.Wait()
		go func() { fourth = sw.Send(4, nil) }() // waiting for a place in the ring
		synctest.Wait()
		sw.Close()
		synctest.Wait()
		require.False(t, third)
		n := len(values(t, sr))
		if fourth {
			require.Equal(t, 3, n)
		} else {
			require.Equal(t, 4, n)
		}
	})
}

// Rule schema/S5.
func TestPipe_EndsAtTheVeryErrorEOF(t *testing.T) {
	wrapped := fmt.Errorf("wrapped: %w", io.EOF)
	sr := sent(got[int]{0, io.EOF}, got[int]{0, wrapped}, got[int]{1, nil})
	requireRecvError(t, sr, io.EOF)
	requireRecvError(t, sr, wrapped)
	requireRecv(t, sr, 1)
	requireRecvError(t, sr, io.EOF)
	sr.Close()

	copies := sent(got[int]{0, wrapped}, got[int]{0, io.EOF}, got[int]{1, nil}).Copy(2)
	for _, c := range copies {
		require.Equal(t, []got[int]{{0, wrapped}}, readAll(t, c))
	}
}

func TestPipe_ManySenders(t *testing.T) {
	for _, capacity := range []int{0, 1, 3, 16} {
		const senders, each = 8, 500
		sr, sw := Pipe[[2]int](capacity)
		var wg sync.WaitGroup
		for s := range senders {
			wg.Go(func() {
				for i := range each {
					if sw.Send([2]int{s, i}, nil) {
						t.Error("closed")
					}
				}
			})
		}
		go func() {
			wg.Wait()
			sw.Close()
		}()
		next := make([]int, senders)
		for _, v := range values(t, sr) {
			require.Equal(t, next[v[0]], v[1], "order within a sender")
			next[v[0]]++
		}
		for _, n := range next {
			require.Equal(t, each, n)
		}
	}
}

// TestPipe_NoLostWakeup lets the senders and the reader run at random paces. A lost wake-up would be a deadlock, which
// synctest reports.
func TestPipe_NoLostWakeup(t *testing.T) {
	const each = 50
	for seed := range 400 {
		synctest.Test(t, func(t *testing.T) {
			pace := func(i int) {
				if d := (i*7919 + seed*104729) % 5; d > 1 {
					time.Sleep(time.Duration(d) * time.Millisecond)
				}
			}
			sr, sw := Pipe[int](seed % 4)
			var senders sync.WaitGroup
			for s := range 1 + seed/4%3 {
				senders.Go(func() {
					for i := range each {
						pace(i + s)
						sw.Send(i, nil)
					}
				})
			}
			go func() {
				senders.Wait()
				sw.Close()
			}()
			received := 0
			for range sr.All() {
				received++
				pace(received * 31)
			}
			require.Equal(t, (1+seed/4%3)*each, received)
		})
	}
}

func TestPipe_OnReaderClose(t *testing.T) {
	sr, sw := Pipe[int](1)
	calls := 0
	sw.OnReaderClose(func() { t.Error("replaced") })
	sw.OnReaderClose(func() { calls++ })
	sw.Close()
	require.Zero(t, calls, "the writer's own close is not the reader's")
	sr.Close()
	sr.Close()
	require.Equal(t, 1, calls)
	sw.OnReaderClose(func() { calls++ })
	require.Equal(t, 2, calls, "closed already")
	sw.OnReaderClose(nil)

	// The close of the last copy reaches the writer.
	sr, sw = Pipe[int](1)
	sw.OnReaderClose(func() { calls++ })
	copies := sr.Copy(2)
	copies[0].Close()
	require.Equal(t, 2, calls)
	copies[1].Close()
	require.Equal(t, 3, calls)
	(*StreamWriter[int])(nil).OnReaderClose(func() { calls++ })
	require.Equal(t, 4, calls)
}
