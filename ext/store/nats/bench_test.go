package nats

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// together divides the iterations of a benchmark among writers.
func together(b *testing.B, writers int, do func(writer int, next func() bool)) {
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() { do(w, func() bool { return left.Add(-1) >= 0 }) })
	}
	all.Wait()
	b.StopTimer()
}

// BenchmarkAppend compares a record of 1 KiB that is appended by a lease with a bare publication of the same bytes.
func BenchmarkAppend(b *testing.B) {
	record := []byte(strings.Repeat("x", 1024))
	for _, always := range []bool{false, true} {
		for _, writers := range []int{1, 16} {
			name := fmt.Sprintf("always=%v/writers=%d/", always, writers)
			b.Run(name+"bare", func(b *testing.B) {
				on := startServer(b, always)
				js, err := jetstream.New(connect(b, on.ClientURL()))
				require.NoError(b, err)
				_, err = js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "bare", Subjects: []string{"bare.>"}})
				require.NoError(b, err)
				together(b, writers, func(w int, next func() bool) {
					for next() {
						_, err := js.PublishMsg(b.Context(), &nats.Msg{Subject: fmt.Sprint("bare.", w), Data: record})
						require.NoError(b, err)
					}
				})
			})
			b.Run(name+"fenced", func(b *testing.B) {
				s := newStore(b, startServer(b, always))
				leases := make([]runs.Lease, writers)
				for w := range leases {
					var err error
					leases[w], err = s.Acquire(b.Context(), fmt.Sprint(w), runs.LeaseRequest{Create: &runs.Spec{}})
					require.NoError(b, err)
				}
				together(b, writers, func(w int, next func() bool) {
					for next() {
						require.NoError(b, leases[w].AppendRecord(b.Context(), fmt.Sprint(w), record))
					}
				})
			})
		}
	}
}

// BenchmarkClaim takes runs that are due, while 10,000 others wait.
func BenchmarkClaim(b *testing.B) {
	for _, always := range []bool{false, true} {
		for _, workers := range []int{1, 16} {
			b.Run(fmt.Sprintf("always=%v/workers=%d", always, workers), func(b *testing.B) {
				s := newStore(b, startServer(b, always))
				submit := func(queue string, n int) {
					var left atomic.Int64
					left.Store(int64(n))
					var all sync.WaitGroup
					for range 16 {
						all.Go(func() {
							for i := left.Add(-1); i >= 0; i = left.Add(-1) {
								_, err := s.Submit(b.Context(), fmt.Sprint(queue, i), runs.Spec{Queue: queue})
								require.NoError(b, err)
							}
						})
					}
					all.Wait()
				}
				submit("other", 10_000)
				submit("mine", b.N)
				_, err := s.look(b.Context(), 0) // a worker's first look reads all
				require.NoError(b, err)
				due := runs.Due{Queues: []string{"mine"}}
				together(b, workers, func(_ int, next func() bool) {
					for next() {
						_, err := s.AcquireDue(b.Context(), runs.LeaseRequest{}, due)
						if !errors.Is(err, runs.ErrNothingDue) {
							require.NoError(b, err)
						}
					}
				})
			})
		}
	}
}

// BenchmarkList lists 50 of 10,000 runs.
func BenchmarkList(b *testing.B) {
	s := newStore(b, startServer(b, false))
	for i := range 10_000 {
		run := runs.Spec{Agent: "agent", Tags: map[string]string{"customer": "acme"}}
		_, err := s.Submit(b.Context(), fmt.Sprint(i), run)
		require.NoError(b, err)
	}
	for b.Loop() {
		n := 0
		for _, err := range s.List(b.Context(), runs.Query{Limit: 50}) {
			require.NoError(b, err)
			n++
		}
		require.Equal(b, 50, n)
	}
}
