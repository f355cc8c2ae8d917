package checkpointtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftgo/weft/internal/testsize"
	"github.com/weftgo/weft/runs"
)

// Steps is a store for [EveryStep]. A call takes it steps, such as statements, writes of files or messages to a server,
// and each can go wrong.
type Steps struct {
	Store runs.Store
	// Fail has one step of the calls that follow go wrong, counted from 1.
	Fail func(step int)
	// Mend has all steps succeed again. It reports whether the calls came to the step, and returns the store that is used
	// from then on: another one if what went wrong was the death of the process, and nil for the same.
	Mend func() (reached bool, next runs.Store)
}

// EveryStep has each step of each call that changes runs go wrong in turn, and requires that the runs then are as they
// were before or as they are after the call, whole: status, questions, result, checkpoint, journal, answers, children
// and the answer to a parent. A call without an error has done everything. The same call made again does what is not
// done yet, and nothing twice.
//
// With -short and with the race detector, which makes stores slow, it takes every fifth step, unless WEFT_THOROUGH is set
// in the environment.
func EveryStep(t *testing.T, on Steps) {
	t.Helper()
	stride := 1
	if !testsize.Full() && !isThorough() {
		stride = 5
	}
	for _, rule := range stepRules {
		t.Run(rule.name, func(t *testing.T) {
			s := &stepped{Steps: &on, t: t, rule: rule}
			s.learn()
			first := 0
			for _, c := range []byte(t.Name()) { // others where the name is another one
				first += int(c)
			}
			first = 1 + first%stride
			step := first
			for s.disturb(step) {
				step += stride
			}
			if step == first && (first == 1 || !s.disturb(1)) {
				t.Error("the call has no step that can go wrong")
			}
		})
	}
}

// stepRule is a call that is disturbed.
type stepRule struct {
	name string
	// prepare makes what the call needs, and holds the run if holds is set.
	prepare func(s *stepped, id string)
	// call is made with the lease of a run that is held, nil for others.
	holds bool
	// others are the ends of the IDs of other runs that it may change.
	others []string
	call   func(s runs.Store, l runs.Lease, id string) error
	// done are errors which say of a call that is made again that it was made before.
	done []error
}

// stepped is a store with one rule about its steps.
type stepped struct {
	*Steps
	t    *testing.T
	rule stepRule
	// old and new are what is seen of the run before and after an undisturbed call.
	old, new string
}

// learn makes the call once without anything going wrong.
func (s *stepped) learn() {
	s.t.Helper()
	id := s.rule.name + " 0"
	l := s.prepared(id)
	s.old = s.seen(id)
	s.must("the undisturbed call", s.rule.call(s.Store, l, id))
	if s.new = s.seen(id); s.new == s.old {
		s.t.Fatalf("an undisturbed call leaves nothing that can be seen: %s", s.old)
	}
}

// prepared makes what the call needs, and returns the lease if it needs one.
func (s *stepped) prepared(id string) (l runs.Lease) {
	s.t.Helper()
	s.rule.prepare(s, id)
	if s.rule.holds {
		l = s.hold(id)
		s.must("AppendRecord", l.AppendRecord(background, id, []byte("life")))
	}
	return l
}

// disturb has one step go wrong. It returns false if the call has fewer.
func (s *stepped) disturb(step int) bool {
	s.t.Helper()
	id := fmt.Sprint(s.rule.name, " ", step)
	l := s.prepared(id)
	if was := s.seen(id); was != s.old {
		s.t.Fatalf("before the call there is\n%s\nwant\n%s", was, s.old)
	}
	s.Fail(step)
	err := s.rule.call(s.Store, l, id)
	reached, next := s.Mend()
	dead := next != nil
	if dead {
		s.Store = next
	}
	is := s.seen(id)
	switch {
	case !reached && err != nil:
		s.t.Errorf("without a disturbance: %v", err)
	case err == nil && is != s.new:
		s.t.Errorf("step %d went wrong, the call did not fail, and there is\n%s\nwant what it leaves:\n%s", step, is, s.new)
	case is != s.old && is != s.new:
		s.t.Errorf("step %d went wrong (%v), and there is\n%s\nwant what was before\n%s\nor what is after the call\n%s", step,
			err, is, s.old, s.new)
	}
	if err != nil {
		s.again(step, id, l, dead, is == s.new)
	}
	return reached && !s.t.Failed()
}

