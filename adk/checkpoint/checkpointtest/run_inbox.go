package checkpointtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
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
	var answers []checkpoint.Answer
	for _, p := range points {
		answers = append(answers, checkpoint.Answer{Point: p, Data: []byte("yes to " + p), By: "ana"})
	}
	return s.Answer(background, id, answers...)
}

// answered requires the answers that a holder gets.
func (s *subject) answered(l checkpoint.Lease, points ...string) {
	s.t.Helper()
	answers, err := l.Answers(background)
	var got []string
	for _, a := range answers {
		got = append(got, a.Point)
		if string(a.Data) != "yes to "+a.Point || a.By != "ana" || a.At.IsZero() {
			s.t.Errorf("an answer is %+v; want what was said, by ana, and when", a)
		}
	}
	if err != nil || strings.Join(got, ",") != strings.Join(points, ",") {
		s.t.Errorf("Answers to %q, %v; want to %q", got, err, points)
	}
}

// refusedWith requires an error that matches and has the run in it.
func (s *subject) refusedWith(what string, err, want error, status checkpoint.Status) {
	s.t.Helper()
	s.refused(what, err, want)
	var about *checkpoint.RunError
	if !errors.As(err, &about) || about.Info.ID != "run" || about.Info.Status != status {
		s.t.Errorf("%s: %#v; want a *RunError with the run, which is %s", what, err, status)
	}
}

