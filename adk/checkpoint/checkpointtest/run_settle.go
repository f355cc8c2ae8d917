package checkpointtest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/runs"
)

var settleRules = []runRule{
	{"waiting", settleWaiting},
	{"failed", settleFailed},
	{"done", settleDone},
	{"ready", settleReady},
	{"refused", settleRefused},
	{"whole", settleWhole},
	{"usage", settleUsage},
	{"release", settleRelease},
	{"children", settleChildren},
	{"parent", settleParent},
	{"asked again", settleAskedAgain},
	{"isolated", settleIsolated},
}

// settleWaiting: what is said of a run that waits is there, all of it, and nothing of before.
func settleWaiting(s *subject) {
	l := s.hold("run")
	at := s.now().Add(time.Hour).Truncate(time.Millisecond)
	point := runs.Question{ID: "q", Address: "agent:a", Kind: "approval", For: []string{"ana", "bob"},
		Text: "may I?",
		Info: []byte(`{"a":1}`), Truncated: true, Optional: true, Since: at, Expires: at.Add(time.Hour)}
	noError(s.t, l.AppendRecord(background, "run", []byte("step")))
	s.settle(l, runs.Settlement{Status: runs.Waiting, WakeAt: at, Checkpoint: []byte("saved"),
		DropRecords: true,
		Waiting:     []runs.Question{point, {ID: "r"}}})
	i := s.info("run")
	if i.Status != runs.Waiting || i.Owner != "" || i.Token != l.Token() || !i.WakeAt.Equal(at) || i.Steps != 0 ||
		i.Attempts != 0 || len(i.Waiting) != 2 {
		s.t.Fatalf("Inspect = %+v; want what was settled", i)
	}
	if w := i.Waiting[0]; w.ID != "q" || w.Address != point.Address || w.Kind != point.Kind ||
		w.Text != point.Text ||
		!slices.Equal(w.For, point.For) || string(w.Info) != string(point.Info) || !w.Truncated || !w.Optional ||
		!w.Since.Equal(at) || !w.Expires.Equal(point.Expires) || w.Answered || i.Waiting[1].ID != "r" {
		s.t.Errorf("the questions are %+v; want %+v first", i.Waiting, point)
	}
	holds(s.t, s, "run", []byte("saved"))
	recorded(s.t, s, "run")
	s.settled("run", runs.Settlement{Status: runs.Waiting, Waiting: []runs.Question{{ID: "s"}}})
	if i := s.info("run"); len(i.Waiting) != 1 || i.Waiting[0].ID != "s" || !i.WakeAt.IsZero() {
		s.t.Errorf("Inspect = %+v; want the questions that were settled last, and no time to wake", i)
	}
	holds(s.t, s, "run", []byte("saved")) // nil leaves it
}

// settleFailed: a run that has failed keeps what it needs to be resumed.
func settleFailed(s *subject) {
	s.waiting("run", runs.Question{ID: "q"})
	l := s.hold("run")
	noError(s.t, l.Set(background, "run", []byte("saved")))
	noError(s.t, l.AppendRecord(background, "run", []byte("step")))
	s.settle(l, runs.Settlement{Status: runs.Failed, Err: "no luck"})
	if i := s.info("run"); i.Status != runs.Failed || i.Error != "no luck" || i.Steps != 1 || i.Owner != "" ||
		len(i.Waiting) != 0 {
		s.t.Errorf("Inspect = %+v; want a run that has failed, with its step and without questions", i)
	}
	holds(s.t, s, "run", []byte("saved"))
	recorded(s.t, s, "run", "step")
	s.settled("run", runs.Settlement{Status: runs.Paused})
	if i := s.info("run"); i.Status != runs.Paused || i.Error != "" {
		s.t.Errorf("Inspect = %+v; want a run that is paused, without the error of before", i)
	}
}

// settleDone: a run that is done has a result, and no checkpoint.
func settleDone(s *subject) {
	result := func(id, want string) {
		s.t.Helper()
		if got, err := s.Result(background, id); err != nil || string(got) != want {
			s.t.Errorf("Result(%s) = %s, %v; want %s", id, short(string(got)), err, short(want))
		}
	}
	l := s.hold("run")
	noError(s.t, l.Set(background, "run", []byte("saved")))
	noError(s.t, l.AppendRecord(background, "run", []byte("step")))
	result("run", "")
	s.settle(l, runs.Settlement{Status: runs.Done, Result: []byte("result\x00"), DropRecords: true})
	result("run", "result\x00")
	absent(s.t, s, "run")
	recorded(s.t, s, "run")
	if i := s.info("run"); i.Status != runs.Done || i.Steps != 0 || i.Owner != "" || i.Token != l.Token() ||
		i.Bytes < int64(len("result\x00")) {
		s.t.Errorf("Inspect = %+v; want a run that is done, without steps and with the bytes of its result", i)
	}
	l = s.hold("kept")
	noError(s.t, l.AppendRecord(background, "kept", []byte("step")))
	s.settle(l, runs.Settlement{Status: runs.Done})
	recorded(s.t, s, "kept", "step")
	result("kept", "")
	if got, err := s.Result(background, "none"); got != nil || err != nil {
		s.t.Errorf("Result of a run that is not there: %q, %v; want none", got, err)
	}
}

