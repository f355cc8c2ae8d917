//go:build unix

package checkpointtest

import (
	"errors"
	"fmt"
	"math/rand"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/weftgo/weft/runs"
)

// Steps of the runs that workers execute, and how many runs there are.
const (
	workerSteps = 12
	workerRuns  = 60
	workerTTL   = time.Second
)

// Processes has worker processes execute runs, kills and freezes them at random, and checks that every run is executed to
// its end, and that a process writes nothing to a run that was taken over from it. worker makes the command of a process
// that calls [Work] on the same database. It calls the functions in disturb now and then, too.
func Processes(t *testing.T, store runs.Store, worker func() *exec.Cmd, disturb ...func()) {
	t.Helper()
	for i := range workerRuns {
		_, err := store.Submit(t.Context(), fmt.Sprint(i), runs.Spec{})
		must(t, err)
	}
	var all [3]*exec.Cmd
	start := func(i int) {
		all[i] = worker()
		must(t, all[i].Start())
	}
	for i := range all {
		start(i)
		t.Cleanup(func() {
			_ = all[i].Process.Kill()
			_ = all[i].Wait()
		})
	}
	random := rand.New(rand.NewSource(time.Now().UnixNano()))
	for end := time.Now().Add(2 * time.Minute); ; {
		counts, err := store.Count(t.Context(), runs.Query{})
		must(t, err)
		if counts[runs.Done] == workerRuns {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the runs do not end: %v", counts)
		}
		pause(t, time.Duration(random.Intn(200))*time.Millisecond)
		i := random.Intn(len(all))
		switch what := random.Intn(2 + len(disturb)); what {
		case 0:
			must(t, all[i].Process.Kill())
			_ = all[i].Wait()
			start(i)
		case 1:
			must(t, all[i].Process.Signal(syscall.SIGSTOP))
			pause(t, workerTTL+time.Duration(random.Intn(1000))*time.Millisecond)
			must(t, all[i].Process.Signal(syscall.SIGCONT))
		default:
			disturb[what-2]()
		}
	}
	takeovers := 0
	for i := range workerRuns {
		takeovers += checkSteps(t, store, fmt.Sprint(i))
	}
	t.Logf("%d runs were taken over", takeovers)
}

// pause waits, or fails with the test.
func pause(t *testing.T, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.FailNow()
	}
}

// checkSteps checks that the journal has every step once, in order, and the steps of each lease after the steps of the lease
// before.
func checkSteps(t *testing.T, store runs.Store, id string) (takeovers int) {
	t.Helper()
	got, err := store.ReadRecords(t.Context(), id)
	must(t, err)
	if len(got) != workerSteps {
		t.Fatalf("run %s has %d records; want %d", id, len(got), workerSteps)
	}
	last := uint64(0)
	for i, r := range got {
		var step int
		var token uint64
		_, err := fmt.Sscan(string(r), &step, &token)
		must(t, err)
		if step != i || token < last {
			t.Fatalf("run %s has the records %q; want each step once, in order, and later leases behind earlier ones", id, got)
		}
		if last != 0 && token != last {
			takeovers++
		}
		last = token
	}
	return takeovers
}

// Work executes the runs of [Processes] until none is left.
func Work(t *testing.T, store runs.Store) {
	ctx := t.Context()
	for {
		l, err := store.AcquireDue(ctx, runs.LeaseRequest{TTL: workerTTL}, runs.Due{})
		if errors.Is(err, runs.ErrNothingDue) {
			counts, err := store.Count(ctx, runs.Query{})
			must(t, err)
			if counts[runs.Done] == workerRuns {
				return
			}
			pause(t, 20*time.Millisecond)
			continue
		}
		must(t, err)
		id := l.Info().ID
		err = execute(t, l, id)
		if !errors.Is(err, runs.ErrLeaseLost) {
			must(t, err)
		}
	}
}

// execute appends what is missing of the steps of a run, and settles it.
func execute(t *testing.T, l runs.Lease, id string) error {
	got, err := l.ReadRecords(t.Context(), id)
	if err != nil {
		return err
	}
	for i := len(got); i < workerSteps; i++ {
		pause(t, 20*time.Millisecond) // it thinks
		if err := l.AppendRecord(t.Context(), id, fmt.Appendf(nil, "%d %d", i, l.Token())); err != nil {
			return err
		}
	}
	return l.Settle(t.Context(), runs.Settlement{Status: runs.Done})
}

// must ends the test with an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
