package checkpointtest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/weftgo/weft/adk/checkpoint"
)

// Disturbed has eight runs append while disturb does something to the server of a store, or to the way to it, and
// requires that no call fails and that each journal has every record once, in order. The IDs of the runs begin with
// "disturbed".
func Disturbed(t *testing.T, s checkpoint.RunStore, disturb func()) {
	t.Helper()
	stop := make(chan struct{})
	var all sync.WaitGroup
	var acknowledged [8]int
	var errs [8]error
	for i := range acknowledged {
		all.Go(func() { acknowledged[i], errs[i] = appendMany(s, disturbedID(i), stop) })
	}
	disturb()
	close(stop)
	all.Wait()
	total := 0
	for i, n := range acknowledged {
		noError(t, errs[i])
		records, err := s.ReadRecords(background, disturbedID(i))
		noError(t, err)
		if len(records) != n {
			t.Errorf("run %d has %d records; want the %d that were acknowledged", i, len(records), n)
		}
		for k, r := range records {
			if string(r) != fmt.Sprint(k) {
				t.Fatalf("record %d of run %d is %q", k, i, r)
			}
		}
		total += n
	}
	if total == 0 {
		t.Error("nothing was appended")
	}
}

func disturbedID(i int) string { return fmt.Sprint("disturbed ", i) }

// appendMany appends records to a run of its own until it is stopped, and returns how many the store has acknowledged.
func appendMany(s checkpoint.RunStore, id string, stop <-chan struct{}) (acknowledged int, err error) {
	l, err := s.Acquire(background, id, checkpoint.LeaseRequest{TTL: long, Create: &checkpoint.NewRun{}})
	if err != nil {
		return 0, err
	}
	for {
		select {
		case <-stop:
			return acknowledged, l.Settle(background, checkpoint.Settlement{Status: checkpoint.Failed})
		default:
		}
		if err := l.AppendRecord(background, id, fmt.Append(nil, acknowledged)); err != nil {
			return acknowledged, err
		}
		acknowledged++
	}
}
