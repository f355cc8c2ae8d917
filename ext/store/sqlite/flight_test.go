package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/adk/runlog/runlogtest"
	"github.com/weftgo/weft/ext/store/sqlite"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// thinker is an agent whose model thinks for a while.
func thinker(b testing.TB, while func()) adk.Agent {
	b.Helper()
	agent, err := adk.NewChatModelAgent(b.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a",
		Model: modelFunc(func([]*schema.Message) *schema.Message {
			while()
			return schema.AssistantMessage("done", nil)
		})})
	require.NoError(b, err)
	return agent
}

// counted is a store that counts renewals, and can be out of reach.
type counted struct {
	runs.Store
	renewals atomic.Int64
	away     atomic.Bool
}

var errAway = errors.New("the store is out of reach")

func (s *counted) err() error {
	if s.away.Load() {
		return errAway
	}
	return nil
}

func (s *counted) AcquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (runs.Lease, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	l, err := s.Store.AcquireDue(ctx, req, due)
	if err != nil {
		return nil, err
	}
	return &countedLease{l, s}, nil
}

type countedLease struct {
	runs.Lease
	store *counted
}

func (l *countedLease) Renew(ctx context.Context) error {
	l.store.renewals.Add(1)
	return errors.Join(l.store.err(), l.ifHere(func() error { return l.Lease.Renew(ctx) }))
}

func (l *countedLease) NotifyStops(f func(runs.StopRequest)) {
	l.Lease.(interface {
		NotifyStops(f func(runs.StopRequest))
	}).NotifyStops(f)
}

func (l *countedLease) ifHere(do func() error) error {
	if l.store.away.Load() {
		return nil
	}
	return do()
}

func (l *countedLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	return errors.Join(l.store.err(), l.ifHere(func() error { return l.Lease.AppendRecord(ctx, id, record) }))
}

func (l *countedLease) Settle(ctx context.Context, s runs.Settlement) error {
	return errors.Join(l.store.err(), l.ifHere(func() error { return l.Lease.Settle(ctx, s) }))
}

// BenchmarkNumbers_InFlight: what runs cost a process that executes all of them at once, and how often their leases are
// renewed. (N2)
func BenchmarkNumbers_InFlight(b *testing.B) {
	count := 10_000
	if testing.Short() {
		count = 1000
	}
	usage := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	for b.Loop() {
		bare := make(chan struct{})
		var thinking sync.WaitGroup
		thinking.Add(count)
		agent := thinker(b, func() { thinking.Done(); <-bare })
		before := usage()
		r := adk.NewRunner(b.Context(), adk.RunnerConfig{Agent: agent})
		var all sync.WaitGroup
		for range count {
			all.Go(func() {
				for e := range r.Query(b.Context(), "go").All() {
					if e.Err != nil {
						b.Error(e.Err)
					}
				}
			})
		}
		thinking.Wait()
		bareBytes := (usage() - before) / int64(count)
		close(bare)
		all.Wait()

		store := &counted{Store: open(b)}
		held := make(chan struct{})
		thinking.Add(count)
		d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(thinker(b, func() { thinking.Done(); <-held }))}})
		for n := range count {
			_, err := d.Submit(b.Context(), job(n))
			require.NoError(b, err)
		}
		before = usage()
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		begun := time.Now()
		go func() { ended <- d.Work(ctx, dispatch.WorkerConfig{Slots: count}) }()
		thinking.Wait()
		b.ReportMetric(float64(count)/time.Since(begun).Seconds(), "begun/s")
		b.ReportMetric(float64((usage()-before)/int64(count)), "B/run")
		b.ReportMetric(float64(bareBytes), "bareB/run")
		before = store.renewals.Load()
		time.Sleep(10 * time.Second) // a TTL is 30 seconds: each run is renewed once
		b.ReportMetric(float64(store.renewals.Load()-before)/10, "renewals/s")
		close(held)
		for n := range count {
			o, err := d.Wait(b.Context(), fmt.Sprint(n))
			require.NoError(b, err)
			require.Equal(b, runs.Done, o.Status)
		}
		stop()
		require.NoError(b, <-ended)
	}
}

// BenchmarkNumbers_Readers: a thousand readers of a hundred runs of another process. (N3)
func BenchmarkNumbers_Readers(b *testing.B) {
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "runs.db")
		var processes []runlog.Store
		for range 2 {
			events, err := openAt(b, path).OpenEvents(b.Context(), sqlrun.EventsConfig{})
			require.NoError(b, err)
			processes = append(processes, events)
		}
		w := runlogtest.Watch(b, processes[0], processes[1], 1000, 100)
		b.ReportMetric(float64(w.Bytes), "B/reader")
		b.ReportMetric(float64(w.Latest.Milliseconds()), "p99-ms")
	}
}

