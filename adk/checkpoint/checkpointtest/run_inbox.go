package checkpointtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/runs"
)

var inboxRules = []runRule{
	{"one answer", inboxOneAnswer},
	{"all or none", inboxAllOrNone},
	{"refused", inboxRefused},
	{"optional", inboxOptional},
	{"kept", inboxKept},
	{"late", inboxLate},
	{"while held", inboxWhileHeld},
	{"stop held", inboxStopHeld},
	{"stop unheld", inboxStopUnheld},
	{"stop ended", inboxStopEnded},
	{"continue", inboxContinue},
	{"answered while paused", inboxPaused},
	{"submit", inboxSubmit},
	{"submit at once", inboxSubmitAtOnce},
	{"submit alone", inboxSubmitAlone},
	{"submit in order", inboxSubmitInOrder},
}

// answer says yes to questions.
func (s *subject) answer(id string, points ...string) error {
	var answers []runs.Reply
	for _, p := range points {
		answers = append(answers, runs.Reply{To: p, Data: []byte("yes to " + p), By: "ana"})
	}
	return s.Reply(background, id, answers...)
}

// answered requires the answers that a holder gets.
func (s *subject) answered(l runs.Lease, points ...string) {
	s.t.Helper()
	answers, err := l.Replies(background)
	var got []string
	for _, a := range answers {
		got = append(got, a.To)
		if string(a.Data) != "yes to "+a.To || a.By != "ana" || a.At.IsZero() {
			s.t.Errorf("an answer is %+v; want what was said, by ana, and when", a)
		}
	}
	if err != nil || strings.Join(got, ",") != strings.Join(points, ",") {
		s.t.Errorf("Answers to %q, %v; want to %q", got, err, points)
	}
}

// refusedWith requires an error that matches and has the run in it.
func (s *subject) refusedWith(what string, err, want error, status runs.Status) {
	s.t.Helper()
	s.refused(what, err, want)
	var about *runs.Error
	if !errors.As(err, &about) || about.Info.ID != "run" || about.Info.Status != status {
		s.t.Errorf("%s: %#v; want a *RunError with the run, which is %s", what, err, status)
	}
}