// settleReady: a run that is put back is due at once, or when its time has come.
func settleReady(s *subject) {
	at := s.now().Add(time.Hour).Truncate(time.Millisecond)
	s.settled("later", runs.Settlement{Status: runs.Ready, WakeAt: at})
	if i := s.info("later"); i.Status != runs.Ready || !i.WakeAt.Equal(at) {
		s.t.Errorf("Inspect = %+v; want a run that is ready at %v", i, at)
	}
	s.settled("now", runs.Settlement{Status: runs.Ready})
	s.due(runs.Due{}, "now")
	s.nothingDue(runs.Due{})
}

// settleRefused: what cannot be settled changes nothing.
func settleRefused(s *subject) {
	l := s.hold("run")
	noError(s.t, l.AppendRecord(background, "run", []byte("step")))
	tags := map[string]string{}
	for n := range 17 {
		tags[fmt.Sprint(n)] = "x"
	}
	for what, bad := range map[string]runs.Settlement{
		"as running":       {Status: runs.Running},
		"as something new": {Status: "new"},
		"with a bad child": {Status: runs.Done, Children: []runs.Child{{ID: "good"},
			{ID: "bad", Run: runs.Spec{Tags: tags}}}},
	} {
		bad.DropRecords, bad.Checkpoint = true, []byte("x")
		if l.Settle(background, bad) == nil {
			s.t.Errorf("Settle %s: no error", what)
		}
		if i := s.info("run"); i.Status != runs.Running || i.Owner != "holder" {
			s.t.Errorf("Inspect = %+v after Settle %s was refused; want the run as it was", i, what)
		}
	}
	absent(s.t, s, "run")
	recorded(s.t, s, "run", "step")
	s.noRun("good")
	noError(s.t, l.Renew(background))
}

// settleWhole: who reads while a run is settled finds what was or what is.
func settleWhole(s *subject) {
	const many = 10
	at := s.now().Add(time.Hour)
	id := func(n int) string { return fmt.Sprint("run ", n) }
	var leases [many]runs.Lease
	for n := range leases {
		leases[n] = s.hold(id(n))
		noError(s.t, leases[n].AppendRecord(background, id(n), []byte("step")))
	}
	var ended atomic.Bool
	together(4, func(g int) {
		if g > 0 {
			for n := 0; !ended.Load(); n = (n + 1) % many {
				s.isWhole(id(n))
			}
			return
		}
		defer ended.Store(true)
		for n, l := range leases {
			s.settle(l, runs.Settlement{Status: runs.Waiting, WakeAt: at, Checkpoint: []byte("saved"),
				DropRecords: true,
				Waiting:     []runs.Question{{ID: "q"}, {ID: "r"}}, Keep: long,
				Children: []runs.Child{{ID: "child of " + id(n)}}})
		}
	})
	for n := range leases {
		s.hasStatus(id(n), runs.Waiting)
	}
}

// isWhole requires that a run is either as it was before it was settled, or wholly settled.
func (s *subject) isWhole(id string) {
	i, ok, err := s.Inspect(background, id)
	switch {
	case err != nil || !ok:
		s.t.Errorf("Inspect beside Settle: %v, %v", ok, err)
	case i.Status == runs.Running:
		if i.Owner == "" || i.Steps != 1 || len(i.Waiting) != 0 || !i.Expires.IsZero() {
			s.t.Errorf("Inspect beside Settle = %+v; want a run that is held, with its step", i)
		}
	case i.Status != runs.Waiting || i.Owner != "" || i.Steps != 0 || len(i.Waiting) != 2 || i.WakeAt.IsZero() ||
		i.Expires.IsZero() || i.Attempts != 0:
		s.t.Errorf("Inspect beside Settle = %+v; want a run that waits, wholly settled", i)
	default:
		holds(s.t, s, id, []byte("saved"))
		recorded(s.t, s, id)
		if _, ok, err := s.Inspect(background, "child of "+id); !ok || err != nil {
			s.t.Errorf("Inspect of the child of a run that is settled: %v, %v; want it", ok, err)
		}
	}
}

