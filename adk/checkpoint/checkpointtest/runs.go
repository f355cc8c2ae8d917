package checkpointtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
)

// Options say which store is tested, and how its time passes.
type Options struct {
	// New makes an empty store for each rule, and may use t to clean up after it.
	New func(t *testing.T) checkpoint.Store
	// Advance moves the clock of a store that New made forward. Without it the rules about time wait, a few seconds in all,
	// and so it must be nil for a store that uses the clock of a server.
	Advance func(store checkpoint.Store, d time.Duration)
	// Damage destroys what a store that New made keeps of a run apart from its checkpoint and journal, as a bad disk or a
	// newer release would. Without it the rules about that are left out.
	Damage func(t *testing.T, store checkpoint.Store, id string)
}

const (
	// brief is the TTL of leases that end during a rule, long the TTL of leases that do not.
	brief = time.Second
	long  = time.Hour
)

var background = context.Background()

// ended is a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(background)
	cancel()
	return ctx
}

// runRule is a rule about runs.
type runRule struct {
	name string
	test func(*subject)
}

// runRuns tests what a store knows about runs.
func runRuns(t *testing.T, o Options) {
	if _, ok := o.New(t).(runs.Store); !ok {
		t.Skip("the store is no checkpoint.RunStore")
	}
	for _, part := range []struct {
		name  string
		rules []runRule
	}{
		{"Lease", leaseRules},
		{"Settle", settleRules},
		{"Due", dueRules},
		{"Inbox", inboxRules},
		{"List", listRules},
		{"Keep", keepRules},
		{"Index", indexRules},
		{"Damage", damageRules},
	} {
		if part.name == "Damage" && o.Damage == nil {
			continue
		}
		t.Run(part.name, func(t *testing.T) {
			for _, rule := range part.rules {
				t.Run(rule.name, func(t *testing.T) { rule.test(newSubject(t, o)) })
			}
		})
	}
}

// subject is the store that a rule is about.
type subject struct {
	runs.Store
	t       *testing.T
	advance func(d time.Duration)
	damage  func(id string)
}

func newSubject(t *testing.T, o Options) *subject {
	store := o.New(t)
	s := &subject{Store: store.(runs.Store), t: t, advance: func(d time.Duration) {
		time.Sleep(d + d/20)
	}}
	if o.Damage != nil {
		s.damage = func(id string) { o.Damage(t, store, id) }
	}
	if o.Advance != nil {
		s.advance = func(d time.Duration) { o.Advance(store, d) }
	}
	return s
}

// now is the time by the clock of the store: no rule looks at another one.
func (s *subject) now() time.Time {
	s.t.Helper()
	now := s.submit("the clock", runs.Spec{}).Created
	noError(s.t, s.Remove(background, "the clock", true))
	return now
}

// acquire takes a run.
func (s *subject) acquire(id string, req runs.LeaseRequest) runs.Lease {
	s.t.Helper()
	l, err := s.Acquire(background, id, req)
	if err != nil {
		s.t.Fatalf("Acquire(%s): %v", short(id), err)
	}
	return l
}

// hold takes a run for long, and makes it if there is none.
func (s *subject) hold(id string) runs.Lease {
	s.t.Helper()
	return s.acquire(id, runs.LeaseRequest{Owner: "holder", TTL: long, Create: &runs.Spec{Agent: "agent"}})
}

// settle requires that a lease settles its run.
func (s *subject) settle(l runs.Lease, end runs.Settlement) {
	s.t.Helper()
	if err := l.Settle(background, end); err != nil {
		s.t.Errorf("Settle as %q: %v", end.Status, err)
	}
}

// settled makes a run, if there is none, and settles it.
func (s *subject) settled(id string, end runs.Settlement) {
	s.t.Helper()
	s.settle(s.hold(id), end)
}

// waiting makes a run that waits for answers.
func (s *subject) waiting(id string, points ...runs.Question) {
	s.t.Helper()
	s.settled(id, runs.Settlement{Status: runs.Waiting, Waiting: points})
}

// submit makes a run that is ready.
func (s *subject) submit(id string, run runs.Spec) runs.Info {
	s.t.Helper()
	info, err := s.Submit(background, id, run)
	if err != nil {
		s.t.Fatalf("Submit(%s): %v", short(id), err)
	}
	return info
}

// info returns what the store knows of a run.
func (s *subject) info(id string) runs.Info {
	s.t.Helper()
	info, ok, err := s.Inspect(background, id)
	if err != nil || !ok {
		s.t.Fatalf("Inspect(%s): %v, %v; want the run", short(id), ok, err)
	}
	return info
}

// hasStatus requires the status of a run.
func (s *subject) hasStatus(id string, want runs.Status) {
	s.t.Helper()
	if got := s.info(id).Status; got != want {
		s.t.Errorf("run %s is %q; want %q", short(id), got, want)
	}
}

// noRun requires that there is no run.
func (s *subject) noRun(id string) {
	s.t.Helper()
	if info, ok, err := s.Inspect(background, id); ok || err != nil {
		s.t.Errorf("Inspect(%s) = %+v, %v, %v; want no run", short(id), info, ok, err)
	}
}

// refused requires an error that matches.
func (s *subject) refused(what string, err, want error) {
	s.t.Helper()
	if !errors.Is(err, want) {
		s.t.Errorf("%s: %v; want an error that matches %q", what, err, want)
	}
}

// busy requires that a run cannot be taken.
func (s *subject) busy(id string) {
	s.t.Helper()
	_, err := s.Acquire(background, id, runs.LeaseRequest{Owner: "other"})
	s.refused("Acquire("+short(id)+")", err, runs.ErrBusy)
}