// inboxOneAnswer: of 32 answers to one question one is taken.
func inboxOneAnswer(s *subject) {
	s.waiting("run", checkpoint.WaitPoint{ID: "q"}, checkpoint.WaitPoint{ID: "other"})
	var mu sync.Mutex // guards taken
	var taken []string
	together(32, func(g int) {
		data := fmt.Sprint("answer ", g)
		err := s.Answer(background, "run", checkpoint.Answer{Point: "q", Data: []byte(data), JSON: true, By: data})
		if err != nil {
			s.refusedWith("Answer beside others", err, checkpoint.ErrAnswered, checkpoint.Waiting)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		taken = append(taken, data)
	})
	if len(taken) != 1 {
		s.t.Fatalf("%q were taken of 32 answers to one question; want one", taken)
	}
	answers, err := s.hold("run").Answers(background)
	if err != nil || len(answers) != 1 || string(answers[0].Data) != taken[0] || answers[0].By != taken[0] ||
		!answers[0].JSON {
		s.t.Errorf("Answers = %+v, %v; want the one that was taken, %q", answers, err, taken[0])
	}
}

// inboxLate: an answer to a question whose time is over is refused, although nobody has looked at the run since, also of
// a run that is paused; the end of a child is none.
func inboxLate(s *subject) {
	past, future := s.now().Add(-time.Second), s.now().Add(time.Hour)
	s.waiting("run", checkpoint.WaitPoint{ID: "late", Kind: "question", Expires: past},
		checkpoint.WaitPoint{ID: "hook", Kind: "webhook", Expires: past}, checkpoint.WaitPoint{ID: "child", Kind: "run", Expires: past},
		checkpoint.WaitPoint{ID: "early", Expires: future})
	refuse := func(status checkpoint.Status) {
		for _, point := range []string{"late", "hook"} {
			err := s.answer("run", "early", point)
			s.refusedWith("Answer after the time of the question", err, checkpoint.ErrAnswerLate, status)
			s.refusedWith("Answer after the time of the question", err, checkpoint.ErrNotWaiting, status)
		}
	}
	refuse(checkpoint.Waiting)
	noError(s.t, s.Stop(background, "run", checkpoint.StopRequest{}))
	refuse(checkpoint.Paused)
	noError(s.t, s.answer("run", "early", "child"))
}

// inboxAllOrNone: of several answers none is taken if one is refused.
func inboxAllOrNone(s *subject) {
	s.waiting("run", checkpoint.WaitPoint{ID: "a"}, checkpoint.WaitPoint{ID: "b"})
	s.refusedWith("Answer to a question of another run", s.answer("run", "a", "x"), checkpoint.ErrNotWaiting,
		checkpoint.Waiting)
	s.refusedWith("two answers to one question", s.answer("run", "a", "a"), checkpoint.ErrAnswered, checkpoint.Waiting)
	if s.info("run").Waiting[0].Answered {
		s.t.Error("a question is answered by answers that were refused")
	}
	noError(s.t, s.answer("run", "a"))
	s.refusedWith("Answer to one that has an answer", s.answer("run", "b", "a"), checkpoint.ErrAnswered,
		checkpoint.Waiting)
	if w := s.info("run").Waiting; !w[0].Answered || w[1].Answered {
		s.t.Errorf("the questions are %+v; want an answer to the first", w)
	}
	noError(s.t, s.answer("run", "b"))
	s.answered(s.due(checkpoint.Due{}, "run")[0], "a", "b")
}

// inboxRefused: an answer is for a question that a run waits for now.
func inboxRefused(s *subject) {
	s.refused("Answer to a run that is not there", s.answer("none", "q"), checkpoint.ErrNotFound)
	s.waiting("run", checkpoint.WaitPoint{ID: "q"})
	s.waiting("run", checkpoint.WaitPoint{ID: "r"})
	s.refusedWith("Answer to a question that is gone", s.answer("run", "q"), checkpoint.ErrNotWaiting,
		checkpoint.Waiting)
	for _, status := range []checkpoint.Status{checkpoint.Ready, checkpoint.Paused, checkpoint.Done, checkpoint.Failed} {
		s.settled("run", checkpoint.Settlement{Status: status, Waiting: []checkpoint.WaitPoint{{ID: "r"}}})
		s.refusedWith("Answer to a run that is "+string(status), s.answer("run", "r"), checkpoint.ErrNotWaiting, status)
		s.hasStatus("run", status)
	}
}

// inboxOptional: a run is ready when it has what it needs.
func inboxOptional(s *subject) {
	need, maybe := checkpoint.WaitPoint{ID: "need"}, checkpoint.WaitPoint{ID: "maybe", Optional: true}
	s.waiting("both", need, maybe)
	noError(s.t, s.answer("both", "maybe"))
	s.hasStatus("both", checkpoint.Waiting)
	noError(s.t, s.answer("both", "need"))
	s.hasStatus("both", checkpoint.Ready)
	s.waiting("needed", maybe, need)
	noError(s.t, s.answer("needed", "need"))
	s.hasStatus("needed", checkpoint.Ready)
	s.waiting("any", maybe, checkpoint.WaitPoint{ID: "or", Optional: true})
	s.hasStatus("any", checkpoint.Waiting)
	noError(s.t, s.answer("any", "or"))
	s.hasStatus("any", checkpoint.Ready)
}

// inboxKept: answers are there until the run is settled, whoever holds it.
func inboxKept(s *subject) {
	s.waiting("run", checkpoint.WaitPoint{ID: "q"})
	noError(s.t, s.answer("run", "q"))
	l := s.brieflyHeld("run")
	noError(s.t, l.AppendRecord(background, "run", []byte("life")))
	s.answered(l, "q")
	s.advance(brief)
	l = s.due(checkpoint.Due{}, "run")[0]
	s.answered(l, "q")
	l = s.acquire("run", checkpoint.LeaseRequest{TTL: long, Steal: true})
	s.answered(l, "q")
	s.settle(l, checkpoint.Settlement{})
	l = s.hold("run")
	s.answered(l, "q")
	s.settle(l, checkpoint.Settlement{Status: checkpoint.Waiting, Waiting: []checkpoint.WaitPoint{{ID: "q"}}})
	l = s.hold("run")
	s.answered(l)
	s.settle(l, checkpoint.Settlement{})
	noError(s.t, s.answer("run", "q")) // asked again, under the same name
	s.answered(s.hold("run"), "q")
}

// inboxWhileHeld: a run that is answered while somebody looks at it is ready when he gives it back, or is gone.
func inboxWhileHeld(s *subject) {
	s.waiting("released", checkpoint.WaitPoint{ID: "q"})
	l := s.hold("released")
	noError(s.t, s.answer("released", "q"))
	s.answered(l, "q")
	s.nothingDue(checkpoint.Due{})
	s.settle(l, checkpoint.Settlement{})
	s.answered(s.due(checkpoint.Due{}, "released")[0], "q")

	s.waiting("died", checkpoint.WaitPoint{ID: "q"})
	s.brieflyHeld("died")
	noError(s.t, s.answer("died", "q"))
	s.nothingDue(checkpoint.Due{})
	s.advance(brief)
	s.answered(s.due(checkpoint.Due{}, "died")[0], "q")

	s.settled("continued", checkpoint.Settlement{Status: checkpoint.Paused})
	l = s.hold("continued")
	noError(s.t, s.Continue(background, "continued"))
	s.settle(l, checkpoint.Settlement{})
	s.due(checkpoint.Due{}, "continued")
}

// inboxStopHeld: the holder of a run gets the last request with his next renewal or append.
func inboxStopHeld(s *subject) {
	how := checkpoint.StopRequest{Immediate: true, Timeout: time.Second, Reason: "tea", By: "ana"}
	for what, sign := range map[string]func(id string, l checkpoint.Lease) error{
		"a renewal": func(_ string, l checkpoint.Lease) error { return l.Renew(background) },
		"an append": func(id string, l checkpoint.Lease) error { return l.AppendRecord(background, id, nil) },
	} {
		l := s.hold(what)
		noError(s.t, s.Stop(background, what, checkpoint.StopRequest{Reason: "the first request"}))
		noError(s.t, s.Stop(background, what, how))
		s.hasStatus(what, checkpoint.Running)
		noError(s.t, sign(what, l))
		s.stopped(l, how)
		s.settle(l, checkpoint.Settlement{Status: checkpoint.Paused})
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
	heir := s.acquire("stolen", checkpoint.LeaseRequest{TTL: long, Steal: true})
	noError(s.t, heir.Renew(background))
	s.stopped(heir, how)
}

// stopped requires that a holder is asked to stop.
func (s *subject) stopped(l checkpoint.Lease, how checkpoint.StopRequest) {
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

// inboxStopUnheld: a run that nobody holds is paused, and he whose lease has ended loses it.
func inboxStopUnheld(s *subject) {
	how := checkpoint.StopRequest{Reason: "tea", By: "ana"}
	s.submit("ready", checkpoint.NewRun{})
	s.waiting("waiting", checkpoint.WaitPoint{ID: "q"})
	s.settled("paused", checkpoint.Settlement{Status: checkpoint.Paused})
	zombie := s.brieflyHeld("dead")
	s.advance(brief)
	for _, id := range []string{"ready", "waiting", "paused", "dead"} {
		noError(s.t, s.Stop(background, id, how))
		if i := s.info(id); i.Status != checkpoint.Paused || i.Owner != "" {
			s.t.Errorf("Inspect = %+v after Stop; want a run that is paused, and held by nobody", i)
		}
	}
	s.nothingDue(checkpoint.Due{})
	s.refused("AppendRecord to a run that was stopped", zombie.AppendRecord(background, "dead", nil),
		checkpoint.ErrLeaseLost)
	recorded(s.t, s, "dead")
	s.refused("Stop of a run that is not there", s.Stop(background, "none", how), checkpoint.ErrNotFound)
}

// inboxStopEnded: what has ended cannot be stopped.
func inboxStopEnded(s *subject) {
	for _, status := range []checkpoint.Status{checkpoint.Done, checkpoint.Failed} {
		s.settled("run", checkpoint.Settlement{Status: status})
		err := s.Stop(background, "run", checkpoint.StopRequest{})
		s.refusedWith("Stop of a run that is "+string(status), err, checkpoint.ErrRunEnded, status)
		s.refusedWith("Continue of a run that is "+string(status), s.Continue(background, "run"), checkpoint.ErrRunEnded,
			status)
		s.hasStatus("run", status)
	}
}

// inboxPaused: an answer that comes while a run is paused is there when it continues.
func inboxPaused(s *subject) {
	s.waiting("run", checkpoint.WaitPoint{ID: "q"})
	noError(s.t, s.Stop(background, "run", checkpoint.StopRequest{}))
	noError(s.t, s.answer("run", "q"))
	s.hasStatus("run", checkpoint.Paused)
	s.nothingDue(checkpoint.Due{})
	noError(s.t, s.Continue(background, "run"))
	s.answered(s.due(checkpoint.Due{}, "run")[0], "q")
}

// inboxContinue: a run that is paused is ready again, or waits for what it waited for.
func inboxContinue(s *subject) {
	s.settled("paused", checkpoint.Settlement{Status: checkpoint.Paused})
	s.submit("ready", checkpoint.NewRun{NotBefore: s.now().Add(long)})
	s.hold("running")
	s.waiting("waiting", checkpoint.WaitPoint{ID: "q"})
	noError(s.t, s.Stop(background, "waiting", checkpoint.StopRequest{}))
	for id, want := range map[string]checkpoint.Status{"paused": checkpoint.Ready, "ready": checkpoint.Ready,
		"running": checkpoint.Running, "waiting": checkpoint.Waiting} {
		noError(s.t, s.Continue(background, id))
		s.hasStatus(id, want)
	}
	s.due(checkpoint.Due{}, "paused")
	s.nothingDue(checkpoint.Due{}) // it changed neither the time of one that is ready nor the holder of one that runs
	noError(s.t, s.answer("waiting", "q"))
	s.answered(s.due(checkpoint.Due{}, "waiting")[0], "q")
	s.refused("Continue of a run that is not there", s.Continue(background, "none"), checkpoint.ErrNotFound)
}

// inboxSubmit: a run is submitted once.
func inboxSubmit(s *subject) {
	made := checkpoint.NewRun{Agent: "a", Queue: "q", Key: "k", Tags: map[string]string{"x": "y"},
		Records: [][]byte{[]byte("one"), {}}}
	i := s.submit("run", made)
	if i.ID != "run" || i.Status != checkpoint.Ready || i.Agent != "a" || i.Queue != "q" || i.Key != "k" ||
		i.Tags["x"] != "y" ||
		i.Steps != 2 || i.Owner != "" || i.Created.IsZero() || i.WakeAt.After(s.now()) {
		s.t.Errorf("Submit = %+v; want a run that is ready", i)
	}
	again, err := s.Submit(background, "run", checkpoint.NewRun{Agent: "b", Records: [][]byte{[]byte("more")}})
	s.refused("a second Submit", err, checkpoint.ErrRunExists)
	if again.ID != "run" || again.Agent != "a" || s.info("run").Agent != "a" {
		s.t.Errorf("a second Submit = %+v; want the run that is there", again)
	}
	recorded(s.t, s, "run", "one", "")
	s.settled("run", checkpoint.Settlement{Status: checkpoint.Done})
	again, err = s.Submit(background, "run", made)
	s.refused("Submit of a run that is done", err, checkpoint.ErrRunExists)
	if again.Status != checkpoint.Done {
		s.t.Errorf("Submit of a run that is done = %+v; want that run", again)
	}
	long := strings.Repeat("x", 129)
	for what, tags := range map[string]map[string]string{"key": {long: "x"}, "value": {"x": long}} {
		if _, err := s.Submit(background, "tagged", checkpoint.NewRun{Tags: tags}); err == nil {
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
		i, err := s.Submit(background, "run", checkpoint.NewRun{Agent: agent, Records: [][]byte{[]byte(agent)}})
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			made = append(made, agent)
			return
		}
		s.refused("Submit beside others", err, checkpoint.ErrRunExists)
		if i.ID != "run" || i.Agent == "" {
			s.t.Errorf("Submit beside others = %+v; want the run", i)
		}
	})
	if len(made) != 1 {
		s.t.Fatalf("the run was submitted by %q; want one", made)
	}
	recorded(s.t, s, "run", made[0])
}

// inboxSubmitAlone: of 16 who submit runs of one key at once, each only if it is alone, one does; the others learn
// which. A run that is paused or has ended is in nobody's way.
func inboxSubmitAlone(s *subject) {
	alone := checkpoint.NewRun{Key: "k", Alone: true}
	s.submit("ended", checkpoint.NewRun{Key: "k"})
	s.submit("of another key", checkpoint.NewRun{Key: "K"})
	_, err := s.Submit(background, "run", alone)
	s.refused("Submit beside a run that is ready", err, checkpoint.ErrRunBusy)
	s.settled("ended", checkpoint.Settlement{Status: checkpoint.Done})
	var mu sync.Mutex // guards made and refused
	var made, refused []string
	together(16, func(g int) {
		id := fmt.Sprint("run ", g)
		_, err := s.Submit(background, id, alone)
		mu.Lock()
		defer mu.Unlock()
		var busy *checkpoint.BusyError
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
	s.refused("Submit of the run that is there", err, checkpoint.ErrRunExists)
	noError(s.t, s.Stop(background, made[0], checkpoint.StopRequest{}))
	s.submit("after a pause", alone)
}

// inboxSubmitInOrder: runs of one key that are submitted at once are there in the order of their Born: who looks after
// his own is there sees all that were born before it.
func inboxSubmitInOrder(s *subject) {
	var mu sync.Mutex // guards born and seen
	born, seen := map[string]uint64{}, map[string][]string{}
	together(8, func(g int) {
		id := fmt.Sprint("run ", g)
		i, err := s.Submit(background, id, checkpoint.NewRun{Key: "k"})
		noError(s.t, err)
		var others []string
		for _, other := range s.listed(checkpoint.Query{Key: "k"}) {
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
