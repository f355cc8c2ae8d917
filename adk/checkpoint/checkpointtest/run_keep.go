package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/runs"
)

var keepRules = []runRule{
	{"expires", keepExpires},
	{"sweep", keepSweep},
	{"held", keepHeld},
	{"resumed", keepResumed},
	{"remove", keepRemove},
	{"remove by force", keepRemoveByForce},
	{"hostile ids", keepHostileIDs},
	{"values", keepValues},
	{"too long", keepTooLong},
	{"context ended", keepContextEnded},
}

// keepExpires: a settlement says how long a run is kept.
func keepExpires(s *subject) {
	for _, status := range []runs.Status{runs.Done, runs.Failed, runs.Paused,
		runs.Waiting} {
		s.settled("run", runs.Settlement{Status: status, Keep: long})
		if i := s.info("run"); i.Expires.Sub(i.Updated).Round(time.Second) != long {
			s.t.Errorf("a run that is %s expires at %v; want %v after %v", status, i.Expires, long, i.Updated)
		}
		s.settled("run", runs.Settlement{Status: status, Keep: -1})
		if i := s.info("run"); !i.Expires.IsZero() {
			s.t.Errorf("a run that is %s and kept for ever expires at %v", status, i.Expires)
		}
	}
	s.settled("run", runs.Settlement{Status: runs.Ready})
	if i := s.info("run"); !i.Expires.IsZero() {
		s.t.Errorf("a run that is ready expires at %v", i.Expires)
	}
}

// swept requires what a sweep removes.
func (s *subject) swept(limit, want int, more bool) {
	s.t.Helper()
	got, err := s.Sweep(background, limit)
	if err != nil || got.Runs != want || got.More != more {
		s.t.Errorf("Sweep(%d) = %+v, %v; want %d runs, more: %v", limit, got, err, want, more)
	}
}

// keepSweep: what has expired is removed, wholly, and nothing else.
func keepSweep(s *subject) {
	s.swept(10, 0, false)
	const soon = 100 * time.Millisecond
	for n := range 5 {
		id := fmt.Sprint("old ", n)
		l := s.hold(id)
		noError(s.t, l.AppendRecord(background, id, []byte("step")))
		s.settle(l, runs.Settlement{Status: runs.Failed, Checkpoint: []byte("x"), Keep: soon})
	}
	s.settled("kept", runs.Settlement{Status: runs.Done, Keep: long})
	s.settled("for ever", runs.Settlement{Status: runs.Done, Keep: -1})
	s.submit("ready", runs.Spec{})
	set(s.t, s, "plain", []byte("no run"))
	s.advance(2 * soon)
	s.swept(3, 3, true)
	s.swept(2, 2, false)
	s.swept(10, 0, false)
	for n := range 5 {
		id := fmt.Sprint("old ", n)
		s.noRun(id)
		absent(s.t, s, id)
		recorded(s.t, s, id)
	}
	s.lists(runs.Query{}, "kept", "for ever", "ready")
	holds(s.t, s, "plain", []byte("no run"))
	s.submit("old 0", runs.Spec{}) // its ID is free
}

// keepHeld: a run that is held is not swept.
func keepHeld(s *subject) {
	s.settled("run", runs.Settlement{Status: runs.Failed, Keep: time.Millisecond})
	l := s.hold("run")
	s.advance(10 * time.Millisecond)
	s.swept(10, 0, false)
	s.settle(l, runs.Settlement{})
	s.swept(10, 1, false)
	s.noRun("run")
}

// keepResumed: a run that runs again does not expire, also when its holder dies.
func keepResumed(s *subject) {
	s.settled("run", runs.Settlement{Status: runs.Failed, Keep: time.Millisecond})
	s.settled("continued", runs.Settlement{Status: runs.Paused, Keep: time.Millisecond})
	noError(s.t, s.Continue(background, "continued"))
	s.settled("answered", runs.Settlement{Status: runs.Waiting, Waiting: []runs.Question{{ID: "q"}},
		Keep: 100 * time.Millisecond})
	noError(s.t, s.answer("answered", "q"))
	l := s.brieflyHeld("run")
	noError(s.t, l.AppendRecord(background, "run", []byte("life")))
	s.advance(brief)
	s.swept(10, 0, false)
	s.hasStatus("run", runs.Running)
	recorded(s.t, s, "run", "life")
	s.hasStatus("continued", runs.Ready)
	s.hasStatus("answered", runs.Ready)
}