// inboxOneAnswer: of 32 answers to one question one is taken.
func inboxOneAnswer(s *subject) {
	s.waiting("run", runs.Question{ID: "q"}, runs.Question{ID: "other"})
	var mu sync.Mutex // guards taken
	var taken []string
	together(32, func(g int) {
		data := fmt.Sprint("answer ", g)
		err := s.Reply(background, "run", runs.Reply{To: "q", Data: []byte(data), JSON: true, By: data})
		if err != nil {
			s.refusedWith("Answer beside others", err, runs.ErrReplied, runs.Waiting)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		taken = append(taken, data)
	})
	if len(taken) != 1 {
		s.t.Fatalf("%q were taken of 32 answers to one question; want one", taken)
	}
	answers, err := s.hold("run").Replies(background)
	if err != nil || len(answers) != 1 || string(answers[0].Data) != taken[0] || answers[0].By != taken[0] ||
		!answers[0].JSON {
		s.t.Errorf("Answers = %+v, %v; want the one that was taken, %q", answers, err, taken[0])
	}
}

// inboxLate: an answer to a question whose time is over is refused, although no worker has looked at the run since, also of
// a run that is paused; the end of a child is none.
func inboxLate(s *subject) {
	past, future := s.now().Add(-time.Second), s.now().Add(time.Hour)
	s.waiting("run", runs.Question{ID: "late", Kind: "question", Expires: past},
		runs.Question{ID: "hook", Kind: "webhook", Expires: past}, runs.Question{ID: "child", Kind: "run", Expires: past},
		runs.Question{ID: "early", Expires: future})
	refuse := func(status runs.Status) {
		for _, point := range []string{"late", "hook"} {
			err := s.answer("run", "early", point)
			s.refusedWith("Answer after the time of the question", err, runs.ErrReplyLate, status)
			s.refusedWith("Answer after the time of the question", err, runs.ErrNotWaiting, status)
		}
	}
	refuse(runs.Waiting)
	noError(s.t, s.Stop(background, "run", runs.StopRequest{}))
	refuse(runs.Paused)
	noError(s.t, s.answer("run", "early", "child"))
}

// inboxAllOrNone: of several answers none is taken if one is refused.
func inboxAllOrNone(s *subject) {
	s.waiting("run", runs.Question{ID: "a"}, runs.Question{ID: "b"})
	s.refusedWith("Answer to a question of another run", s.answer("run", "a", "x"), runs.ErrNotWaiting,
		runs.Waiting)
	s.refusedWith("two answers to one question", s.answer("run", "a", "a"), runs.ErrReplied, runs.Waiting)
	if s.info("run").Waiting[0].Answered {
		s.t.Error("a question is answered by answers that were refused")
	}
	noError(s.t, s.answer("run", "a"))
	s.refusedWith("Answer to one that has an answer", s.answer("run", "b", "a"), runs.ErrReplied,
		runs.Waiting)
	if w := s.info("run").Waiting; !w[0].Answered || w[1].Answered {
		s.t.Errorf("the questions are %+v; want an answer to the first", w)
	}
	noError(s.t, s.answer("run", "b"))
	s.answered(s.due(runs.Due{}, "run")[0], "a", "b")
}

// inboxRefused: an answer is for a question that a run waits for now.
func inboxRefused(s *subject) {
	s.refused("Answer to a run that is not there", s.answer("none", "q"), runs.ErrNotFound)
	s.waiting("run", runs.Question{ID: "q"})
	s.waiting("run", runs.Question{ID: "r"})
	s.refusedWith("Answer to a question that is gone", s.answer("run", "q"), runs.ErrNotWaiting,
		runs.Waiting)
	for _, status := range []runs.Status{runs.Ready, runs.Paused, runs.Done, runs.Failed} {
		s.settled("run", runs.Settlement{Status: status, Waiting: []runs.Question{{ID: "r"}}})
		s.refusedWith("Answer to a run that is "+string(status), s.answer("run", "r"), runs.ErrNotWaiting, status)
		s.hasStatus("run", status)
	}
}

// inboxOptional: a run is ready when it has what it needs.
func inboxOptional(s *subject) {
	need, maybe := runs.Question{ID: "need"}, runs.Question{ID: "maybe", Optional: true}
	s.waiting("both", need, maybe)
	noError(s.t, s.answer("both", "maybe"))
	s.hasStatus("both", runs.Waiting)
	noError(s.t, s.answer("both", "need"))
	s.hasStatus("both", runs.Ready)
	s.waiting("needed", maybe, need)
	noError(s.t, s.answer("needed", "need"))
	s.hasStatus("needed", runs.Ready)
	s.waiting("any", maybe, runs.Question{ID: "or", Optional: true})
	s.hasStatus("any", runs.Waiting)
	noError(s.t, s.answer("any", "or"))
	s.hasStatus("any", runs.Ready)
}

// inboxKept: answers are there until the run is settled, under every holder.
func inboxKept(s *subject) {
	s.waiting("run", runs.Question{ID: "q"})
	noError(s.t, s.answer("run", "q"))
	l := s.brieflyHeld("run")
	noError(s.t, l.AppendRecord(background, "run", []byte("life")))
	s.answered(l, "q")
	s.advance(brief)
	l = s.due(runs.Due{}, "run")[0]
	s.answered(l, "q")
	l = s.acquire("run", runs.LeaseRequest{TTL: long, Steal: true})
	s.answered(l, "q")
	s.settle(l, runs.Settlement{})
	l = s.hold("run")
	s.answered(l, "q")
	s.settle(l, runs.Settlement{Status: runs.Waiting, Waiting: []runs.Question{{ID: "q"}}})
	l = s.hold("run")
	s.answered(l)
	s.settle(l, runs.Settlement{})
	noError(s.t, s.answer("run", "q")) // asked again, under the same name
	s.answered(s.hold("run"), "q")
}

// inboxWhileHeld: a run that is answered while a holder looks at it is ready when the holder gives it back, or is gone.
func inboxWhileHeld(s *subject) {
	s.waiting("released", runs.Question{ID: "q"})
	l := s.hold("released")
	noError(s.t, s.answer("released", "q"))
	s.answered(l, "q")
	s.nothingDue(runs.Due{})
	s.settle(l, runs.Settlement{})
	s.answered(s.due(runs.Due{}, "released")[0], "q")

	s.waiting("died", runs.Question{ID: "q"})
	s.brieflyHeld("died")
	noError(s.t, s.answer("died", "q"))
	s.nothingDue(runs.Due{})
	s.advance(brief)
	s.answered(s.due(runs.Due{}, "died")[0], "q")

	s.settled("continued", runs.Settlement{Status: runs.Paused})
	l = s.hold("continued")
	noError(s.t, s.Continue(background, "continued"))
	s.settle(l, runs.Settlement{})
	s.due(runs.Due{}, "continued")
}

// inboxStopHeld: the holder of a run gets the last request with the next renewal or append.
func inboxStopHeld(s *subject) {
	how := runs.StopRequest{Immediate: true, Timeout: time.Second, Reason: "tea", By: "ana"}
	for what, sign := range map[string]func(id string, l runs.Lease) error{
		"a renewal": func(_ string, l runs.Lease) error { return l.Renew(background) },
		"an append": func(id string, l runs.Lease) error { return l.AppendRecord(background, id, nil) },
	} {
		l := s.hold(what)
		noError(s.t, s.Stop(background, what, runs.StopRequest{Reason: "the first request"}))
		noError(s.t, s.Stop(background, what, how))
		s.hasStatus(what, runs.Running)
		noError(s.t, sign(what, l))
		s.stopped(l, how)
		s.settle(l, runs.Settlement{Status: runs.Paused})
		l = s.hold(what)
		noError(s.t, sign(what, l))
		select {
		case got, open := <-l.Stops():
			s.t.Errorf("Stops delivered %+v, %v after the run was settled; want nothing", got, open)
		default:
		}
	}
	s.hold("stolen")
	noError(s.t, s.Stop(background, "stolen", how))
	heir := s.acquire("stolen", runs.LeaseRequest{TTL: long, Steal: true})
	noError(s.t, heir.Renew(background))
	s.stopped(heir, how)
}

// stopped requires that a holder is asked to stop.
func (s *subject) stopped(l runs.Lease, how runs.StopRequest) {
	s.t.Helper()
	select {
	case got, open := <-l.Stops():
		if got != how || !open {
			s.t.Errorf("Stops delivered %+v, %v; want %+v", got, open, how)
		}
	case <-time.After(time.Second):
		s.t.Error("Stops delivered nothing")
	}
}

// inboxStopUnheld: a run that no process holds is paused, and a holder whose lease has ended loses it.
func inboxStopUnheld(s *subject) {
	how := runs.StopRequest{Reason: "tea", By: "ana"}
	s.submit("ready", runs.Spec{})
	s.waiting("waiting", runs.Question{ID: "q"})
	s.settled("paused", runs.Settlement{Status: runs.Paused})
	zombie := s.brieflyHeld("dead")
	s.advance(brief)
	for _, id := range []string{"ready", "waiting", "paused", "dead"} {
		noError(s.t, s.Stop(background, id, how))
		if i := s.info(id); i.Status != runs.Paused || i.Owner != "" {
			s.t.Errorf("Inspect = %+v after Stop; want a run that is paused, and held by nobody", i)
		}
	}
	s.nothingDue(runs.Due{})
	s.refused("AppendRecord to a run that was stopped", zombie.AppendRecord(background, "dead", nil),
		runs.ErrLeaseLost)
	recorded(s.t, s, "dead")
	s.refused("Stop of a run that is not there", s.Stop(background, "none", how), runs.ErrNotFound)
}

// inboxStopEnded: what has ended cannot be stopped.
func inboxStopEnded(s *subject) {
	for _, status := range []runs.Status{runs.Done, runs.Failed} {
		s.settled("run", runs.Settlement{Status: status})
		err := s.Stop(background, "run", runs.StopRequest{})
		s.refusedWith("Stop of a run that is "+string(status), err, runs.ErrEnded, status)
		s.refusedWith("Continue of a run that is "+string(status), s.Continue(background, "run"), runs.ErrEnded,
			status)
		s.hasStatus("run", status)
	}
}

// inboxPaused: an answer that comes while a run is paused is there when it continues.
func inboxPaused(s *subject) {
	s.waiting("run", runs.Question{ID: "q"})
	noError(s.t, s.Stop(background, "run", runs.StopRequest{}))
	noError(s.t, s.answer("run", "q"))
	s.hasStatus("run", runs.Paused)
	s.nothingDue(runs.Due{})
	noError(s.t, s.Continue(background, "run"))
	s.answered(s.due(runs.Due{}, "run")[0], "q")
}

// inboxContinue: a run that is paused is ready again, or waits for what it waited for.
func inboxContinue(s *subject) {
	s.settled("paused", runs.Settlement{Status: runs.Paused})
	s.submit("ready", runs.Spec{NotBefore: s.now().Add(long)})
	s.hold("running")
	s.waiting("waiting", runs.Question{ID: "q"})
	noError(s.t, s.Stop(background, "waiting", runs.StopRequest{}))
	for id, want := range map[string]runs.Status{"paused": runs.Ready, "ready": runs.Ready,
		"running": runs.Running, "waiting": runs.Waiting} {
		noError(s.t, s.Continue(background, id))
		s.hasStatus(id, want)
	}
	s.due(runs.Due{}, "paused")
	s.nothingDue(runs.Due{}) // it changed neither the time of one that is ready nor the holder of one that runs
	noError(s.t, s.answer("waiting", "q"))
	s.answered(s.due(runs.Due{}, "waiting")[0], "q")
	s.refused("Continue of a run that is not there", s.Continue(background, "none"), runs.ErrNotFound)
}

// inboxSubmit: a run is submitted once.
func inboxSubmit(s *subject) {
	made := runs.Spec{Agent: "a", Queue: "q", Key: "k", Tags: map[string]string{"x": "y"},
		Records: [][]byte{[]byte("one"), {}}}
	i := s.submit("run", made)
	if i.ID != "run" || i.Status != runs.Ready || i.Agent != "a" || i.Queue != "q" || i.Key != "k" ||
		i.Tags["x"] != "y" ||
		i.Steps != 2 || i.Owner != "" || i.Created.IsZero() || i.WakeAt.After(s.now()) {
		s.t.Errorf("Submit = %+v; want a run that is ready", i)
	}
	again, err := s.Submit(background, "run", runs.Spec{Agent: "b", Records: [][]byte{[]byte("more")}})
	s.refused("a second Submit", err, runs.ErrExists)
	if again.ID != "run" || again.Agent != "a" || s.info("run").Agent != "a" {
		s.t.Errorf("a second Submit = %+v; want the run that is there", again)
	}
	recorded(s.t, s, "run", "one", "")
	s.settled("run", runs.Settlement{Status: runs.Done})
	again, err = s.Submit(background, "run", made)
	s.refused("Submit of a run that is done", err, runs.ErrExists)
	if again.Status != runs.Done {
		s.t.Errorf("Submit of a run that is done = %+v; want that run", again)
	}
	long := strings.Repeat("x", 129)
	for what, tags := range map[string]map[string]string{"key": {long: "x"}, "value": {"x": long}} {
		if _, err := s.Submit(background, "tagged", runs.Spec{Tags: tags}); err == nil {
			s.t.Errorf("Submit with the %s of a tag of 129 bytes: no error", what)
		}
	}
	s.noRun("tagged")
}

// inboxSubmitAtOnce: of 16 who submit a run at once one does.
func inboxSubmitAtOnce(s *subject) {
	var mu sync.Mutex // guards made
	var made []string
	together(16, func(g int) {
		agent := fmt.Sprint("agent ", g)
		i, err := s.Submit(background, "run", runs.Spec{Agent: agent, Records: [][]byte{[]byte(agent)}})
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			made = append(made, agent)
			return
		}
		s.refused("Submit beside others", err, runs.ErrExists)
		if i.ID != "run" || i.Agent == "" {
			s.t.Errorf("Submit beside others = %+v; want the run", i)
		}
	})
	if len(made) != 1 {
		s.t.Fatalf("the run was submitted by %q; want one", made)
	}
	recorded(s.t, s, "run", made[0])
}

