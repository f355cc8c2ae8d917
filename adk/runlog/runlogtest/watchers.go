package runlogtest

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/internal/mock/racedetector"
	"github.com/weftgo/weft/runs"
)

// Watchers holds the costs of readers that wait in a process, see [Watch].
type Watchers struct {
	// Bytes is the memory that each holds, with the stack of its caller, and Goroutines their number without the goroutines
	// of the callers.
	Bytes, Goroutines int64
	// Middle and Latest are after how long an event has arrived: half of all, and all but one in a hundred.
	Middle, Latest time.Duration
}

// Watch has readers wait for events of some runs, which are added through another handle on the same events, as by another
// process, one event to each run, ten times. With the race detector there is a tenth of them.
func Watch(t testing.TB, writer, reader runlog.Store, readers, count int) (w Watchers) {
	t.Helper()
	const rounds = 10
	if racedetector.Enabled {
		readers, count = max(readers/10, 1), max(count/10, 1)
	}
	usage := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	bytes, goroutines := usage(), int64(runtime.NumGoroutine())
	var mu sync.Mutex // guards added and delays
	added := map[string]time.Time{}
	var delays []time.Duration
	var all sync.WaitGroup
	for i := range readers {
		run := fmt.Sprint("run ", i%count)
		all.Go(func() {
			for after := (runs.Cursor{}); after.Seq < rounds; {
				for e, err := range reader.Read(t.Context(), run, after) {
					if err != nil {
						t.Errorf("Read: %v", err)
						return
					}
					after = e.Cursor()
					mu.Lock()
					delays = append(delays, time.Since(added[fmt.Sprint(run, after.Seq)]))
					mu.Unlock()
				}
				if after.Seq == rounds {
					return
				}
				if err := reader.Wait(t.Context(), run, after); err != nil {
					t.Errorf("Wait: %v", err)
					return
				}
			}
		})
	}
	const mostGoroutines = 20
	for range 30 { // seconds until they all wait, on a machine that has other things to do
		time.Sleep(time.Second)
		w.Bytes, w.Goroutines = (usage()-bytes)/int64(readers), int64(runtime.NumGoroutine())-goroutines-int64(readers)
		if w.Goroutines <= mostGoroutines {
			break
		}
	}
	for seq := uint64(1); seq <= rounds; seq++ {
		for i := range count {
			run := fmt.Sprint("run ", i)
			mu.Lock()
			added[fmt.Sprint(run, seq)] = time.Now()
			mu.Unlock()
			if err := writer.Append(t.Context(), run, []runlog.Event{event(run, 0, seq, "")}); err != nil {
				t.Errorf("Append: %v", err)
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	all.Wait()
	slices.Sort(delays)
	if len(delays) == 0 {
		t.Errorf("no reader has got an event")
		return w
	}
	w.Middle, w.Latest = delays[len(delays)/2], delays[len(delays)*99/100]
	t.Logf("%d readers of %d runs: %d bytes each, %d goroutines more, an event comes after %v, 99 of 100 after %v", readers,
		count, w.Bytes, w.Goroutines, w.Middle.Round(time.Microsecond), w.Latest.Round(time.Microsecond))
	if w.Bytes > 64<<10 {
		t.Errorf("a reader that waits costs %d bytes; at most 64 KiB are right", w.Bytes)
	}
	if w.Goroutines > mostGoroutines {
		t.Errorf("%d goroutines serve %d readers: there must be some a process, and none a reader", w.Goroutines, readers)
	}
	return w
}

// Arrive adds events one by one to the end of their run, and returns the time after which half of them have reached a
// reader, which has another handle on the same events, as another process has: other load on the machine makes some late.
func Arrive(t testing.TB, writer, reader runlog.Store, events ...runlog.Event) time.Duration {
	t.Helper()
	times := make([]time.Duration, len(events))
	for i, e := range events {
		times[i] = arrive(t, writer, reader, e)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

func arrive(t testing.TB, writer, reader runlog.Store, e runlog.Event) time.Duration {
	t.Helper()
	arrived := make(chan error, 1)
	go func() {
		after := runs.Cursor{Seq: e.Seq - 1}
		for {
			for _, err := range reader.Read(t.Context(), e.Run, after) {
				arrived <- err
				return
			}
			if err := reader.Wait(t.Context(), e.Run, after); err != nil {
				arrived <- err
				return
			}
		}
	}()
	time.Sleep(20 * time.Millisecond) // until it waits
	begun := time.Now()
	if err := writer.Append(t.Context(), e.Run, []runlog.Event{e}); err != nil {
		t.Fatalf("Append: %v", err)
	}
	if err := <-arrived; err != nil {
		t.Fatalf("the event did not arrive: %v", err)
	}
	return time.Since(begun)
}