// keepRemove: nothing is left of a run, and one that is held is not removed.
func keepRemove(s *subject) {
	noError(s.t, s.Remove(background, "never made", false))
	s.waiting("run", runs.Question{ID: "q"})
	s.submit("stays", runs.Spec{Records: [][]byte{[]byte("stays")}})
	l := s.hold("run")
	s.written(l, "run")
	err := s.Remove(background, "run", false)
	s.refused("Remove of a run that is held", err, runs.ErrBusy)
	var busy *runs.BusyError
	if !errors.As(err, &busy) || busy.Owner != "holder" {
		s.t.Errorf("Remove of a run that is held: %v; want who has it", err)
	}
	holds(s.t, s, "run", []byte("old"))
	noError(s.t, l.Renew(background))
	s.settle(l, runs.Settlement{Status: runs.Paused})
	s.settled("done", runs.Settlement{Status: runs.Done, Result: []byte("result")})
	for _, id := range []string{"run", "done"} {
		noError(s.t, s.Remove(background, id, false))
		s.gone(id)
	}
	recorded(s.t, s, "stays", "stays")
	s.lists(runs.Query{}, "stays")
	s.brieflyHeld("dead")
	s.advance(brief)
	noError(s.t, s.Remove(background, "dead", false))
	s.gone("dead")
}

// gone requires that nothing is left of a run.
func (s *subject) gone(id string) {
	s.t.Helper()
	s.noRun(id)
	absent(s.t, s, id)
	recorded(s.t, s, id)
	if result, err := s.Result(background, id); len(result) > 0 || err != nil {
		s.t.Errorf("Result of a run that was removed: %q, %v; want none", result, err)
	}
	_, err := s.Acquire(background, id, runs.LeaseRequest{})
	s.refused("Acquire of a run that was removed", err, runs.ErrNotFound)
	s.refused("Answer to a run that was removed", s.answer(id, "q"), runs.ErrNotFound)
}

// keepRemoveByForce: with force a run that is held is removed, and one that is made again has nothing of it.
func keepRemoveByForce(s *subject) {
	s.waiting("run", runs.Question{ID: "q"})
	noError(s.t, s.answer("run", "q"))
	l := s.hold("run")
	s.written(l, "run")
	noError(s.t, s.Remove(background, "run", true))
	s.gone("run")
	s.nothingDue(runs.Due{})
	again := s.hold("run")
	s.refused("Set of a run that was made again", l.Set(background, "run", nil), runs.ErrLeaseLost)
	s.answered(again)
	recorded(s.t, again, "run")
	if i := s.info("run"); len(i.Waiting) != 0 || i.Steps != 0 || i.Bytes != 0 || again.Info().Status != "" {
		s.t.Errorf("Inspect = %+v of a run that was made again; want nothing of the one before", i)
	}
}

// keepHostileIDs: any string is the ID of a run, of its questions, and a name.
func keepHostileIDs(s *subject) {
	ids := hostile()
	for n, id := range ids {
		l := s.acquire(id, runs.LeaseRequest{Owner: "owner of " + id, TTL: long,
			Create: &runs.Spec{Agent: id, Queue: id,
				Records: [][]byte{fmt.Append(nil, n)}}})
		noError(s.t, l.AppendRecord(background, id, []byte(id)))
		s.settle(l, runs.Settlement{Status: runs.Waiting, Checkpoint: []byte(id),
			Waiting: []runs.Question{{ID: id, Kind: "question", For: []string{id}, Text: id}}})
	}
	for n, id := range ids {
		recorded(s.t, s, id, fmt.Sprint(n), id)
		holds(s.t, s, id, []byte(id))
		if i := s.info(id); i.ID != id || i.Agent != id || i.Waiting[0].ID != id || i.Waiting[0].For[0] != id {
			s.t.Errorf("Inspect(%s) = %.300v; want names as they were given", short(id), i)
		}
		if id != "" { // which matters not to a query
			s.lists(runs.Query{WaitingFor: id}, id)
			s.lists(runs.Query{Agent: id}, id)
		}
		noError(s.t, s.Reply(background, id, runs.Reply{To: id, Data: []byte(id), By: id}))
		s.due(runs.Due{Queues: []string{id}}, id)
	}
	s.lists(runs.Query{}, slices.Clone(ids)...)
	slices.Sort(ids)
	for n, id := range ids {
		noError(s.t, s.Remove(background, id, true))
		s.noRun(id)
		if n+1 < len(ids) {
			s.hasStatus(ids[n+1], runs.Running)
		}
	}
}

