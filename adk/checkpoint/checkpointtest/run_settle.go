package checkpointtest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
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
	point := checkpoint.WaitPoint{ID: "q", Address: "agent:a", Kind: "approval", For: []string{"ana", "bob"},
		Summary: "may I?",
		Info:    []byte(`{"a":1}`), Truncated: true, Optional: true, Since: at, Expires: at.Add(time.Hour)}
	noError(s.t, l.AppendRecord(background, "run", []byte("step")))
	s.settle(l, checkpoint.Settlement{Status: checkpoint.Waiting, WakeAt: at, Checkpoint: []byte("saved"),
		DropRecords: true,
		Waiting:     []checkpoint.WaitPoint{point, {ID: "r"}}})
	i := s.info("run")
	if i.Status != checkpoint.Waiting || i.Owner != "" || i.Token != l.Token() || !i.WakeAt.Equal(at) || i.Steps != 0 ||
		i.Attempts != 0 || len(i.Waiting) != 2 {
		s.t.Fatalf("Inspect = %+v; want what was settled", i)
	}
	if w := i.Waiting[0]; w.ID != "q" || w.Address != point.Address || w.Kind != point.Kind ||
		w.Summary != point.Summary ||
		!slices.Equal(w.For, point.For) || string(w.Info) != string(point.Info) || !w.Truncated || !w.Optional ||
		!w.Since.Equal(at) || !w.Expires.Equal(point.Expires) || w.Answered || i.Waiting[1].ID != "r" {
		s.t.Errorf("the questions are %+v; want %+v first", i.Waiting, point)
	}
	holds(s.t, s, "run", []byte("saved"))
	recorded(s.t, s, "run")
	s.settled("run", checkpoint.Settlement{Status: checkpoint.Waiting, Waiting: []checkpoint.WaitPoint{{ID: "s"}}})
	if i := s.info("run"); len(i.Waiting) != 1 || i.Waiting[0].ID != "s" || !i.WakeAt.IsZero() {
		s.t.Errorf("Inspect = %+v; want the questions that were settled last, and no time to wake", i)
	}
	holds(s.t, s, "run", []byte("saved")) // nil leaves it
}

