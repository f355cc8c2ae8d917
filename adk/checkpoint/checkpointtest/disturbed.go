package checkpointtest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/weftgo/weft/runs"
)

// Disturbed has eight runs append while disturb does something to the server of a store, or to the way to it, and
// requires that no call fails and that each journal has every record once, in order. The IDs of the runs begin with
// "disturbed".
func Disturbed(t *testing.T, s runs.Store, disturb func()) {
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
func appendMany(s runs.Store, id string, stop <-chan struct{}) (acknowledged int, err error) {
	l, err := s.Acquire(background, id, runs.LeaseRequest{TTL: long, Create: &runs.Spec{}})
	if err != nil {
		return 0, err
	}
	for {
		select {
		case <-stop:
			return acknowledged, l.Settle(background, runs.Settlement{Status: runs.Failed})
		default:
		}
		if err := l.AppendRecord(background, id, fmt.Append(nil, acknowledged)); err != nil {
			return acknowledged, err
		}
		acknowledged++
	}
}

// LosesAnswers has a store, on whose way to the server answers get lost, settle, answer, submit and take 50 runs, and
// requires that each call succeeds, and has done what it was to do once. The store must be empty but for what [Disturbed]
// left. whole is the same store by a way that loses nothing, or s; mend has s lose nothing any more before runs are taken,
// for a store in which one that was taken without an answer is due again when its lease has ended. It may be nil.
func LosesAnswers(t *testing.T, s, whole runs.Store, mend func()) {
	t.Helper()
	const many = 50
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s over a network that loses answers: %v", what, err)
		}
	}
	for i := range many {
		id := fmt.Sprint("asks ", i)
		l, err := s.Acquire(background, id, runs.LeaseRequest{Create: &runs.Spec{}})
		must("Acquire", err)
		must("Settle", l.Settle(background, runs.Settlement{Status: runs.Waiting,
			Waiting: []runs.Question{{ID: "q"}}}))
		must("Answer", s.Reply(background, id, runs.Reply{To: "q", Data: []byte("yes")}))
		_, err = s.Submit(background, fmt.Sprint("new ", i), runs.Spec{})
		must("Submit", err)
	}
	counts, err := whole.Count(background, runs.Query{})
	if err != nil || counts[runs.Ready] != 2*many {
		t.Errorf("Count = %v, %v; want %d runs that are ready", counts, err, 2*many)
	}
	if mend != nil {
		mend()
	}
	for range 2 * many {
		_, err := s.AcquireDue(background, runs.LeaseRequest{TTL: long}, runs.Due{})
		must("AcquireDue", err)
	}
	if _, err := s.AcquireDue(background, runs.LeaseRequest{}, runs.Due{}); !errors.Is(err, runs.ErrNothingDue) {
		t.Errorf("AcquireDue when all runs are taken: %v; want ErrNothingDue", err)
	}
}