// keepValues: empty values and large ones are like any others.
func keepValues(s *subject) {
	size := 4 << 20
	if isThorough() {
		size = 16 << 20
	}
	for name, value := range map[string][]byte{"empty": {}, "large": bytes.Repeat([]byte("0123456789abcdef"), size/16)} {
		l := s.acquire(name, runs.LeaseRequest{TTL: long, Create: &runs.Spec{Records: [][]byte{value}}})
		noError(s.t, l.Set(background, name, value))
		holds(s.t, l, name, value)
		noError(s.t, l.AppendRecord(background, name, value))
		recorded(s.t, l, name, string(value), string(value))
		s.settle(l, runs.Settlement{Status: runs.Waiting, Checkpoint: value, DropRecords: true,
			Waiting: []runs.Question{{ID: "q"}}})
		holds(s.t, s, name, value)
		if got := s.info(name).Bytes; got < int64(len(value)) || got > int64(len(value))*3/2+4096 {
			s.t.Errorf("a run with a checkpoint of %d bytes has %d bytes", len(value), got)
		}
		noError(s.t, s.Reply(background, name, runs.Reply{To: "q", Data: value}))
		l = s.hold(name)
		if answers, err := l.Replies(background); err != nil || len(answers) != 1 || !bytes.Equal(answers[0].Data, value) {
			s.t.Errorf("Answers with %d bytes: %d, %v; want the one that was given", len(value), len(answers), err)
		}
		s.settle(l, runs.Settlement{Status: runs.Done, Result: value})
		if got, err := s.Result(background, name); err != nil || !bytes.Equal(got, value) {
			s.t.Errorf("Result = %s, %v; want %s", short(string(got)), err, short(string(value)))
		}
	}
	why := strings.Repeat("why? ", 10_000)
	s.settled("failed", runs.Settlement{Status: runs.Failed, Err: why})
	if got := s.info("failed").Error; got != why {
		s.t.Errorf("Error = %s; want %s", short(got), short(why))
	}
}

// keepContextEnded: a call whose context has ended does what it says and returns nil, or says so and does nothing.
func keepContextEnded(s *subject) {
	s.waiting("waiting", runs.Question{ID: "q"})
	s.submit("ready", runs.Spec{Queue: "q"})
	s.settled("paused", runs.Settlement{Status: runs.Paused})
	s.settled("done", runs.Settlement{Status: runs.Done})
	l, ends := s.hold("held"), s.hold("ends")
	ctx := ended()
	has := func(id string, status runs.Status) func() bool {
		return func() bool { i, ok, _ := s.Inspect(background, id); return ok && i.Status == status }
	}
	for what, c := range map[string]struct {
		call func() error
		done func() bool
	}{
		"Submit": {func() error { _, err := s.Submit(ctx, "new", runs.Spec{}); return err }, has("new",
			runs.Ready)},
		"Acquire":    {func() error { return s.acquireIn(ctx, "made") }, has("made", runs.Running)},
		"AcquireDue": {func() error { return s.acquireDueIn(ctx, "q") }, has("ready", runs.Running)},
		"Answer": {func() error { return s.Reply(ctx, "waiting", runs.Reply{To: "q"}) }, has("waiting",
			runs.Ready)},
		"Continue": {func() error { return s.Continue(ctx, "paused") }, has("paused", runs.Ready)},
		"Remove": {func() error { return s.Remove(ctx, "done", false) },
			func() bool { _, ok, _ := s.Inspect(background, "done"); return !ok }},
		"AppendRecord": {func() error { return l.AppendRecord(ctx, "held", []byte("x")) },
			func() bool { return s.info("held").Steps == 1 }},
		"Settle": {func() error { return ends.Settle(ctx, runs.Settlement{Status: runs.Failed}) },
			has("ends", runs.Failed)},
	} {
		err := c.call()
		if err != nil && !errors.Is(err, context.Canceled) {
			s.t.Errorf("%s with a context that has ended: %v; want an error that wraps context.Canceled", what, err)
		}
		if done := c.done(); done != (err == nil) {
			s.t.Errorf("%s with a context that has ended returned %v; it was done: %v", what, err, done)
		}
	}
	for _, err := range s.List(ctx, runs.Query{}) {
		if err != nil && !errors.Is(err, context.Canceled) {
			s.t.Errorf("List with a context that has ended: %v; want an error that wraps context.Canceled", err)
		}
	}
}

