package chaostest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// tenants have runs with the same IDs, keys and conversations.
var tenants = []string{"acme", "globex"}

const (
	// desk is the agent of the runs that are submitted.
	desk = "desk"
	// talkTag names the conversation that a run is a turn of.
	talkTag = "talk"
)

// job is a run that is submitted.
type job struct {
	run  runID
	plan plan
	// key is the key of the run, and talk the conversation that it is a turn of.
	key, talk string
	// asked counts the user messages that the run has seen in the end: one, and the messages of the turns before.
	asked int
	// stops: it may be stopped and continued. Runs with a key are not, as the next one of the key begins meanwhile.
	stops bool
}

// load has the jobs that are submitted for one tenant: lines of runs, of which the ones of a line are submitted in their
// order.
type load struct {
	tenant string
	lines  [][]*job
}

func (l *load) jobs() (all []*job) {
	for _, line := range l.lines {
		all = append(all, line...)
	}
	return all
}

// newLoad makes about so many runs.
func newLoad(r *rand.Rand, tenant string, count int) *load {
	l := &load{tenant: tenant}
	n := 0
	add := func(key, talk string, length int) {
		var line []*job
		for i := range length {
			n++
			j := &job{run: runID{tenant, fmt.Sprintf("run-%d", n)}, key: key, talk: talk, asked: 1, stops: key == ""}
			if talk != "" {
				j.asked = i + 1
			}
			p := &planner{r: r, prefix: fmt.Sprintf("%s/%s", tenant, j.run.id)}
			j.plan = p.plan(0)
			line = append(line, j)
		}
		l.lines = append(l.lines, line)
	}
	for i := 0; n < count; i++ {
		switch i % 6 {
		case 2:
			add(fmt.Sprint("key-", i), "", 3)
		case 5:
			add(fmt.Sprint("talk-", i), fmt.Sprint("talk-", i), 3)
		default:
			add("", "", 1)
		}
	}
	return l
}

// planner makes plans.
type planner struct {
	r      *rand.Rand
	prefix string
	n      int
}

// leaves has the names of what steps do, the more frequent ones several times.
var leaves = []string{doPay, doPay, doPay, doRisk, doBook, doBook, doAsk, doAsk, doBrief, doHook, doSleep}

func (p *planner) plan(depth int) (made plan) {
	for range 1 + p.r.IntN(4-depth) {
		var calls []step
		for range 1 + p.r.IntN(2) {
			calls = append(calls, p.step(depth))
		}
		made = append(made, calls)
	}
	return made
}

func (p *planner) step(depth int) step {
	p.n++
	s := step{Name: fmt.Sprintf("%s/%d", p.prefix, p.n)}
	switch kind := p.r.IntN(10); {
	case depth < 2 && kind < 2:
		s.Do, s.Then = doClerk, p.plan(depth+1)
	case depth == 0 && kind == 2:
		s.Do = doInner
		for len(s.Then) == 0 {
			s.Then = append(s.Then, p.plan(2)...) // an inner agent has no agents inside
		}
	default:
		s.Do = leaves[p.r.IntN(len(leaves))]
	}
	return s
}

// submit submits the load over a time, in a random order, and some of it twice.
func (l *load) submit(ctx context.Context, r *rand.Rand, d *dispatch.Dispatcher, s *story, over time.Duration) error {
	rest := make([][]*job, len(l.lines))
	copy(rest, l.lines)
	all := len(l.jobs())
	for len(rest) > 0 {
		i := r.IntN(len(rest))
		j := rest[i][0]
		if rest[i] = rest[i][1:]; len(rest[i]) == 0 {
			rest[i] = rest[len(rest)-1]
			rest = rest[:len(rest)-1]
		}
		want := dispatch.Job{ID: j.run.id, Agent: desk, Key: j.key, Messages: []*schema.Message{schema.UserMessage(j.plan.text())}}
		if j.talk != "" {
			want.Tags = map[string]string{talkTag: j.talk}
		}
		if _, err := d.Submit(ctx, want); err != nil {
			return err
		}
		s.add(j.run, "submitter", "submits it with key %q: %s", j.key, want.Messages[0].Content)
		if r.IntN(5) == 0 {
			if _, err := d.Submit(ctx, want); !errors.Is(err, runs.ErrExists) {
				return fmt.Errorf("run %v is submitted twice: %w", j.run, err)
			}
		}
		if err := pause(ctx, 2*over/time.Duration(all)+1); err != nil {
			return err
		}
	}
	return nil
}

// said records what people were told of their answers.
type said struct {
	mu sync.Mutex // guards the fields below
	// answers are the answers that were taken, by the name of the question, and hooks the answers of other programs, by
	// the run.
	answers map[string][]string
	hooks   map[runID][]string
	// atOnce are the runs that were stopped at once, with those that they wait for.
	atOnce map[runID]bool
}

func newSaid() *said {
	return &said{answers: map[string][]string{}, hooks: map[runID][]string{}, atOnce: map[runID]bool{}}
}

func (s *said) take(name, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[name] = append(s.answers[name], answer)
}

func (s *said) takeHook(run runID, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks[run] = append(s.hooks[run], answer)
}

func (s *said) stop(run runID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atOnce[run] = true
}