// settleFailed: a run that has failed keeps what it needs to be resumed.
func settleFailed(s *subject) {
	s.waiting("run", checkpoint.WaitPoint{ID: "q"})
	l := s.hold("run")
	noError(s.t, l.Set(background, "run", []byte("saved")))
	noError(s.t, l.AppendRecord(background, "run", []byte("step")))
	s.settle(l, checkpoint.Settlement{Status: checkpoint.Failed, Err: "no luck"})
	if i := s.info("run"); i.Status != checkpoint.Failed || i.Error != "no luck" || i.Steps != 1 || i.Owner != "" ||
		len(i.Waiting) != 0 {
		s.t.Errorf("Inspect = %+v; want a run that has failed, with its step and without questions", i)
	}
	holds(s.t, s, "run", []byte("saved"))
	recorded(s.t, s, "run", "step")
	s.settled("run", checkpoint.Settlement{Status: checkpoint.Paused})
	if i := s.info("run"); i.Status != checkpoint.Paused || i.Error != "" {
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
	s.settle(l, checkpoint.Settlement{Status: checkpoint.Done, Result: []byte("result\x00"), DropRecords: true})
	result("run", "result\x00")
	absent(s.t, s, "run")
	recorded(s.t, s, "run")
	if i := s.info("run"); i.Status != checkpoint.Done || i.Steps != 0 || i.Owner != "" || i.Token != l.Token() ||
		i.Bytes < int64(len("result\x00")) {
		s.t.Errorf("Inspect = %+v; want a run that is done, without steps and with the bytes of its result", i)
	}
	l = s.hold("kept")
	noError(s.t, l.AppendRecord(background, "kept", []byte("step")))
	s.settle(l, checkpoint.Settlement{Status: checkpoint.Done})
	recorded(s.t, s, "kept", "step")
	result("kept", "")
	if got, err := s.Result(background, "none"); got != nil || err != nil {
		s.t.Errorf("Result of a run that is not there: %q, %v; want none", got, err)
	}
}

// settleReady: a run that is put back is due at once, or when its time has come.
func settleReady(s *subject) {
	at := s.now().Add(time.Hour).Truncate(time.Millisecond)
	s.settled("later", checkpoint.Settlement{Status: checkpoint.Ready, WakeAt: at})
	if i := s.info("later"); i.Status != checkpoint.Ready || !i.WakeAt.Equal(at) {
		s.t.Errorf("Inspect = %+v; want a run that is ready at %v", i, at)
	}
	s.settled("now", checkpoint.Settlement{Status: checkpoint.Ready})
	s.due(checkpoint.Due{}, "now")
	s.nothingDue(checkpoint.Due{})
}

// settleRefused: what cannot be settled changes nothing.
func settleRefused(s *subject) {
	l := s.hold("run")
	noError(s.t, l.AppendRecord(background, "run", []byte("step")))
	tags := map[string]string{}
	for n := range 17 {
		tags[fmt.Sprint(n)] = "x"
	}
	for what, bad := range map[string]checkpoint.Settlement{
		"as running":       {Status: checkpoint.Running},
		"as something new": {Status: "new"},
		"with a bad child": {Status: checkpoint.Done, Children: []checkpoint.ChildRun{{ID: "good"},
			{ID: "bad", Run: checkpoint.NewRun{Tags: tags}}}},
	} {
		bad.DropRecords, bad.Checkpoint = true, []byte("x")
		if l.Settle(background, bad) == nil {
			s.t.Errorf("Settle %s: no error", what)
		}
		if i := s.info("run"); i.Status != checkpoint.Running || i.Owner != "holder" {
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
	const runs = 10
	at := s.now().Add(time.Hour)
	id := func(n int) string { return fmt.Sprint("run ", n) }
	var leases [runs]checkpoint.Lease
	for n := range leases {
		leases[n] = s.hold(id(n))
		noError(s.t, leases[n].AppendRecord(background, id(n), []byte("step")))
	}
	var ended atomic.Bool
	together(4, func(g int) {
		if g > 0 {
			for n := 0; !ended.Load(); n = (n + 1) % runs {
				s.isWhole(id(n))
			}
			return
		}
		defer ended.Store(true)
		for n, l := range leases {
			s.settle(l, checkpoint.Settlement{Status: checkpoint.Waiting, WakeAt: at, Checkpoint: []byte("saved"),
				DropRecords: true,
				Waiting:     []checkpoint.WaitPoint{{ID: "q"}, {ID: "r"}}, Keep: long,
				Children: []checkpoint.ChildRun{{ID: "child of " + id(n)}}})
		}
	})
	for n := range leases {
		s.hasStatus(id(n), checkpoint.Waiting)
	}
}

// isWhole requires that a run is either as it was before it was settled, or wholly settled.
func (s *subject) isWhole(id string) {
	i, ok, err := s.Inspect(background, id)
	switch {
	case err != nil || !ok:
		s.t.Errorf("Inspect beside Settle: %v, %v", ok, err)
	case i.Status == checkpoint.Running:
		if i.Owner == "" || i.Steps != 1 || len(i.Waiting) != 0 || !i.Expires.IsZero() {
			s.t.Errorf("Inspect beside Settle = %+v; want a run that is held, with its step", i)
		}
	case i.Status != checkpoint.Waiting || i.Owner != "" || i.Steps != 0 || len(i.Waiting) != 2 || i.WakeAt.IsZero() ||
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

// settleUsage: what a run has used is that of the last settlement that says so, and is in lists.
func settleUsage(s *subject) {
	used := checkpoint.Usage{Input: 5, InputCached: 4, InputCacheWrite: 3, Output: 2, OutputReasoning: 1, Total: 7}
	s.settled("run", checkpoint.Settlement{Status: checkpoint.Ready, Usage: used})
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
	s.settle(l, checkpoint.Settlement{Usage: checkpoint.Usage{Total: 1}})
	shown("whose lease was given back")
	s.settled("run", checkpoint.Settlement{Status: checkpoint.Failed})
	shown("that was settled without more")
	used.Total = 9
	s.settled("run", checkpoint.Settlement{Status: checkpoint.Done, Usage: used})
	shown("that is done")
	for i, err := range s.List(background, checkpoint.Query{}) {
		if err != nil || i.Usage != used {
			s.t.Errorf("List says that a run has used %+v, %v; want %+v", i.Usage, err, used)
		}
	}
}

// settleRelease: a settlement without a status gives the lease back, and nothing else.
func settleRelease(s *subject) {
	s.waiting("waiting", checkpoint.WaitPoint{ID: "q"}, checkpoint.WaitPoint{ID: "r"})
	noError(s.t, s.Answer(background, "waiting", checkpoint.Answer{Point: "q", Data: []byte("yes")}))
	s.settled("failed", checkpoint.Settlement{Status: checkpoint.Failed, Err: "no luck", Keep: long})
	s.settled("paused", checkpoint.Settlement{Status: checkpoint.Paused})
	s.submit("ready", checkpoint.NewRun{})
	for _, id := range []string{"waiting", "failed", "paused", "ready"} {
		before := s.info(id)
		wake := s.now().Add(long)
		s.settled(id, checkpoint.Settlement{Err: "x", WakeAt: wake, Checkpoint: []byte("x"), DropRecords: true, Keep: -1,
			Result: []byte("x"), Waiting: []checkpoint.WaitPoint{{ID: "x"}}, Children: []checkpoint.ChildRun{{ID: "child"}}})
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
	if answers, err := l.Answers(background); err != nil || len(answers) != 1 || !s.info("waiting").Waiting[0].Answered {
		s.t.Errorf("Answers = %+v, %v after a lease was given back; want the answer", answers, err)
	}
	noError(s.t, l.AppendRecord(background, "waiting", []byte("life")))
	s.settle(l, checkpoint.Settlement{})
	s.hasStatus("waiting", checkpoint.Running)
	recorded(s.t, s, "waiting", "life")
	s.hold("ready")
	l = s.due(checkpoint.Due{}, "waiting")[0] // it runs, and nobody has it
	s.settle(l, checkpoint.Settlement{WakeAt: s.now().Add(long)})
	s.hasStatus("waiting", checkpoint.Running)
	s.nothingDue(checkpoint.Due{}) // before somebody is to look again
	s.settle(s.hold("waiting"), checkpoint.Settlement{})
	s.due(checkpoint.Due{}, "waiting")
}

// settleChildren: children are submitted with the settlement, and one that exists is left as it is.
func settleChildren(s *subject) {
	s.submit("exists", checkpoint.NewRun{Agent: "before"})
	s.settled("parent", checkpoint.Settlement{Status: checkpoint.Waiting, Waiting: []checkpoint.WaitPoint{{ID: "q",
		Kind: "run"}},
		Children: []checkpoint.ChildRun{
			{ID: "exists", Run: checkpoint.NewRun{Agent: "after"}},
			{ID: "child", Run: checkpoint.NewRun{Agent: "a", Parent: "parent", ParentPoint: "q",
				Records: [][]byte{[]byte("begin")}}},
		}})
	if i := s.info("exists"); i.Agent != "before" {
		s.t.Errorf("Inspect = %+v; want the run that was there before", i)
	}
	if i := s.info("child"); i.Agent != "a" || i.Parent != "parent" || i.Status != checkpoint.Ready || i.Steps != 1 {
		s.t.Errorf("Inspect = %+v; want a run that is ready", i)
	}
	recorded(s.t, s, "child", "begin")
	s.due(checkpoint.Due{Agents: []string{"a"}}, "child")
}

// settleAskedAgain: a child that exists answers the question at which its parent waits for it since it was resumed for
// something else, and nothing else of it changes.
func settleAskedAgain(s *subject) {
	ask := func(point string) {
		s.settled("parent", checkpoint.Settlement{Status: checkpoint.Waiting,
			Waiting:  []checkpoint.WaitPoint{{ID: point, Kind: "run"}},
			Children: []checkpoint.ChildRun{{ID: "child", Run: checkpoint.NewRun{Agent: point, Parent: "parent", ParentPoint: point}}}})
	}
	s.submit("parent", checkpoint.NewRun{})
	ask("first")
	before := s.info("child")
	ask("second")
	if after := s.info("child"); after.Agent != "first" || !after.Updated.Equal(before.Updated) || after.Parent != "parent" {
		s.t.Errorf("the child is %+v when it is waited for again; want it as it was, %+v", after, before)
	}
	s.settled("other parent", checkpoint.Settlement{Status: checkpoint.Waiting, Waiting: []checkpoint.WaitPoint{{ID: "third"}},
		Children: []checkpoint.ChildRun{{ID: "child", Run: checkpoint.NewRun{Parent: "other parent", ParentPoint: "third"}}}})
	s.settled("child", checkpoint.Settlement{Status: checkpoint.Done, Answer: []byte("answer")})
	s.hasStatus("parent", checkpoint.Ready)
	s.hasStatus("other parent", checkpoint.Waiting)
	answers, err := s.hold("parent").Answers(background)
	if err != nil || len(answers) != 1 || answers[0].Point != "second" || string(answers[0].Data) != "answer" {
		s.t.Errorf("Answers = %+v, %v; want that of the child to the question that was asked last", answers, err)
	}
}

// settleParent: the end of a run answers the question of its parent, if that still waits for it.
func settleParent(s *subject) {
	child := func(id, parent string) checkpoint.Lease {
		return s.acquire(id, checkpoint.LeaseRequest{TTL: long, Create: &checkpoint.NewRun{Parent: parent,
			ParentPoint: "q"}})
	}
	for _, end := range []checkpoint.Status{checkpoint.Done, checkpoint.Failed} {
		parent := "parent of one " + string(end)
		s.waiting(parent, checkpoint.WaitPoint{ID: "q", Kind: "run"})
		l := child("child "+string(end), parent)
		s.settle(l, checkpoint.Settlement{Status: checkpoint.Paused, Answer: []byte("too early")})
		s.hasStatus(parent, checkpoint.Waiting)
		s.settled("child "+string(end), checkpoint.Settlement{Status: end, Answer: []byte("answer")})
		s.hasStatus(parent, checkpoint.Ready)
		answers, err := s.hold(parent).Answers(background)
		if err != nil || len(answers) != 1 || answers[0].Point != "q" || string(answers[0].Data) != "answer" {
			s.t.Errorf("Answers = %+v, %v; want that of the child", answers, err)
		}
	}
	s.settled("elsewhere", checkpoint.Settlement{Status: checkpoint.Paused})
	for _, parent := range []string{"elsewhere", "not there", ""} {
		s.settle(child("child of "+parent, parent), checkpoint.Settlement{Status: checkpoint.Done,
			Answer: []byte("answer")})
		s.hasStatus("child of "+parent, checkpoint.Done)
	}
	s.hasStatus("elsewhere", checkpoint.Paused)
}

// settleIsolated: neither what was given nor what was got is the store's.
func settleIsolated(s *subject) {
	tags, record := map[string]string{"k": "good"}, []byte("good")
	s.submit("run", checkpoint.NewRun{Tags: tags, Records: [][]byte{record}})
	points := []checkpoint.WaitPoint{{ID: "q", For: []string{"good"}, Info: []byte(`"good"`)}}
	saved, data := []byte("good"), []byte("good")
	s.settled("run", checkpoint.Settlement{Status: checkpoint.Waiting, Waiting: points, Checkpoint: saved})
	noError(s.t, s.Answer(background, "run", checkpoint.Answer{Point: "q", Data: data}))
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
		l := s.acquire("run", checkpoint.LeaseRequest{TTL: long, Steal: true})
		answers, err := l.Answers(background)
		if err != nil || len(answers) != 1 || string(answers[0].Data) != "good" {
			s.t.Fatalf("Answers = %+v, %v; want the one that was given", answers, err)
		}
		tags, points, data = i.Tags, i.Waiting, answers[0].Data
	}
}