// settleUsage: the usage of a run is the usage in the last settlement that has one, and is in lists.
func settleUsage(s *subject) {
	used := runs.Usage{Input: 5, InputCached: 4, InputCacheWrite: 3, Output: 2, OutputReasoning: 1, Total: 7}
	s.settled("run", runs.Settlement{Status: runs.Ready, Usage: used})
	shown := func(when string) {
		s.t.Helper()
		if got := s.info("run").Usage; got != used {
			s.t.Errorf("Inspect says that a run %s has used %+v; want %+v", when, got, used)
		}
	}
	shown("that was settled")
	l := s.hold("run")
	if got := l.Info().Usage; got != used {
		s.t.Errorf("Info of a lease says that its run has used %+v; want %+v", got, used)
	}
	shown("that is held")
	s.settle(l, runs.Settlement{Usage: runs.Usage{Total: 1}})
	shown("whose lease was given back")
	s.settled("run", runs.Settlement{Status: runs.Failed})
	shown("that was settled without more")
	used.Total = 9
	s.settled("run", runs.Settlement{Status: runs.Done, Usage: used})
	shown("that is done")
	for i, err := range s.List(background, runs.Query{}) {
		if err != nil || i.Usage != used {
			s.t.Errorf("List says that a run has used %+v, %v; want %+v", i.Usage, err, used)
		}
	}
}

// settleRelease: a settlement without a status gives the lease back, and nothing else.
func settleRelease(s *subject) {
	s.waiting("waiting", runs.Question{ID: "q"}, runs.Question{ID: "r"})
	noError(s.t, s.Reply(background, "waiting", runs.Reply{To: "q", Data: []byte("yes")}))
	s.settled("failed", runs.Settlement{Status: runs.Failed, Err: "no luck", Keep: long})
	s.settled("paused", runs.Settlement{Status: runs.Paused})
	s.submit("ready", runs.Spec{})
	for _, id := range []string{"waiting", "failed", "paused", "ready"} {
		before := s.info(id)
		wake := s.now().Add(long)
		s.settled(id, runs.Settlement{Err: "x", WakeAt: wake, Checkpoint: []byte("x"), DropRecords: true, Keep: -1,
			Result: []byte("x"), Waiting: []runs.Question{{ID: "x"}}, Children: []runs.Child{{ID: "child"}}})
		after := s.info(id)
		if after.Status != before.Status || after.Owner != "" || after.Error != before.Error ||
			after.WakeAt.Sub(wake).Abs() > time.Millisecond ||
			!after.Expires.Equal(before.Expires) || len(after.Waiting) != len(before.Waiting) {
			s.t.Errorf("giving the lease back made %+v of %+v", after, before)
		}
		absent(s.t, s, id)
		s.noRun("child")
	}
	l := s.hold("waiting")
	if answers, err := l.Replies(background); err != nil || len(answers) != 1 || !s.info("waiting").Waiting[0].Answered {
		s.t.Errorf("Answers = %+v, %v after a lease was given back; want the answer", answers, err)
	}
	noError(s.t, l.AppendRecord(background, "waiting", []byte("life")))
	s.settle(l, runs.Settlement{})
	s.hasStatus("waiting", runs.Running)
	recorded(s.t, s, "waiting", "life")
	s.hold("ready")
	l = s.due(runs.Due{}, "waiting")[0] // it runs, and no worker has it
	s.settle(l, runs.Settlement{WakeAt: s.now().Add(long)})
	s.hasStatus("waiting", runs.Running)
	s.nothingDue(runs.Due{}) // before WakeAt
	s.settle(s.hold("waiting"), runs.Settlement{})
	s.due(runs.Due{}, "waiting")
}

// settleChildren: children are submitted with the settlement, and one that exists is left as it is.
func settleChildren(s *subject) {
	s.submit("exists", runs.Spec{Agent: "before"})
	s.settled("parent", runs.Settlement{Status: runs.Waiting, Waiting: []runs.Question{{ID: "q",
		Kind: "run"}},
		Children: []runs.Child{
			{ID: "exists", Run: runs.Spec{Agent: "after"}},
			{ID: "child", Run: runs.Spec{Agent: "a", Parent: "parent", ParentPoint: "q",
				Records: [][]byte{[]byte("begin")}}},
		}})
	if i := s.info("exists"); i.Agent != "before" {
		s.t.Errorf("Inspect = %+v; want the run that was there before", i)
	}
	if i := s.info("child"); i.Agent != "a" || i.Parent != "parent" || i.Status != runs.Ready || i.Steps != 1 {
		s.t.Errorf("Inspect = %+v; want a run that is ready", i)
	}
	recorded(s.t, s, "child", "begin")
	s.due(runs.Due{Agents: []string{"a"}}, "child")
}

