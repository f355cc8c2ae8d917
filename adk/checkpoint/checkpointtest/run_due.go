package checkpointtest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weftgo/weft/runs"
)

var dueRules = []runRule{
	{"order", dueOrder},
	{"filters", dueFilters},
	{"time", dueTime},
	{"lease ended", dueLeaseEnded},
	{"states", dueStates},
	{"keys", dueKeys},
	{"keys and leases", dueKeyBusy},
	{"keys and continued runs", dueKeyContinued},
	{"once", dueOnce},
	{"behind many", dueBehindMany},
}

// due requires that these runs are due next, in this order, and holds them.
func (s *subject) due(d runs.Due, ids ...string) (leases []runs.Lease) {
	s.t.Helper()
	for _, id := range ids {
		l, err := s.AcquireDue(background, runs.LeaseRequest{Owner: "worker", TTL: long}, d)
		if err != nil {
			s.t.Fatalf("AcquireDue: %v; want %q", err, id)
		}
		if got := l.Info().ID; got != id {
			s.t.Fatalf("AcquireDue took %q; want %q", got, id)
		}
		if i := s.info(id); i.Owner != "worker" || i.Token != l.Token() {
			s.t.Errorf("Inspect = %+v of a run that was due; want it held by the worker", i)
		}
		leases = append(leases, l)
	}
	return leases
}

// nothingDue requires that there is no run to take.
func (s *subject) nothingDue(d runs.Due) {
	s.t.Helper()
	l, err := s.AcquireDue(background, runs.LeaseRequest{}, d)
	if err == nil {
		s.t.Errorf("AcquireDue took %q; want nothing to be due", l.Info().ID)
		return
	}
	s.refused("AcquireDue", err, runs.ErrNothingDue)
}

// submitLater submits a run after some time.
func (s *subject) submitLater(id string, run runs.Spec) {
	s.t.Helper()
	s.advance(2 * time.Millisecond)
	s.submit(id, run)
}

// dueOrder: priority comes first, then since when a run is due.
func dueOrder(s *subject) {
	s.nothingDue(runs.Due{})
	began := s.now()
	for _, id := range []string{"d", "b", "c"} {
		s.submitLater(id, runs.Spec{})
	}
	s.submitLater("urgent", runs.Spec{Priority: 2})
	s.submitLater("urgent, too", runs.Spec{Priority: 2})
	s.submitLater("soon", runs.Spec{Priority: 1})
	s.submitLater("some day", runs.Spec{Priority: -1, NotBefore: began.Add(-time.Hour)})
	s.submitLater("due for long", runs.Spec{NotBefore: began.Add(-time.Minute)})
	s.due(runs.Due{}, "urgent", "urgent, too", "soon", "due for long", "d", "b", "c", "some day")
	s.nothingDue(runs.Due{})
}

// dueFilters: a worker gets runs of its queues and of its agents alone.
func dueFilters(s *subject) {
	for _, queue := range []string{"", "p", "q"} {
		for _, agent := range []string{"a", "b", "c"} {
			s.submitLater(agent+"@"+queue, runs.Spec{Queue: queue, Agent: agent})
		}
	}
	s.nothingDue(runs.Due{Queues: []string{"none"}})
	s.nothingDue(runs.Due{Agents: []string{"none"}})
	both := runs.Due{Queues: []string{"p", "q"}, Agents: []string{"a", "c"}}
	s.due(both, "a@p", "c@p", "a@q", "c@q")
	s.nothingDue(both)
	unnamed := runs.Due{Queues: []string{""}}
	s.due(unnamed, "a@", "b@", "c@")
	s.nothingDue(unnamed)
	s.due(runs.Due{Agents: []string{"b"}}, "b@p")
	s.due(runs.Due{}, "b@q")
	s.nothingDue(runs.Due{})
}

// dueTime: nothing is due before its time.
func dueTime(s *subject) {
	now := s.now()
	s.submit("submitted", runs.Spec{NotBefore: now.Add(brief)})
	s.settled("ready", runs.Settlement{Status: runs.Ready, WakeAt: now.Add(brief + 10*time.Millisecond)})
	s.settled("waiting", runs.Settlement{Status: runs.Waiting, WakeAt: now.Add(brief + 20*time.Millisecond),
		Waiting: []runs.Question{{ID: "q", Kind: "timer"}}})
	s.submit("much later", runs.Spec{NotBefore: now.Add(long)})
	s.settled("waits on", runs.Settlement{Status: runs.Waiting, WakeAt: now.Add(long)})
	s.nothingDue(runs.Due{})
	s.advance(brief + 30*time.Millisecond)
	leases := s.due(runs.Due{}, "submitted", "ready", "waiting")
	if got := leases[2].Info(); got.Status != runs.Waiting || len(got.Waiting) != 1 {
		s.t.Errorf("Info() = %+v of a run that was woken; want its question", got)
	}
	s.nothingDue(runs.Due{})
}

// dueLeaseEnded: a run whose holder is gone is due once its lease has ended.
func dueLeaseEnded(s *subject) {
	s.brieflyHeld("died")
	s.waiting("waiting", runs.Question{ID: "q"})
	s.brieflyHeld("waiting") // to look at it
	kept := s.hold("kept")
	noError(s.t, kept.AppendRecord(background, "kept", []byte("life")))
	s.nothingDue(runs.Due{})
	s.advance(brief)
	l := s.due(runs.Due{}, "died")[0]
	if i := l.Info(); i.Status != runs.Running || i.Owner != "first" || s.info("died").Attempts != 2 {
		s.t.Errorf("Info() = %+v of a run whose holder died; want it running, held by the first", i)
	}
	s.nothingDue(runs.Due{})
}