// again makes the call once more. After the death of a process another one does, which takes the run.
func (s *stepped) again(step int, id string, l runs.Lease, dead, isDone bool) {
	s.t.Helper()
	if dead && s.rule.holds {
		if isDone {
			return
		}
		var err error
		l, err = s.Store.Acquire(background, id, runs.LeaseRequest{Owner: "holder", TTL: long, Steal: true})
		s.must("Acquire after a death", err)
	}
	if isDone && slices.Contains(s.rule.done, runs.ErrLeaseLost) {
		s.requireFenced(step, l, id)
	}
	err := s.rule.call(s.Store, l, id)
	if err != nil && !(isDone && slices.ContainsFunc(s.rule.done, func(done error) bool { return errors.Is(err, done) })) {
		s.t.Errorf("again after step %d, the run was changed: %v: %v", step, isDone, err)
	}
	if is := s.seen(id); is != s.new {
		s.t.Errorf("again after step %d, the run was changed: %v, and there is\n%s\nwant\n%s", step, isDone, is, s.new)
	}
}

// requireFenced checks that a lease cannot write after its settlement took effect, even if Settle returned an error.
func (s *stepped) requireFenced(step int, l runs.Lease, id string) {
	s.t.Helper()
	for what, err := range map[string]error{
		"Set":           l.Set(background, id, []byte("late")),
		"AppendRecord":  l.AppendRecord(background, id, []byte("late")),
		"RemoveRecords": l.RemoveRecords(background, id),
		"Renew":         l.Renew(background),
	} {
		if !errors.Is(err, runs.ErrLeaseLost) {
			s.t.Errorf("%s after a settlement that failed at step %d, and was done: %v; want ErrLeaseLost", what, step, err)
		}
	}
}

func (s *stepped) must(what string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
}

// hold takes a run for long, and makes it if there is none.
func (s *stepped) hold(id string) runs.Lease {
	s.t.Helper()
	l, err := s.Store.Acquire(background, id, runs.LeaseRequest{Owner: "holder", TTL: long,
		Create: &runs.Spec{Agent: "agent"}})
	s.must("Acquire", err)
	return l
}

// waits makes a run that waits for answers to questions, with a checkpoint.
func (s *stepped) waits(id string, points ...string) {
	s.t.Helper()
	var waiting []runs.Question
	for _, p := range points {
		waiting = append(waiting, runs.Question{ID: p, For: []string{"ana"}})
	}
	s.must("Settle", s.hold(id).Settle(background, runs.Settlement{Status: runs.Waiting, Waiting: waiting,
		Checkpoint: []byte("old")}))
}

func (s *stepped) submit(id string, run runs.Spec) {
	s.t.Helper()
	_, err := s.Store.Submit(background, id, run)
	s.must("Submit", err)
}

// seen is everything that can be seen of a run and those that belong to it, without times and numbers that differ.
func (s *stepped) seen(id string) string {
	s.t.Helper()
	var b strings.Builder
	for _, suffix := range append([]string{""}, s.rule.others...) {
		of := id + suffix
		i, exists, err := s.Store.Inspect(background, of)
		s.must("Inspect", err)
		data, saved, err := s.Store.Get(background, of)
		s.must("Get", err)
		records, err := s.Store.ReadRecords(background, of)
		s.must("ReadRecords", err)
		result, err := s.Store.Result(background, of)
		s.must("Result", err)
		fmt.Fprintf(&b, "%s: exists=%v status=%q held=%v wakes=%v expires=%v error=%q agent=%q key=%v tags=%v",
			suffix, exists, i.Status, i.Owner != "", i.WakeAt.After(i.Created.Add(long/2)),
			!i.Expires.IsZero(), i.Error, i.Agent, i.Key != "", i.Tags)
		for _, p := range i.Waiting {
			fmt.Fprintf(&b, " %s(answered=%v)", p.ID, p.Answered)
		}
		// An append that is made again after an unclear error may be there twice.
		records = slices.CompactFunc(records, slices.Equal[[]byte])
		fmt.Fprintf(&b, " checkpoint=%v %q journal=%q result=%q\n", saved, data, records, result)
	}
	return b.String()
}

