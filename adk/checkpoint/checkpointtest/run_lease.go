package checkpointtest

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/weftgo/weft/runs"
)

var leaseRules = []runRule{
	{"exclusive", leaseExclusive},
	{"busy", leaseBusy},
	{"expiry", leaseExpiry},
	{"kept", leaseKept},
	{"lost", leaseLost},
	{"late", leaseLate},
	{"tokens", leaseTokens},
	{"made", leaseMade},
	{"ttl", leaseTTL},
	{"adopts", leaseAdopts},
	{"attempts", leaseAttempts},
	{"first append", leaseFirstAppend},
	{"other id", leaseOtherID},
	{"concurrent", leaseConcurrent},
}

// leaseExclusive: of 32 that want a run at once one gets it.
func leaseExclusive(s *subject) {
	var mu sync.Mutex // guards owners
	var owners []string
	together(32, func(g int) {
		req := runs.LeaseRequest{Owner: fmt.Sprint("owner ", g), TTL: long,
			Create: &runs.Spec{Agent: "agent"}}
		l, err := s.Acquire(background, "run", req)
		if err != nil {
			s.refused("Acquire beside others", err, runs.ErrBusy)
			return
		}
		noError(s.t, l.AppendRecord(background, "run", []byte(req.Owner)))
		mu.Lock()
		defer mu.Unlock()
		owners = append(owners, req.Owner)
	})
	if len(owners) != 1 {
		s.t.Fatalf("the run was taken by %q at once; want one owner", owners)
	}
	recorded(s.t, s, "run", owners[0])
	if got := s.info("run").Owner; got != owners[0] {
		s.t.Errorf("the owner is %q; want %q", got, owners[0])
	}
}

// leaseBusy: who is refused gets to know who has the run, and until when.
func leaseBusy(s *subject) {
	l := s.hold("run")
	_, err := s.Acquire(background, "run", runs.LeaseRequest{Owner: "other"})
	s.refused("Acquire of a run that is held", err, runs.ErrBusy)
	var busy *runs.BusyError
	if !errors.As(err, &busy) {
		s.t.Fatalf("Acquire of a run that is held: %v; want a *BusyError", err)
	}
	if until := s.info("run").LeaseUntil; busy.ID != "run" || busy.Owner != "holder" || busy.Token != l.Token() ||
		!busy.Until.Equal(until) || !until.After(s.now()) {
		s.t.Errorf("Acquire of a run that is held: %+v; want its ID, holder, token %d and %v", busy, l.Token(), until)
	}
	_, err = s.Acquire(background, "none", runs.LeaseRequest{})
	s.refused("Acquire of a run that is not there", err, runs.ErrNotFound)
	s.noRun("none")
}

// brieflyHeld takes a run with a lease that ends soon.
func (s *subject) brieflyHeld(id string) runs.Lease {
	s.t.Helper()
	return s.acquire(id, runs.LeaseRequest{Owner: "first", TTL: brief, Create: &runs.Spec{Agent: "agent"}})
}

// leaseExpiry: a lease that has ended is taken over.
func leaseExpiry(s *subject) {
	first := s.brieflyHeld("run")
	s.busy("run")
	s.advance(brief)
	l := s.acquire("run", runs.LeaseRequest{Owner: "second", TTL: long})
	if i := l.Info(); i.Status != runs.Running || i.Owner != "first" || i.Token != first.Token() {
		s.t.Errorf("Info() = %+v; want the run as it was: running, held by the first", i)
	}
	if i := s.info("run"); i.Owner != "second" || i.Token != l.Token() || i.Status != runs.Running {
		s.t.Errorf("Inspect = %+v; want a run that the second holds", i)
	}
}

// leaseKept: renewals, appends and nothing else are needed to keep a run.
func leaseKept(s *subject) {
	l := s.acquire("run", runs.LeaseRequest{TTL: 2 * brief, Create: &runs.Spec{Agent: "agent"}})
	pass := func() { s.advance(2 * brief * 6 / 10) }
	pass()
	noError(s.t, l.Renew(background))
	renewed := s.info("run").LeaseUntil
	pass()
	s.busy("run")
	noError(s.t, l.AppendRecord(background, "run", []byte("step")))
	if until := s.info("run").LeaseUntil; !until.After(renewed) {
		s.t.Errorf("LeaseUntil is %v after an append; want later than %v", until, renewed)
	}
	pass()
	s.busy("run")
}