// dueStates: what has ended, is paused or waits is not due.
func dueStates(s *subject) {
	for _, status := range []runs.Status{runs.Done, runs.Failed, runs.Paused,
		runs.Waiting} {
		s.settled(string(status), runs.Settlement{Status: status})
	}
	s.hold("held")
	s.submit("stopped", runs.Spec{})
	noError(s.t, s.Stop(background, "stopped", runs.StopRequest{}))
	s.submit("removed", runs.Spec{})
	noError(s.t, s.Remove(background, "removed", false))
	s.nothingDue(runs.Due{})
	noError(s.t, s.Continue(background, "stopped"))
	s.due(runs.Due{}, "stopped")
}

// dueKeys: the runs of a key run one after the other, as they were made.
func dueKeys(s *subject) {
	for n, id := range []string{"z", "y", "x", "w"} {
		s.submitLater(id, runs.Spec{Key: "k", Priority: n}) // a later one is more urgent, and waits all the same
	}
	s.submitLater("other key", runs.Spec{Key: "l", Priority: -1})
	s.submitLater("no key", runs.Spec{Priority: -2})
	first := s.due(runs.Due{}, "z", "other key", "no key")[0]
	s.nothingDue(runs.Due{})
	s.settle(first, runs.Settlement{Status: runs.Waiting, Waiting: []runs.Question{{ID: "q"}}})
	s.nothingDue(runs.Due{}) // one that waits is in front
	noError(s.t, s.Reply(background, "z", runs.Reply{To: "q"}))
	s.settle(s.due(runs.Due{}, "z")[0], runs.Settlement{Status: runs.Done})
	s.settle(s.due(runs.Due{}, "y")[0], runs.Settlement{Status: runs.Failed})
	s.settle(s.due(runs.Due{}, "x")[0], runs.Settlement{Status: runs.Paused})
	s.due(runs.Due{}, "w")
}

// dueKeyBusy: a run behind another one of its key cannot be taken by its ID either.
func dueKeyBusy(s *subject) {
	s.submit("first", runs.Spec{Key: "k"})
	s.submitLater("second", runs.Spec{Key: "k"})
	s.busy("second")
	_, err := s.Acquire(background, "second", runs.LeaseRequest{})
	var busy *runs.BusyError
	if !errors.As(err, &busy) || busy.ID != "first" {
		s.t.Errorf("Acquire of a run behind another one: %v; want a *BusyError with the ID of that", err)
	}
	_, err = s.Acquire(background, "third", runs.LeaseRequest{Create: &runs.Spec{Key: "k"}})
	s.refused("Acquire that makes a run behind others", err, runs.ErrBusy)
	l := s.hold("first")
	s.busy("second")
	s.settle(l, runs.Settlement{Status: runs.Done})
	l = s.hold("second")
	noError(s.t, s.Remove(background, "second", true))
	s.refused("Renew of a run that was removed", l.Renew(background), runs.ErrLeaseLost)
	s.acquire("fourth", runs.LeaseRequest{Create: &runs.Spec{Key: "k"}})
}

// dueOnce: 32 workers take each run once.
func dueOnce(s *subject) {
	const many = 64
	for n := range many {
		s.submit(fmt.Sprint("run ", n), runs.Spec{Queue: fmt.Sprint("q", n%3)})
	}
	var mu sync.Mutex // guards taken and tokens
	taken, tokens := map[string]int{}, map[uint64]bool{}
	together(32, func(int) {
		for {
			l, err := s.AcquireDue(background, runs.LeaseRequest{TTL: long}, runs.Due{})
			if errors.Is(err, runs.ErrNothingDue) {
				return
			}
			if err != nil {
				s.t.Errorf("AcquireDue beside others: %v", err)
				return
			}
			s.settle(l, runs.Settlement{Status: runs.Done})
			mu.Lock()
			taken[l.Info().ID]++
			tokens[l.Token()] = true
			mu.Unlock()
		}
	})
	for n := range many {
		if got := taken[fmt.Sprint("run ", n)]; got != 1 {
			s.t.Errorf("run %d was taken %d times; want once", n, got)
		}
	}
	if len(tokens) != many {
		s.t.Errorf("%d leases had %d different tokens", many, len(tokens))
	}
}

// dueKeyContinued: a run that continues waits for a later one of its key that is executed meanwhile.
func dueKeyContinued(s *subject) {
	s.submit("first", runs.Spec{Key: "k"})
	noError(s.t, s.Stop(background, "first", runs.StopRequest{}))
	s.submit("second", runs.Spec{Key: "k"})
	second := s.due(runs.Due{}, "second")[0]
	noError(s.t, s.Continue(background, "first"))
	s.nothingDue(runs.Due{})
	_, err := s.Acquire(background, "first", runs.LeaseRequest{})
	s.refused("Acquire while a later run of the key is executed", err, runs.ErrBusy)
	s.settle(second, runs.Settlement{Status: runs.Done})
	s.due(runs.Due{}, "first")
}

// dueBehindMany: a run is found, however many are due for longer that the worker does not take.
func dueBehindMany(s *subject) {
	const many = 260 // more than a store looks at in one go
	var others []runs.Child
	for n := range many {
		run := runs.Spec{Queue: "busy", Agent: "a"}
		if n%2 == 0 {
			run = runs.Spec{Queue: "q", Agent: "busy"}
		}
		others = append(others, runs.Child{ID: fmt.Sprint("run ", n), Run: run})
	}
	s.settled("parent", runs.Settlement{Status: runs.Paused, Children: others})
	s.submitLater("last", runs.Spec{Queue: "q", Agent: "a"})
	mine := runs.Due{Queues: []string{"q"}, Agents: []string{"a", "b"}}
	s.settle(s.due(mine, "last")[0], runs.Settlement{Status: runs.Done})
	s.nothingDue(mine)
}