var stepRules = []stepRule{
	{name: "settle as waiting", holds: true, others: []string{" child"}, done: []error{runs.ErrLeaseLost},
		prepare: func(s *stepped, id string) { s.waits(id, "before") },
		call: func(_ runs.Store, l runs.Lease, id string) error {
			return l.Settle(background, runs.Settlement{Status: runs.Waiting, Checkpoint: []byte("saved"),
				Waiting: []runs.Question{{ID: "q", For: []string{"ana", "bob"}}, {ID: "r"}}, DropRecords: true, Keep: long,
				Children: []runs.Child{{ID: id + " child", Run: runs.Spec{Agent: "a", Parent: id, ParentPoint: "r",
					Tags: map[string]string{"k": "v"}, Records: [][]byte{[]byte("begin")}}}}})
		}},
	{name: "settle as waiting anew", holds: true, done: []error{runs.ErrLeaseLost},
		prepare: func(s *stepped, id string) {
			s.waits(id, "q")
			s.must("Answer", s.Store.Reply(background, id, runs.Reply{To: "q", Data: []byte("used up")}))
		},
		call: func(_ runs.Store, l runs.Lease, _ string) error {
			return l.Settle(background, runs.Settlement{Status: runs.Waiting,
				Waiting: []runs.Question{{ID: "next"}}, Checkpoint: []byte("saved")})
		}},
	{name: "settle as done", holds: true, others: []string{" parent"}, done: []error{runs.ErrLeaseLost},
		prepare: func(s *stepped, id string) {
			s.waits(id+" parent", "q")
			s.submit(id, runs.Spec{Parent: id + " parent", ParentPoint: "q", Key: id})
			l := s.hold(id)
			s.must("Set", l.Set(background, id, []byte("old")))
			s.must("Settle", l.Settle(background, runs.Settlement{Status: runs.Paused}))
		},
		call: func(_ runs.Store, l runs.Lease, _ string) error {
			return l.Settle(background, runs.Settlement{Status: runs.Done, Result: []byte("result"),
				Answer: []byte("answer"), DropRecords: true})
		}},
	{name: "settle as failed", holds: true, done: []error{runs.ErrLeaseLost},
		prepare: func(s *stepped, id string) { s.waits(id, "q") },
		call: func(_ runs.Store, l runs.Lease, _ string) error {
			return l.Settle(background, runs.Settlement{Status: runs.Failed, Err: "no luck"})
		}},
	{name: "settle as ready", holds: true, done: []error{runs.ErrLeaseLost},
		prepare: func(s *stepped, id string) { s.waits(id, "q") },
		call: func(_ runs.Store, l runs.Lease, _ string) error {
			return l.Settle(background, runs.Settlement{Status: runs.Ready, WakeAt: time.Now().Add(long)})
		}},
	{name: "append", holds: true, prepare: func(s *stepped, id string) { s.waits(id, "q") },
		call: func(_ runs.Store, l runs.Lease, id string) error {
			return l.AppendRecord(background, id, []byte("record"))
		}},
	{name: "set", holds: true, prepare: func(s *stepped, id string) { s.waits(id, "q") },
		call: func(_ runs.Store, l runs.Lease, id string) error {
			return l.Set(background, id, []byte("saved"))
		}},
	{name: "submit", done: []error{runs.ErrExists}, prepare: func(*stepped, string) {},
		call: func(s runs.Store, _ runs.Lease, id string) error {
			_, err := s.Submit(background, id, runs.Spec{Agent: "a", Key: id, Tags: map[string]string{"k": "v"},
				Records: [][]byte{[]byte("a"), []byte("b")}})
			return err
		}},
	{name: "answer", done: []error{runs.ErrReplied, runs.ErrNotWaiting},
		prepare: func(s *stepped, id string) { s.waits(id, "q", "r") },
		call: func(s runs.Store, _ runs.Lease, id string) error {
			return s.Reply(background, id, runs.Reply{To: "q", Data: []byte("yes")},
				runs.Reply{To: "r", Data: []byte("no")})
		}},
	{name: "acquire", done: []error{runs.ErrBusy},
		prepare: func(s *stepped, id string) { s.submit(id, runs.Spec{Key: id}) }, call: acquireStep},
	{name: "acquire new", done: []error{runs.ErrBusy}, prepare: func(*stepped, string) {}, call: acquireStep},
	{name: "acquire due", done: []error{runs.ErrNothingDue},
		prepare: func(s *stepped, id string) { s.submit(id, runs.Spec{Queue: id}) },
		call: func(s runs.Store, _ runs.Lease, id string) error {
			_, err := s.AcquireDue(background, runs.LeaseRequest{TTL: long}, runs.Due{Queues: []string{id}})
			return err
		}},
	{name: "stop", prepare: func(s *stepped, id string) { s.waits(id, "q") },
		call: func(s runs.Store, _ runs.Lease, id string) error {
			return s.Stop(background, id, runs.StopRequest{Reason: "lunch"})
		}},
	{name: "remove", prepare: func(s *stepped, id string) {
		s.submit(id, runs.Spec{Queue: id, Records: [][]byte{[]byte("a")}})
		s.waits(id, "q")
		s.must("Answer", s.Store.Reply(background, id, runs.Reply{To: "q"}))
	}, call: func(s runs.Store, _ runs.Lease, id string) error {
		return s.Remove(background, id, false)
	}},
	{name: "continue", prepare: func(s *stepped, id string) {
		s.must("Settle", s.hold(id).Settle(background, runs.Settlement{Status: runs.Paused}))
	}, call: func(s runs.Store, _ runs.Lease, id string) error { return s.Continue(background, id) }},
}

func acquireStep(s runs.Store, _ runs.Lease, id string) error {
	_, err := s.Acquire(background, id, runs.LeaseRequest{TTL: long, Create: &runs.Spec{Agent: "a",
		Key: id, Records: [][]byte{[]byte("a"), []byte("b")}}})
	return err
}