// inboxSubmitAlone: of 16 goroutines that submit runs of one key at once, each only if it is alone, one succeeds; the others
// learn which. A run that is paused or has ended blocks none.
func inboxSubmitAlone(s *subject) {
	alone := runs.Spec{Key: "k", Alone: true}
	s.submit("ended", runs.Spec{Key: "k"})
	s.submit("of another key", runs.Spec{Key: "K"})
	_, err := s.Submit(background, "run", alone)
	s.refused("Submit beside a run that is ready", err, runs.ErrBusy)
	s.settled("ended", runs.Settlement{Status: runs.Done})
	var mu sync.Mutex // guards made and refused
	var made, refused []string
	together(16, func(g int) {
		id := fmt.Sprint("run ", g)
		_, err := s.Submit(background, id, alone)
		mu.Lock()
		defer mu.Unlock()
		var busy *runs.BusyError
		switch {
		case err == nil:
			made = append(made, id)
		case errors.As(err, &busy):
			refused = append(refused, busy.ID)
			s.noRun(id)
		default:
			s.t.Errorf("Submit of %s: %v; want a run or a *BusyError", id, err)
		}
	})
	if len(made) != 1 {
		s.t.Fatalf("%q were made of 16 runs of which each is to be alone; want one", made)
	}
	for _, id := range refused {
		if id != made[0] {
			s.t.Errorf("a run was refused because of %q; want %q", id, made[0])
		}
	}
	_, err = s.Submit(background, made[0], alone)
	s.refused("Submit of the run that is there", err, runs.ErrExists)
	noError(s.t, s.Stop(background, made[0], runs.StopRequest{}))
	s.submit("after a pause", alone)
}

// inboxSubmitInOrder: runs of one key that are submitted at once appear in the order of their Born: a submitter that lists
// after its own run is there sees all that were born before it.
func inboxSubmitInOrder(s *subject) {
	var mu sync.Mutex // guards born and seen
	born, seen := map[string]uint64{}, map[string][]string{}
	together(8, func(g int) {
		id := fmt.Sprint("run ", g)
		i, err := s.Submit(background, id, runs.Spec{Key: "k"})
		noError(s.t, err)
		var others []string
		for _, other := range s.listed(runs.Query{Key: "k"}) {
			others = append(others, other.ID)
		}
		mu.Lock()
		defer mu.Unlock()
		born[id], seen[id] = i.Born, others
	})
	for id, at := range born {
		if at == 0 || at != s.info(id).Born {
			s.t.Errorf("%s was born at %d, and Inspect says %d; want one number", id, at, s.info(id).Born)
		}
		for other, before := range born {
			if before < at && !slices.Contains(seen[id], other) {
				s.t.Errorf("%s, born at %d, did not see %s, born at %d", id, at, other, before)
			}
		}
	}
}