// writes are the writes of a lease, by name.
func writes(l runs.Lease, id string) map[string]func() error {
	return map[string]func() error{
		"Set":           func() error { return l.Set(background, id, []byte("new")) },
		"Delete":        func() error { return l.Delete(background, id) },
		"AppendRecord":  func() error { return l.AppendRecord(background, id, []byte("new")) },
		"RemoveRecords": func() error { return l.RemoveRecords(background, id) },
	}
}

// leaseLost: once a run was taken over, settled or removed, no write of the lease does anything.
func leaseLost(s *subject) {
	take := func(id string, _ runs.Lease) {
		s.acquire(id, runs.LeaseRequest{Owner: "heir", TTL: long, Steal: id == "stolen"})
	}
	leases := map[string]runs.Lease{}
	ways := map[string]func(id string, l runs.Lease){
		"stolen":   take,
		"ended":    take,
		"settled":  func(_ string, l runs.Lease) { s.settle(l, runs.Settlement{Status: runs.Paused}) },
		"released": func(_ string, l runs.Lease) { s.settle(l, runs.Settlement{}) },
		"stopped": func(id string, _ runs.Lease) {
			noError(s.t, s.Stop(background, id, runs.StopRequest{}))
		},
		"made again": func(id string, _ runs.Lease) {
			noError(s.t, s.Remove(background, id, true))
			s.written(s.hold(id), id)
		},
	}
	for id := range ways {
		leases[id] = s.hold(id)
		if id == "ended" || id == "stopped" {
			s.settle(leases[id], runs.Settlement{})
			leases[id] = s.brieflyHeld(id)
		}
		s.written(leases[id], id)
	}
	s.advance(brief)
	for id, lose := range ways {
		lose(id, leases[id])
		s.nothingWritten(id, leases[id])
	}
	l := s.hold("removed")
	noError(s.t, s.Remove(background, "removed", true))
	for what, write := range writes(l, "removed") {
		s.refused(what+" of a run that was removed", write(), runs.ErrLeaseLost)
	}
	s.noRun("removed")
	absent(s.t, s, "removed")
	recorded(s.t, s, "removed")
}

// written gives a run what a lease that is lost must not change.
func (s *subject) written(l runs.Lease, id string) {
	s.t.Helper()
	noError(s.t, l.Set(background, id, []byte("old")))
	noError(s.t, l.AppendRecord(background, id, []byte("old")))
}

// nothingWritten requires that a lost lease cannot change a run.
func (s *subject) nothingWritten(id string, l runs.Lease) {
	s.t.Helper()
	before := s.info(id)
	all := writes(l, id)
	maps.Copy(all, map[string]func() error{
		"Renew": func() error { return l.Renew(background) },
		"Settle": func() error {
			return l.Settle(background, runs.Settlement{Status: runs.Done, Result: []byte("new"),
				DropRecords: true,
				Checkpoint:  []byte("new"), Children: []runs.Child{{ID: "child"}}})
		},
		"giving back": func() error { return l.Settle(background, runs.Settlement{}) },
	})
	for what, write := range all {
		s.refused(what+" by a lease that is lost, as the run was "+id, write(), runs.ErrLeaseLost)
	}
	holds(s.t, s, id, []byte("old"))
	recorded(s.t, s, id, "old")
	s.noRun("child")
	if after := s.info(id); after.Status != before.Status || after.Owner != before.Owner ||
		after.Token != before.Token ||
		!after.LeaseUntil.Equal(before.LeaseUntil) || after.Steps != 1 || !after.Updated.Equal(before.Updated) {
		s.t.Errorf("a lease that is lost made %+v of %+v", after, before)
	}
}

// leaseLate: a lease that has ended still writes if no process took the run.
func leaseLate(s *subject) {
	l, ends, renews := s.brieflyHeld("run"), s.brieflyHeld("ends"), s.brieflyHeld("renews")
	s.advance(brief)
	noError(s.t, l.Set(background, "run", []byte("late")))
	noError(s.t, l.AppendRecord(background, "run", []byte("late")))
	s.busy("run") // an append renews
	noError(s.t, renews.Renew(background))
	s.busy("renews")
	holds(s.t, s, "run", []byte("late"))
	recorded(s.t, s, "run", "late")
	s.settle(ends, runs.Settlement{Status: runs.Paused})
	s.hasStatus("ends", runs.Paused)
}