// settleAskedAgain: a child that exists answers the question at which its parent waits for it since it was resumed for
// something else, and nothing else of it changes.
func settleAskedAgain(s *subject) {
	ask := func(point string) {
		s.settled("parent", runs.Settlement{Status: runs.Waiting,
			Waiting:  []runs.Question{{ID: point, Kind: "run"}},
			Children: []runs.Child{{ID: "child", Run: runs.Spec{Agent: point, Parent: "parent", ParentPoint: point}}}})
	}
	s.submit("parent", runs.Spec{})
	ask("first")
	before := s.info("child")
	ask("second")
	if after := s.info("child"); after.Agent != "first" || !after.Updated.Equal(before.Updated) || after.Parent != "parent" {
		s.t.Errorf("the child is %+v when it is waited for again; want it as it was, %+v", after, before)
	}
	s.settled("other parent", runs.Settlement{Status: runs.Waiting, Waiting: []runs.Question{{ID: "third"}},
		Children: []runs.Child{{ID: "child", Run: runs.Spec{Parent: "other parent", ParentPoint: "third"}}}})
	s.settled("child", runs.Settlement{Status: runs.Done, Answer: []byte("answer")})
	s.hasStatus("parent", runs.Ready)
	s.hasStatus("other parent", runs.Waiting)
	answers, err := s.hold("parent").Replies(background)
	if err != nil || len(answers) != 1 || answers[0].To != "second" || string(answers[0].Data) != "answer" {
		s.t.Errorf("Answers = %+v, %v; want that of the child to the question that was asked last", answers, err)
	}
}

// settleParent: the end of a run answers the question of its parent, if that still waits for it.
func settleParent(s *subject) {
	child := func(id, parent string) runs.Lease {
		return s.acquire(id, runs.LeaseRequest{TTL: long, Create: &runs.Spec{Parent: parent,
			ParentPoint: "q"}})
	}
	for _, end := range []runs.Status{runs.Done, runs.Failed} {
		parent := "parent of one " + string(end)
		s.waiting(parent, runs.Question{ID: "q", Kind: "run"})
		l := child("child "+string(end), parent)
		s.settle(l, runs.Settlement{Status: runs.Paused, Answer: []byte("too early")})
		s.hasStatus(parent, runs.Waiting)
		s.settled("child "+string(end), runs.Settlement{Status: end, Answer: []byte("answer")})
		s.hasStatus(parent, runs.Ready)
		answers, err := s.hold(parent).Replies(background)
		if err != nil || len(answers) != 1 || answers[0].To != "q" || string(answers[0].Data) != "answer" {
			s.t.Errorf("Answers = %+v, %v; want that of the child", answers, err)
		}
	}
	s.settled("elsewhere", runs.Settlement{Status: runs.Paused})
	for _, parent := range []string{"elsewhere", "not there", ""} {
		s.settle(child("child of "+parent, parent), runs.Settlement{Status: runs.Done,
			Answer: []byte("answer")})
		s.hasStatus("child of "+parent, runs.Done)
	}
	s.hasStatus("elsewhere", runs.Paused)
}

// settleIsolated: neither what was given nor what was got is the store's.
func settleIsolated(s *subject) {
	tags, record := map[string]string{"k": "good"}, []byte("good")
	s.submit("run", runs.Spec{Tags: tags, Records: [][]byte{record}})
	points := []runs.Question{{ID: "q", For: []string{"good"}, Info: []byte(`"good"`)}}
	saved, data := []byte("good"), []byte("good")
	s.settled("run", runs.Settlement{Status: runs.Waiting, Waiting: points, Checkpoint: saved})
	noError(s.t, s.Reply(background, "run", runs.Reply{To: "q", Data: data}))
	for range 2 {
		tags["k"], points[0].ID, points[0].For[0] = "bad", "bad", "bad"
		for _, b := range [][]byte{record, saved, data, points[0].Info} {
			copy(b, "bad!bad!")
		}
		i := s.info("run")
		if w := i.Waiting[0]; i.Tags["k"] != "good" || w.ID != "q" || w.For[0] != "good" || string(w.Info) != `"good"` {
			s.t.Fatalf("what was given or got was changed, and now Inspect = %+v", i)
		}
		holds(s.t, s, "run", []byte("good"))
		recorded(s.t, s, "run", "good")
		l := s.acquire("run", runs.LeaseRequest{TTL: long, Steal: true})
		answers, err := l.Replies(background)
		if err != nil || len(answers) != 1 || string(answers[0].Data) != "good" {
			s.t.Fatalf("Answers = %+v, %v; want the one that was given", answers, err)
		}
		tags, points, data = i.Tags, i.Waiting, answers[0].Data
	}
}
