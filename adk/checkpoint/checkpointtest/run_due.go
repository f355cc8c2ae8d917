package checkpointtest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
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
func (s *subject) due(d checkpoint.Due, ids ...string) (leases []checkpoint.Lease) {
	s.t.Helper()
	for _, id := range ids {
		l, err := s.AcquireDue(background, checkpoint.LeaseRequest{Owner: "worker", TTL: long}, d)
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
func (s *subject) nothingDue(d checkpoint.Due) {
	s.t.Helper()
	l, err := s.AcquireDue(background, checkpoint.LeaseRequest{}, d)
	if err == nil {
		s.t.Errorf("AcquireDue took %q; want nothing to be due", l.Info().ID)
		return
	}
	s.refused("AcquireDue", err, checkpoint.ErrNothingDue)
}

// submitLater submits a run after some time.
func (s *subject) submitLater(id string, run checkpoint.NewRun) {
	s.t.Helper()
	s.advance(2 * time.Millisecond)
	s.submit(id, run)
}

// dueOrder: priority comes first, then since when a run is due.
func dueOrder(s *subject) {
	s.nothingDue(checkpoint.Due{})
	began := s.now()
	for _, id := range []string{"d", "b", "c"} {
		s.submitLater(id, checkpoint.NewRun{})
	}
	s.submitLater("urgent", checkpoint.NewRun{Priority: 2})
	s.submitLater("urgent, too", checkpoint.NewRun{Priority: 2})
	s.submitLater("soon", checkpoint.NewRun{Priority: 1})
	s.submitLater("some day", checkpoint.NewRun{Priority: -1, NotBefore: began.Add(-time.Hour)})
	s.submitLater("due for long", checkpoint.NewRun{NotBefore: began.Add(-time.Minute)})
	s.due(checkpoint.Due{}, "urgent", "urgent, too", "soon", "due for long", "d", "b", "c", "some day")
	s.nothingDue(checkpoint.Due{})
}

// dueFilters: a worker gets runs of its queues and of its agents alone.
func dueFilters(s *subject) {
	for _, queue := range []string{"", "p", "q"} {
		for _, agent := range []string{"a", "b", "c"} {
			s.submitLater(agent+"@"+queue, checkpoint.NewRun{Queue: queue, Agent: agent})
		}
	}
	s.nothingDue(checkpoint.Due{Queues: []string{"none"}})
	s.nothingDue(checkpoint.Due{Agents: []string{"none"}})
	both := checkpoint.Due{Queues: []string{"p", "q"}, Agents: []string{"a", "c"}}
	s.due(both, "a@p", "c@p", "a@q", "c@q")
	s.nothingDue(both)
	unnamed := checkpoint.Due{Queues: []string{""}}
	s.due(unnamed, "a@", "b@", "c@")
	s.nothingDue(unnamed)
	s.due(checkpoint.Due{Agents: []string{"b"}}, "b@p")
	s.due(checkpoint.Due{}, "b@q")
	s.nothingDue(checkpoint.Due{})
}

// dueTime: nothing is due before its time.
func dueTime(s *subject) {
	now := s.now()
	s.submit("submitted", checkpoint.NewRun{NotBefore: now.Add(brief)})
	s.settled("ready", checkpoint.Settlement{Status: checkpoint.Ready, WakeAt: now.Add(brief + 10*time.Millisecond)})
	s.settled("waiting", checkpoint.Settlement{Status: checkpoint.Waiting, WakeAt: now.Add(brief + 20*time.Millisecond),
		Waiting: []checkpoint.WaitPoint{{ID: "q", Kind: "timer"}}})
	s.submit("much later", checkpoint.NewRun{NotBefore: now.Add(long)})
	s.settled("waits on", checkpoint.Settlement{Status: checkpoint.Waiting, WakeAt: now.Add(long)})
	s.nothingDue(checkpoint.Due{})
	s.advance(brief + 30*time.Millisecond)
	leases := s.due(checkpoint.Due{}, "submitted", "ready", "waiting")
	if got := leases[2].Info(); got.Status != checkpoint.Waiting || len(got.Waiting) != 1 {
		s.t.Errorf("Info() = %+v of a run that was woken; want its question", got)
	}
	s.nothingDue(checkpoint.Due{})
}

// dueLeaseEnded: a run whose holder is gone is due once his lease has ended.
func dueLeaseEnded(s *subject) {
	s.brieflyHeld("died")
	s.waiting("waiting", checkpoint.WaitPoint{ID: "q"})
	s.brieflyHeld("waiting") // to look at it
	kept := s.hold("kept")
	noError(s.t, kept.AppendRecord(background, "kept", []byte("life")))
	s.nothingDue(checkpoint.Due{})
	s.advance(brief)
	l := s.due(checkpoint.Due{}, "died")[0]
	if i := l.Info(); i.Status != checkpoint.Running || i.Owner != "first" || s.info("died").Attempts != 2 {
		s.t.Errorf("Info() = %+v of a run whose holder died; want it running, held by the first", i)
	}
	s.nothingDue(checkpoint.Due{})
}

// dueStates: what has ended, is paused or waits is not due.
func dueStates(s *subject) {
	for _, status := range []checkpoint.Status{checkpoint.Done, checkpoint.Failed, checkpoint.Paused,
		checkpoint.Waiting} {
		s.settled(string(status), checkpoint.Settlement{Status: status})
	}
	s.hold("held")
	s.submit("stopped", checkpoint.NewRun{})
	noError(s.t, s.Stop(background, "stopped", checkpoint.StopRequest{}))
	s.submit("removed", checkpoint.NewRun{})
	noError(s.t, s.Remove(background, "removed", false))
	s.nothingDue(checkpoint.Due{})
	noError(s.t, s.Continue(background, "stopped"))
	s.due(checkpoint.Due{}, "stopped")
}

// dueKeys: the runs of a key run one after the other, as they were made.
func dueKeys(s *subject) {
	for n, id := range []string{"z", "y", "x", "w"} {
		s.submitLater(id, checkpoint.NewRun{Key: "k", Priority: n}) // a later one is more urgent, and waits all the same
	}
	s.submitLater("other key", checkpoint.NewRun{Key: "l", Priority: -1})
	s.submitLater("no key", checkpoint.NewRun{Priority: -2})
	first := s.due(checkpoint.Due{}, "z", "other key", "no key")[0]
	s.nothingDue(checkpoint.Due{})
	s.settle(first, checkpoint.Settlement{Status: checkpoint.Waiting, Waiting: []checkpoint.WaitPoint{{ID: "q"}}})
	s.nothingDue(checkpoint.Due{}) // one that waits is in front
	noError(s.t, s.Answer(background, "z", checkpoint.Answer{Point: "q"}))
	s.settle(s.due(checkpoint.Due{}, "z")[0], checkpoint.Settlement{Status: checkpoint.Done})
	s.settle(s.due(checkpoint.Due{}, "y")[0], checkpoint.Settlement{Status: checkpoint.Failed})
	s.settle(s.due(checkpoint.Due{}, "x")[0], checkpoint.Settlement{Status: checkpoint.Paused})
	s.due(checkpoint.Due{}, "w")
}

// dueKeyBusy: a run behind another one of its key cannot be taken by its ID either.
func dueKeyBusy(s *subject) {
	s.submit("first", checkpoint.NewRun{Key: "k"})
	s.submitLater("second", checkpoint.NewRun{Key: "k"})
	s.busy("second")
	_, err := s.Acquire(background, "second", checkpoint.LeaseRequest{})
	var busy *checkpoint.BusyError
	if !errors.As(err, &busy) || busy.ID != "first" {
		s.t.Errorf("Acquire of a run behind another one: %v; want a *BusyError with the ID of that", err)
	}
	_, err = s.Acquire(background, "third", checkpoint.LeaseRequest{Create: &checkpoint.NewRun{Key: "k"}})
	s.refused("Acquire that makes a run behind others", err, checkpoint.ErrRunBusy)
	l := s.hold("first")
	s.busy("second")
	s.settle(l, checkpoint.Settlement{Status: checkpoint.Done})
	l = s.hold("second")
	noError(s.t, s.Remove(background, "second", true))
	s.refused("Renew of a run that was removed", l.Renew(background), checkpoint.ErrLeaseLost)
	s.acquire("fourth", checkpoint.LeaseRequest{Create: &checkpoint.NewRun{Key: "k"}})
}

// dueOnce: 32 workers take each run once.
func dueOnce(s *subject) {
	const runs = 64
	for n := range runs {
		s.submit(fmt.Sprint("run ", n), checkpoint.NewRun{Queue: fmt.Sprint("q", n%3)})
	}
	var mu sync.Mutex // guards taken and tokens
	taken, tokens := map[string]int{}, map[uint64]bool{}
	together(32, func(int) {
		for {
			l, err := s.AcquireDue(background, checkpoint.LeaseRequest{TTL: long}, checkpoint.Due{})
			if errors.Is(err, checkpoint.ErrNothingDue) {
				return
			}
			if err != nil {
				s.t.Errorf("AcquireDue beside others: %v", err)
				return
			}
			s.settle(l, checkpoint.Settlement{Status: checkpoint.Done})
			mu.Lock()
			taken[l.Info().ID]++
			tokens[l.Token()] = true
			mu.Unlock()
		}
	})
	for n := range runs {
		if got := taken[fmt.Sprint("run ", n)]; got != 1 {
			s.t.Errorf("run %d was taken %d times; want once", n, got)
		}
	}
	if len(tokens) != runs {
		s.t.Errorf("%d leases had %d different tokens", runs, len(tokens))
	}
}

// dueKeyContinued: a run that continues waits for a later one of its key that is executed meanwhile.
func dueKeyContinued(s *subject) {
	s.submit("first", checkpoint.NewRun{Key: "k"})
	noError(s.t, s.Stop(background, "first", checkpoint.StopRequest{}))
	s.submit("second", checkpoint.NewRun{Key: "k"})
	second := s.due(checkpoint.Due{}, "second")[0]
	noError(s.t, s.Continue(background, "first"))
	s.nothingDue(checkpoint.Due{})
	_, err := s.Acquire(background, "first", checkpoint.LeaseRequest{})
	s.refused("Acquire while a later run of the key is executed", err, checkpoint.ErrRunBusy)
	s.settle(second, checkpoint.Settlement{Status: checkpoint.Done})
	s.due(checkpoint.Due{}, "first")
}

// dueBehindMany: a run is found, however many are due for longer that the worker does not take.
func dueBehindMany(s *subject) {
	const many = 260 // more than a store looks at in one go
	var others []checkpoint.ChildRun
	for n := range many {
		run := checkpoint.NewRun{Queue: "busy", Agent: "a"}
		if n%2 == 0 {
			run = checkpoint.NewRun{Queue: "q", Agent: "busy"}
		}
		others = append(others, checkpoint.ChildRun{ID: fmt.Sprint("run ", n), Run: run})
	}
	s.settled("parent", checkpoint.Settlement{Status: checkpoint.Paused, Children: others})
	s.submitLater("last", checkpoint.NewRun{Queue: "q", Agent: "a"})
	mine := checkpoint.Due{Queues: []string{"q"}, Agents: []string{"a", "b"}}
	s.settle(s.due(mine, "last")[0], checkpoint.Settlement{Status: checkpoint.Done})
	s.nothingDue(mine)
}