// leaseTokens: a token is greater than all before in the store.
func leaseTokens(s *subject) {
	var last uint64
	grows := func(after string, l runs.Lease) {
		s.t.Helper()
		if l.Token() <= last {
			s.t.Errorf("after %s the token is %d; want one greater than %d", after, l.Token(), last)
		}
		last = l.Token()
	}
	l := s.hold("run")
	grows("nothing", l)
	s.settle(l, runs.Settlement{Status: runs.Paused})
	l = s.hold("run")
	grows("a settlement", l)
	s.settle(l, runs.Settlement{})
	grows("a release", s.brieflyHeld("run"))
	s.advance(brief)
	grows("the end of a lease", s.hold("run"))
	grows("a steal", s.acquire("run", runs.LeaseRequest{Steal: true, TTL: long}))
	noError(s.t, s.Remove(background, "run", true))
	grows("a removal", s.hold("run"))
	grows("a lease of another run", s.hold("other"))
	s.submit("due", runs.Spec{})
	l, err := s.AcquireDue(background, runs.LeaseRequest{TTL: long}, runs.Due{})
	noError(s.t, err)
	grows("taking what is due", l)
}

// leaseMade: a run that is made by taking it has what it is made of.
func leaseMade(s *subject) {
	at := s.now().Add(time.Hour).Truncate(time.Millisecond)
	made := runs.Spec{Agent: "a", Queue: "q", Parent: "p", ParentPoint: "pp", Key: "k", Priority: -3,
		Deadline: at,
		Tags:     map[string]string{"x": "y", "": "empty"}, Build: "b", Trace: "t", Records: [][]byte{[]byte("begin"), {}}}
	l := s.acquire("run", runs.LeaseRequest{Owner: "me", Create: &made})
	if i := l.Info(); i.ID != "run" || i.Status != "" || i.Owner != "" {
		s.t.Errorf("Info() = %+v of a run just made; want no status and no owner", i)
	}
	i := s.info("run")
	if i.Agent != "a" || i.Queue != "q" || i.Parent != "p" || i.Key != "k" || i.Priority != -3 ||
		!i.Deadline.Equal(at) ||
		!maps.Equal(i.Tags, made.Tags) || i.Build != "b" || i.Trace != "t" {
		s.t.Errorf("Inspect = %+v; want what the run was made of", i)
	}
	if i.ID != "run" || i.Status != runs.Running || i.Owner != "me" || i.Token != l.Token() ||
		i.Created.IsZero() ||
		i.Updated.Before(i.Created) || i.Steps != 2 || i.Bytes < 5 || i.Attempts != 1 {
		s.t.Errorf("Inspect = %+v; want a run with two records that was taken once", i)
	}
	recorded(s.t, l, "run", "begin", "")
	s.submit("submitted", runs.Spec{})
	if got := s.hold("submitted").Info().Status; got != runs.Ready {
		s.t.Errorf("Info().Status = %q of a run that was submitted; want ready", got)
	}
	tags := map[string]string{}
	for n := range 17 {
		tags[fmt.Sprint(n)] = "x"
	}
	if _, err := s.Acquire(background, "tagged",
		runs.LeaseRequest{Create: &runs.Spec{Tags: tags}}); err == nil {
		s.t.Error("Acquire that makes a run with 17 tags: no error")
	}
	s.noRun("tagged")
}

// leaseTTL: 30 seconds if nothing is asked for, and at least one.
func leaseTTL(s *subject) {
	for asked, want := range map[time.Duration]time.Duration{0: 30 * time.Second, time.Millisecond: time.Second,
		long: long} {
		id := fmt.Sprint("run of ", asked)
		l := s.acquire(id, runs.LeaseRequest{TTL: asked, Create: &runs.Spec{}})
		if l.TTL() != want {
			s.t.Errorf("TTL() = %v where %v was asked for; want %v", l.TTL(), asked, want)
		}
		i := s.info(id)
		if got := i.LeaseUntil.Sub(i.Updated); got < want-10*time.Millisecond || got > want+10*time.Second {
			s.t.Errorf("the lease counts for %v where %v was asked for; want %v", got, asked, want)
		}
	}
}