// awayFor is $WEFT_AWAY_SECONDS, or 10.
func awayFor() time.Duration {
	if seconds, err := strconv.Atoi(os.Getenv("WEFT_AWAY_SECONDS")); err == nil {
		return time.Duration(seconds) * time.Second
	}
	return 10 * time.Second
}

// BenchmarkNumbers_StoreOutOfReach: 500 runs whose store is away for longer than their leases last. None is lost, and how
// long it takes until all have ended is measured from when the store is back. (N13)
func BenchmarkNumbers_StoreOutOfReach(b *testing.B) {
	const many = 500
	for b.Loop() {
		store := &counted{Store: open(b)}
		back := make(chan struct{})
		var begun, abandoned atomic.Int64
		agent := calling(b, 2, func(context.Context) {
			if store.away.Load() {
				abandoned.Add(1) // a call that begins although the store is away
			}
			begun.Add(1)
			<-back
		})
		d := dispatch.New(store, dispatch.Config{TTL: 3 * time.Second, Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}})
		for n := range many {
			_, err := d.Submit(b.Context(), job(n))
			require.NoError(b, err)
		}
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Work(ctx, dispatch.WorkerConfig{Slots: many}) }()
		require.Eventually(b, func() bool { return begun.Load() == many }, time.Minute, 10*time.Millisecond)
		store.away.Store(true)
		time.Sleep(awayFor())
		store.away.Store(false)
		since := time.Now()
		close(back)
		for n := range many {
			o, err := d.Wait(b.Context(), fmt.Sprint(n))
			require.NoError(b, err)
			require.Equal(b, runs.Done, o.Status)
		}
		b.ReportMetric(time.Since(since).Seconds(), "recovery-s")
		require.Zero(b, abandoned.Load(), "calls that began without a lease")
		stop()
		require.NoError(b, <-ended)
	}
}

// BenchmarkNumbers_Soak: three workers that are replaced every second execute runs for a while, $WEFT_SOAK_SECONDS or 20,
// and neither the store, nor memory, nor goroutines grow. (N12)
func BenchmarkNumbers_Soak(b *testing.B) {
	seconds, err := strconv.Atoi(os.Getenv("WEFT_SOAK_SECONDS"))
	if err != nil {
		seconds = 20
	}
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "runs.db")
		store, err := sqlite.New(b.Context(), sqlite.Config{Path: path, Retention: runs.Retention{Done: time.Second}})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, store.Close()) })
		made := make(chan string, 1000) // the keys of the calls of a run
		agent := calling(b, 3, func(ctx context.Context) {
			made <- adk.GetIdempotencyKey(ctx)
			time.Sleep(5 * time.Millisecond)
		})
		conf := dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}}
		d := dispatch.New(store, conf)
		work := func() (stop func()) {
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			go func() { ended <- d.Work(ctx, dispatch.WorkerConfig{SweepEvery: 500 * time.Millisecond}) }()
			return func() { cancel(); require.NoError(b, <-ended) }
		}
		workers := []func(){work(), work(), work()}
		sizes := func() (bytes, goroutines, file float64) {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			info, err := os.Stat(path)
			require.NoError(b, err)
			return float64(m.HeapAlloc), float64(runtime.NumGoroutine()), float64(info.Size())
		}
		n, end := 0, time.Now().Add(time.Duration(seconds)*time.Second)
		warm := time.Now().Add(time.Duration(seconds) * time.Second / 4)
		var heap, goroutines, file float64
		for last := time.Now(); time.Now().Before(end); {
			_, err := d.Submit(b.Context(), job(n))
			require.NoError(b, err)
			o, err := d.Wait(b.Context(), fmt.Sprint(n))
			require.NoError(b, err)
			require.Equal(b, runs.Done, o.Status)
			keys := map[string]bool{}
			for range len(made) {
				key := <-made
				require.False(b, keys[key], "a call was made twice")
				keys[key] = true
			}
			require.Len(b, keys, 3)
			if n++; time.Since(last) > time.Second {
				last = time.Now()
				workers[n%3]()
				workers[n%3] = work()
			}
			if heap == 0 && time.Now().After(warm) {
				heap, goroutines, file = sizes()
			}
		}
		heapNow, goroutinesNow, fileNow := sizes()
		b.ReportMetric(float64(n)/float64(seconds), "runs/s")
		b.ReportMetric(heapNow/heap, "heap-x")
		b.ReportMetric(goroutinesNow-goroutines, "goroutines-more")
		b.ReportMetric(fileNow/file, "file-x")
		for _, stop := range workers {
			stop()
		}
	}
}
