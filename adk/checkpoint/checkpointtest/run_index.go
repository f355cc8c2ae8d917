package checkpointtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftgo/weft/runs"
)

var indexRules = []runRule{
	{"agrees with the rows", func(s *subject) { s.interleaved(1) }},
}

// Interleaved has submitters, workers that settle and that die, people who answer, stop and continue, and sweepers use a
// store at the same time, and requires that workers find every run that is due afterwards, and that sweeps find every run
// that has expired: wherever a store keeps what is to be looked for beside the rows, it says the same as they do. The store
// is empty at the end.
func Interleaved(t *testing.T, store runs.Store) {
	t.Helper()
	s := &subject{Store: store, t: t, advance: func(d time.Duration) { time.Sleep(d + d/20) }}
	s.interleaved(uint64(time.Now().UnixNano()))
}

// Rules distributed/B21, distributed/K3.
func (s *subject) interleaved(seed uint64) {
	s.t.Logf("seed %d", seed)
	const submitters, workers = 2, 3
	now := s.now()
	var submitting atomic.Int64
	submitting.Store(submitters)
	together(submitters+workers+2, func(g int) {
		random := rand.New(rand.NewPCG(seed, uint64(g)))
		switch {
		case g < submitters:
			defer submitting.Add(-1)
			for i := range 40 {
				s.submitsAny(random, fmt.Sprintf("run %d of %d", i, g), now)
			}
		case g < submitters+workers:
			for submitting.Load() > 0 {
				s.worksOnAny(random, now)
			}
		case g == submitters+workers:
			for submitting.Load() > 0 {
				_, err := s.Sweep(background, 5)
				noError(s.t, err)
			}
		default:
			for submitting.Load() > 0 {
				s.meddles(random)
			}
		}
	})
	s.advance(brief + 10*time.Millisecond) // leases of those who died have ended, and timers
	s.worksOff()
	for _, i := range s.listed(runs.Query{Status: []runs.Status{runs.Ready, runs.Running}}) {
		if !s.isBehindAnother(i) {
			s.t.Errorf("run %q is %q, due since %v, and no worker finds it", i.ID, i.Status, i.WakeAt)
		}
	}
	for len(s.listed(runs.Query{Status: []runs.Status{runs.Waiting, runs.Paused}, Limit: 1})) > 0 && !s.t.Failed() {
		s.answersAll()
		s.worksOff()
	}
	for _, i := range s.listed(runs.Query{}) {
		if i.Status != runs.Done {
			s.t.Errorf("run %q is %q when everything was answered, continued and executed; want it done", i.ID, i.Status)
		}
	}
	s.advance(10 * time.Millisecond)
	for more := true; more && !s.t.Failed(); {
		swept, err := s.Sweep(background, 50)
		noError(s.t, err)
		more = swept.More
	}
	if left := s.listed(runs.Query{}); len(left) > 0 {
		s.t.Errorf("%d runs have expired, and no sweep finds them, such as %q (%s, kept until %v)", len(left), left[0].ID,
			left[0].Status, left[0].Expires)
	}
}

// submitsAny submits a run: some with a key, some for later.
func (s *subject) submitsAny(random *rand.Rand, id string, now time.Time) {
	run := runs.Spec{Agent: "agent", Priority: random.IntN(2), Tags: map[string]string{"tag": fmt.Sprint(random.IntN(3))}}
	if random.IntN(3) == 0 {
		run.Key = fmt.Sprint("key ", random.IntN(3))
	}
	if random.IntN(4) == 0 {
		run.NotBefore = now.Add(time.Duration(random.IntN(500)) * time.Millisecond)
	}
	_, err := s.Submit(background, id, run)
	noError(s.t, err)
}

// worksOnAny takes a run that is due, and settles it in one of many ways, or dies.
func (s *subject) worksOnAny(random *rand.Rand, now time.Time) {
	l, err := s.AcquireDue(background, runs.LeaseRequest{Owner: "worker", TTL: brief}, runs.Due{})
	if errors.Is(err, runs.ErrNothingDue) {
		time.Sleep(time.Millisecond) // leaves a machine with few cores to the others
		return
	}
	if err != nil {
		s.t.Errorf("AcquireDue: %v", err)
		return
	}
	if random.IntN(2) == 0 {
		err = l.AppendRecord(background, l.Info().ID, []byte("record"))
	}
	end := runs.Settlement{}
	switch random.IntN(7) {
	case 0:
		return // it died
	case 1:
		end.Status = runs.Waiting
		end.WakeAt = now.Add(time.Duration(random.IntN(500)) * time.Millisecond)
		end.Waiting = []runs.Question{{ID: "timer", Kind: "timer"}}
	case 2, 3:
		end.Status, end.Waiting = runs.Waiting, []runs.Question{{ID: "q", Kind: "question", For: []string{"ana"}}}
	case 4:
		end.Status = runs.Ready
	default:
		end.Status, end.Keep = runs.Done, time.Millisecond
	}
	if err == nil {
		err = l.Settle(background, end)
	}
	if err != nil && !errors.Is(err, runs.ErrLeaseLost) {
		s.t.Errorf("a worker of run %q: %v", l.Info().ID, err)
	}
}

// meddles answers, stops and continues some run.
func (s *subject) meddles(random *rand.Rand) {
	for _, q := range []runs.Query{{WaitingFor: "ana"}, {Status: []runs.Status{runs.Paused}},
		{Status: []runs.Status{runs.Ready, runs.Waiting}}} {
		q.Limit = 2
		for i, err := range s.List(background, q) {
			if err != nil {
				s.t.Errorf("List: %v", err)
				return
			}
			switch {
			case q.WaitingFor != "":
				err = s.Reply(background, i.ID, runs.Reply{To: "q", Data: []byte("1"), JSON: true})
			case i.Status == runs.Paused:
				err = s.Continue(background, i.ID)
			case random.IntN(8) == 0:
				err = s.Stop(background, i.ID, runs.StopRequest{})
			}
			var state *runs.Error
			if err != nil && !errors.As(err, &state) && !errors.Is(err, runs.ErrNotFound) {
				s.t.Errorf("run %q: %v", i.ID, err)
			}
		}
	}
	time.Sleep(time.Millisecond)
}

// worksOff executes everything that is due.
func (s *subject) worksOff() {
	for {
		l, err := s.AcquireDue(background, runs.LeaseRequest{Owner: "worker", TTL: long}, runs.Due{})
		if errors.Is(err, runs.ErrNothingDue) {
			return
		}
		if err != nil {
			s.t.Fatalf("AcquireDue: %v", err)
		}
		s.settle(l, runs.Settlement{Status: runs.Done, Keep: time.Millisecond})
	}
}

// answersAll answers every question, and continues every run that is paused.
func (s *subject) answersAll() {
	for _, i := range s.listed(runs.Query{Status: []runs.Status{runs.Waiting, runs.Paused}}) {
		if i.Status == runs.Paused {
			noError(s.t, s.Continue(background, i.ID))
			continue
		}
		for _, p := range i.Waiting {
			if !p.Answered {
				noError(s.t, s.Reply(background, i.ID, runs.Reply{To: p.ID, Data: []byte("1"), JSON: true}))
			}
		}
	}
}

// isBehindAnother reports whether another run of its key has to end before.
func (s *subject) isBehindAnother(run runs.Info) bool {
	if run.Key == "" {
		return false
	}
	for _, i := range s.listed(runs.Query{Key: run.Key, Status: []runs.Status{runs.Waiting}}) {
		if i.ID != run.ID && i.Born < run.Born {
			return true
		}
	}
	return false
}