func (s *subject) acquireIn(ctx context.Context, id string) error {
	_, err := s.Acquire(ctx, id, runs.LeaseRequest{TTL: long, Create: &runs.Spec{}})
	return err
}

func (s *subject) acquireDueIn(ctx context.Context, queue string) error {
	_, err := s.AcquireDue(ctx, runs.LeaseRequest{TTL: long}, runs.Due{Queues: []string{queue}})
	return err
}

// tooLong is longer than a value may be. Nothing writes to it, so that it takes no memory.
var tooLong = sync.OnceValue(func() []byte { return make([]byte, 64<<20+1) })

// keepTooLong: a value that is too long is refused before anything is written, by an error with the ID of the run.
func keepTooLong(s *subject) {
	value := tooLong()
	s.waiting("asking run", runs.Question{ID: "q"}, runs.Question{ID: "r"})
	s.submit("run", runs.Spec{Parent: "asking run", ParentPoint: "q"})
	l := s.hold("run")
	s.written(l, "run")
	for what, call := range map[string]func() error{
		"Submit": func() error {
			_, err := s.Submit(background, "new run", runs.Spec{Records: [][]byte{{1}, value}})
			return err
		},
		"Acquire": func() error {
			_, err := s.Acquire(background, "new run", runs.LeaseRequest{Create: &runs.Spec{Records: [][]byte{value}}})
			return err
		},
		"Answer": func() error {
			return s.Reply(background, "asking run", runs.Reply{To: "r"}, runs.Reply{To: "q", Data: value})
		},
		"Set":          func() error { return l.Set(background, "run", value) },
		"AppendRecord": func() error { return l.AppendRecord(background, "run", value) },
		"Settle with a checkpoint": func() error {
			return l.Settle(background, runs.Settlement{Status: runs.Failed, Checkpoint: value, DropRecords: true})
		},
		"Settle with a result": func() error {
			return l.Settle(background, runs.Settlement{Status: runs.Done, Result: value, DropRecords: true})
		},
		"Settle with an answer": func() error {
			return l.Settle(background, runs.Settlement{Status: runs.Done, Answer: value, DropRecords: true})
		},
		"Settle with a child": func() error {
			return l.Settle(background, runs.Settlement{Status: runs.Waiting, DropRecords: true,
				Children: []runs.Child{{ID: "new run", Run: runs.Spec{Records: [][]byte{value}}}}})
		},
		"Set without a lease":          func() error { return s.Store.Set(background, "plain run", value) },
		"AppendRecord without a lease": func() error { return s.Store.AppendRecord(background, "plain run", value) },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "run\"") || !strings.Contains(err.Error(), "too long") {
			s.t.Errorf("%s with a value of 64 MiB and a byte: %.300v; want an error with the ID that says that it is too long", what, err)
		}
	}
	s.noRun("new run")
	for _, id := range []string{"new run", "plain run"} {
		absent(s.t, s, id)
		recorded(s.t, s, id)
	}
	holds(s.t, s, "run", []byte("old"))
	recorded(s.t, s, "run", "old")
	s.hasStatus("asking run", runs.Waiting)
	noError(s.t, l.Renew(background))
	s.settle(l, runs.Settlement{Status: runs.Done, Answer: []byte("yes")})
	if i := s.info("asking run"); !i.Waiting[0].Answered || i.Waiting[1].Answered {
		s.t.Errorf("Inspect = %+v; want the answer of the child alone", i)
	}
}