// leaseAdopts: what was written without a lease belongs to the run that is made under its ID.
func leaseAdopts(s *subject) {
	set(s.t, s, "run", []byte("plain"))
	appendTo(s.t, s, "run", "one")
	s.noRun("run")
	_, err := s.Acquire(background, "run", runs.LeaseRequest{})
	s.refused("Acquire of what is no run", err, runs.ErrNotFound)
	l := s.hold("run")
	holds(s.t, l, "run", []byte("plain"))
	recorded(s.t, l, "run", "one")
	noError(s.t, l.AppendRecord(background, "run", []byte("two")))
	recorded(s.t, s, "run", "one", "two")
	if i := s.info("run"); i.Steps != 2 || i.Bytes < int64(len("plainonetwo")) {
		s.t.Errorf("the run has %d steps and %d bytes; want 2, and the bytes of what was there", i.Steps, i.Bytes)
	}
	s.settle(l, runs.Settlement{Status: runs.Done, DropRecords: true})
	absent(s.t, s, "run")
	recorded(s.t, s, "run")
}

// leaseAttempts: leases count until one makes progress.
func leaseAttempts(s *subject) {
	counts := func(after string, want int) {
		s.t.Helper()
		if got := s.info("run").Attempts; got != want {
			s.t.Errorf("Attempts = %d after %s; want %d", got, after, want)
		}
	}
	steal := runs.LeaseRequest{TTL: long, Steal: true, Create: &runs.Spec{}}
	var l runs.Lease
	for n := range 3 {
		l = s.acquire("run", steal)
		noError(s.t, l.AppendRecord(background, "run", []byte("life")))
		counts("leases without a step", n+1)
	}
	noError(s.t, l.AppendRecord(background, "run", []byte("step")))
	s.acquire("run", steal)
	counts("a lease that recorded a step", 2)
	l = s.acquire("run", steal)
	counts("a lease without a record", 3)
	s.settle(l, runs.Settlement{})
	counts("a lease that was given back", 2)
	s.settled("run", runs.Settlement{Status: runs.Ready})
	counts("a settlement", 0)
}

// leaseFirstAppend: taking a run that waits, is paused or has failed leaves its state as it is; a record makes it run.
func leaseFirstAppend(s *subject) {
	for _, was := range []runs.Status{runs.Waiting, runs.Paused, runs.Failed} {
		id := string(was)
		s.settled(id, runs.Settlement{Status: was})
		l := s.hold(id)
		if got := l.Info().Status; got != was {
			s.t.Errorf("Info().Status = %q; want %q", got, was)
		}
		s.hasStatus(id, was)
		noError(s.t, l.Renew(background))
		s.hasStatus(id, was)
		noError(s.t, l.AppendRecord(background, id, []byte("life")))
		s.hasStatus(id, runs.Running)
	}
}

// leaseOtherID: a lease is of one run.
func leaseOtherID(s *subject) {
	l := s.hold("run")
	set(s.t, s, "other", []byte("stays"))
	appendTo(s.t, s, "other", "stays")
	for what, write := range writes(l, "other") {
		if err := write(); err == nil || errors.Is(err, runs.ErrLeaseLost) {
			s.t.Errorf("%s of another run: %v; want an error, and not that the lease is lost", what, err)
		}
	}
	if _, _, err := l.Get(background, "other"); err == nil {
		s.t.Error("Get of another run by the lease: no error")
	}
	if _, err := l.ReadRecords(background, "other"); err == nil {
		s.t.Error("ReadRecords of another run by the lease: no error")
	}
	holds(s.t, s, "other", []byte("stays"))
	recorded(s.t, s, "other", "stays")
	noError(s.t, l.Renew(background))
}

// leaseConcurrent: a lease is used by several goroutines.
func leaseConcurrent(s *subject) {
	l := s.hold("run")
	together(8, func(int) {
		for range 10 {
			noError(s.t, l.AppendRecord(background, "run", []byte("x")))
			noError(s.t, l.Set(background, "run", []byte("y")))
			noError(s.t, l.Renew(background))
		}
	})
	if i := s.info("run"); i.Steps != 80 {
		s.t.Errorf("the run has %d steps; want 80", i.Steps)
	}
}
