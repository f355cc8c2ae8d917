package adktest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
)

// Exploration is a run that [Explore] stops everywhere.
type Exploration[M adk.MessageType] struct {
	// Agent makes the agent, with models and tools that report to the probe: what does not report is not stopped. It is
	// called for every life of every run, as a new process would make its agent.
	Agent func(p *Probe[M]) adk.TypedAgent[M]
	// Query is the question to the agent.
	Query string
	// Streaming and Durability configure the runner. A run that is saved at [adk.EveryStep] is also stopped by the
	// end of its context, a panic and the death of its process; others can only continue after an interrupt or a cancel.
	Streaming  bool
	Durability adk.Durability
	// Store makes an empty store for a run. The default is one in memory.
	Store func() adk.CheckPointStore
	// Answer returns the data to resume an interrupt of the agent's own with, such as a question to a human.
	Answer func(point *adk.InterruptCtx) any
	// TurnLoop has the agent run as the turn of a [adk.TurnLoop], which is stopped and made again.
	TurnLoop bool
	// Pairs is the number of pairs of stops that are tried, beside each single stop: a run is stopped, resumed or replaced
	// by another one under its ID, by a runner of the same or another durability, and stopped again. The pairs are chosen
	// at random, the same each time.
	Pairs int
	// Speculative says that tools run before the answer that calls them is complete: an immediate cancel may give the
	// answer up, and its calls are made again.
	Speculative bool
	// TakeOver stops runs in another way: at each boundary the process stands still, as one does that is suspended, and
	// another one takes its run over when its lease has ended, and ends it. Then the first one continues. It must begin no
	// call of a tool any more, and end with the error that its run was taken over. The store must hand out leases, and the
	// durability be [adk.EveryStep]. It takes as long as leases do: about a second for every hundred boundaries.
	TakeOver bool
	// Boundaries is the number of boundaries that runs are stopped at one by one: the first, the last, and others between
	// them. The default is 0, all.
	Boundaries int
	// Unordered says that a model may see the messages in another order, as it does behind agents, or tools of another
	// agent, that ran side by side.
	Unordered bool

	// afterwards looks at the store of each run that has ended. With it runs that are saved at every step keep their
	// steps.
	afterwards func(ctx context.Context, store adk.CheckPointStore) error
}

// Explore proves that a run can stop anywhere and be resumed. It runs the agent once to learn its boundaries: every
// call, chunk and answer of a model, every start and end of a tool, every event, every write to the store. Then it runs
// it again for each boundary and each way to stop there: an interrupt, a cancel in each mode, the end of the context, a
// panic, the death of the process, a store that fails, or that does what it is asked for and says that it failed; and
// then for pairs of them, see [Exploration.Pairs]. It resumes each run with a new
// agent until it ends, and fails the test unless
//
//   - the text of the answer is the same,
//   - each model was asked the same in the end,
//   - each call of a tool was made as often as in the undisturbed run, but for those that were given up on the way,
//   - a call that was repeated had the idempotency key that it had before, and no other call had it,
//   - nothing of the runs is left.
//
// It works in a bubble of testing/synctest, too.
func Explore[M adk.MessageType](ctx context.Context, t TB, e Exploration[M]) {
	t.Helper()
	before := runtime.NumGoroutine()
	x := &explorer[M]{Exploration: e}
	if x.Store == nil {
		x.Store = func() adk.CheckPointStore { return checkpoint.NewMemoryStore() }
	}
	if err := x.learn(ctx); err != nil {
		t.Errorf("adktest: the undisturbed run: %v", err)
		return
	}
	beside := 1
	if x.TakeOver {
		beside = 128 // they wait for the time of leases
	}
	slots := make(chan struct{}, beside)
	var ends sync.WaitGroup
	for _, p := range append(x.single(), x.pairs()...) {
		slots <- struct{}{}
		ends.Go(func() {
			defer func() { <-slots }()
			if err := x.stopAndResume(ctx, p); err != nil {
				t.Errorf("adktest: %s: %v", p.describe(x.boundaries), err)
			}
		})
	}
	ends.Wait()
	if left := goroutinesLeft(before); left > 0 {
		t.Errorf("adktest: %d goroutines of the runs are left", left)
	}
}

// goroutinesLeft waits a little for what is about to end.
func goroutinesLeft(before int) int {
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return 0
		}
		time.Sleep(20 * time.Millisecond)
	}
	return runtime.NumGoroutine() - before
}

// explorer is an exploration with what the undisturbed run came to.
type explorer[M adk.MessageType] struct {
	Exploration[M]
	boundaries []boundaryKind
	want       record
	wantText   string
}

// learn runs the agent undisturbed, but for its own interrupts.
func (x *explorer[M]) learn(ctx context.Context) error {
	p := newProbe[M]()
	p.watch = func(kind boundaryKind) { x.boundaries = append(x.boundaries, kind) }
	end, err := x.lives(ctx, p, plan[M]{})
	x.want, x.wantText = p.record(), end.text
	if err != nil {
		return err
	}
	return x.compareKeys(x.want)
}

func (x *explorer[M]) stopAndResume(ctx context.Context, plan plan[M]) error {
	p := newProbe[M]()
	end, err := x.lives(ctx, p, plan)
	switch {
	case errors.Is(err, errBranchGivenUp):
		return nil
	case err != nil:
		return err
	}
	if end.text != x.wantText {
		return fmt.Errorf("the run ended with %q; want %q", end.text, x.wantText)
	}
	got := p.record()
	for model, lines := range x.want.seen {
		got := got.seen[model]
		if x.Unordered {
			got, lines = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(lines))
		}
		if !slices.Equal(got, lines) {
			return fmt.Errorf("model %d was asked other messages in the end%s", model, drift(got, lines))
		}
	}
	if err := x.compareCalls(got); err != nil {
		return err
	}
	return x.compareKeys(got)
}

// errBranchGivenUp says that one branch of a parallel agent was made to fail while another one asked: when the run is
// resumed the branch that failed counts as done (rule runtime/W7), so that the run does not come to the same.
var errBranchGivenUp = errors.New("a branch failed beside one that was interrupted")

// compareCalls checks how often each call was made.
func (x *explorer[M]) compareCalls(got record) error {
	for call := range got.done {
		if x.want.done[call] == 0 {
			return fmt.Errorf("the call %s was made, and should not have been", call)
		}
	}
	for call, want := range x.want.done {
		most := want + got.givenUp[call]
		if x.Speculative {
			most = want + max(got.givenUp[call], got.gaveUp)
		}
		if n := got.done[call]; n < want || n > most {
			return fmt.Errorf("the call %s was made %s; want %s", call, times(n), times(want))
		}
	}
	return nil
}

// compareKeys checks the idempotency keys: one for each call that the undisturbed run makes, however often it was
// repeated.
func (x *explorer[M]) compareKeys(got record) error {
	if len(got.mixed) > 0 {
		return fmt.Errorf("two calls had one idempotency key: %s", got.mixed[0])
	}
	for call, n := range x.want.done {
		keys := got.keys[call]
		if len(keys) != n {
			return fmt.Errorf("the call %s, which is made %s, had %d idempotency keys", call, times(n), len(keys))
		}
	}
	return nil
}

// lives runs the agent, and resumes it until the run has ended.
func (x *explorer[M]) lives(ctx context.Context, p *Probe[M], plan plan[M]) (end lifeEnd, err error) {
	c := career[M]{explorer: x, probe: p, plan: plan, store: x.Store()}
	defer func() {
		if late := c.thaw(); err == nil {
			err = late
		}
	}()
	var targets map[string]any
	for n, begun := 0, false; n < 100; n++ {
		text := end.text
		if end, err = c.live(ctx, begun, targets); err != nil {
			return end, err
		}
		if end.text == "" {
			end.text = text
		}
		if end.frozen {
			awaitEndOfLease(ctx, c.store)
		}
		if end.over() {
			if x.afterwards != nil {
				err = x.afterwards(ctx, c.store)
			}
			return end, err
		}
		if end.err != nil && !p.stoppedNow() {
			return end, fmt.Errorf("the run failed: %w", end.err)
		}
		if end.err != nil && end.points != nil {
			return end, errBranchGivenUp
		}
		if plan.then == anotherRun && p.stoppedNow() && p.stops() == 1 {
			p.forget()
			c.written.Store(false)
			begun, targets, end.text = false, nil, ""
			continue
		}
		targets = x.answers(end.points, p)
		if begun = c.written.Load() && isSaved(ctx, c.store); !begun && end.text == x.wantText && x.wantText != "" {
			return end, nil // what followed the answer was to remove what had been saved
		}
	}
	return end, errors.New("the run was resumed 100 times without an end")
}

// answers returns the targets to resume with. The probe knows the outcome of a call whose outcome is unknown to the run.
func (x *explorer[M]) answers(points []*adk.InterruptCtx, p *Probe[M]) map[string]any {
	targets := map[string]any{}
	for _, point := range points {
		if !point.IsRootCause {
			continue
		}
		unknown, ok := point.Info.(*adk.OutcomeUnknown)
		switch {
		case ok:
			targets[point.ID] = p.outcomeOf(unknown.IdempotencyKey)
		case point.Info == any(infoExplored) || x.Answer == nil:
			targets[point.ID] = nil
		default:
			targets[point.ID] = x.Answer(point)
		}
	}
	return targets
}

// checkPointID is the ID of every run: each has a store of its own.
const checkPointID = "explored"

func isSaved(ctx context.Context, store adk.CheckPointStore) bool {
	if _, ok, err := store.Get(ctx, checkPointID); ok && err == nil {
		return true
	}
	if inspector, ok := store.(runs.Inspector); ok {
		if _, ok, err := inspector.Inspect(ctx, checkPointID); ok && err == nil {
			return true // also if it is done
		}
	}
	journal, ok := store.(runs.Journal)
	if !ok {
		return false
	}
	records, err := journal.ReadRecords(ctx, checkPointID)
	return err == nil && len(records) > 0
}

// career is all lives of one run.
type career[M adk.MessageType] struct {
	*explorer[M]
	probe *Probe[M]
	plan  plan[M]
	store adk.CheckPointStore
	// written says that the run, or the one that took its place, was saved.
	written atomic.Bool
	// zombies are the lives that are frozen.
	zombies []zombie[M]
}

// life is the life of one process that runs the agent.
type life[M adk.MessageType] struct {
	*career[M]
	number int
	store  adk.CheckPointStore
	// durability is the runner's.
	durability adk.Durability
	// end ends the context of the run; cancel cancels it.
	end    context.CancelFunc
	cancel func(opts ...adk.AgentCancelOption)
	// frozen is closed when the life stands still.
	frozen chan struct{}
}

func (c *career[M]) newLife() *life[M] {
	l := &life[M]{career: c, durability: c.plan.durability(c.Durability, c.probe.stops()), frozen: make(chan struct{})}
	var pause func()
	if c.TakeOver {
		pause = func() { c.probe.pause(l.number) }
	}
	l.store = mortal(c.store, func(ctx context.Context, saves bool) error {
		err := c.probe.at(ctx, l.number, atStore)
		if (err == nil || err == errAnswerLost) && saves {
			c.written.Store(true)
		}
		return err
	}, pause)
	return l
}

// lifeEnd says how a life ended.
type lifeEnd struct {
	// text is the text of the last message, points are the interrupts, and err is the error of the run.
	text      string
	points    []*adk.InterruptCtx
	cancelled bool
	// frozen: it has not ended.
	frozen bool
	err    error
}

func (e *lifeEnd) over() bool { return e.points == nil && !e.cancelled && e.err == nil && !e.frozen }

// longest limits the time that one life takes.
const longest = time.Minute

// live is one life of the run.
func (c *career[M]) live(ctx context.Context, begun bool, targets map[string]any) (lifeEnd, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	running, end := context.WithCancel(ctx)
	l := c.newLife()
	l.end = end
	l.number = c.probe.live(c.plan.next(c.probe.stops()).stopper(l))
	stop := func() {
		end()
		cancel()
	}
	var ended lifeEnd
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		if l.TurnLoop {
			ended, err = l.turn(running, targets)
		} else {
			ended, err = l.ask(running, begun, targets)
		}
	}()
	select {
	case <-l.frozen:
		c.zombies = append(c.zombies, zombie[M]{l, done, &ended, &err, stop})
		return lifeEnd{frozen: true}, nil
	case <-done:
	}
	defer stop()
	if ctx.Err() != nil {
		return ended, fmt.Errorf("the run hung: it took longer than %v", longest)
	}
	return ended, err
}

// ask has a runner run the agent, or resume it.
func (l *life[M]) ask(ctx context.Context, begun bool, targets map[string]any) (end lifeEnd, err error) {
	option, cancel := adk.WithCancel()
	l.cancel = func(opts ...adk.AgentCancelOption) { cancel(opts...) }
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{
		Agent: l.Agent(l.probe), EnableStreaming: l.Streaming, CheckPointStore: l.store, Durability: l.durability,
		KeepSteps: l.afterwards != nil && l.durability == adk.EveryStep,
		Lease:     adk.LeaseOptions{TTL: leaseTime},
	})
	_ = l.probe.at(ctx, l.number, atBegin)
	var events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]
	if begun {
		events, err = runner.ResumeWithParams(ctx, checkPointID, &adk.ResumeParams{Targets: targets}, option)
		if err != nil && l.probe.stoppedNow() {
			end.err = err
			return end, nil
		}
		if err != nil {
			return end, fmt.Errorf("the run cannot be resumed: %w", err)
		}
	} else {
		events = runner.Query(ctx, l.Query, adk.WithCheckPointID(checkPointID), option)
	}
	l.read(ctx, events, &end)
	return end, nil
}

// read reads the events of a life.
func (l *life[M]) read(ctx context.Context, events *adk.AsyncIterator[*adk.TypedAgentEvent[M]], end *lifeEnd) {
	reader := &Events[M]{t: silent{}, from: events}
	for {
		e, ok := reader.Next()
		if !ok {
			return
		}
		if e.Broken == nil {
			l.probe.show(Line(e.Message))
		}
		end.note(e.Err, e.Action)
		if p := partsOf(e.Message); e.Broken == nil && p.text != "" {
			end.text = p.text
		}
		_ = l.probe.at(ctx, l.number, atEvent)
	}
}

// note takes over how a run ended, if an event says it.
func (e *lifeEnd) note(err error, action *adk.AgentAction) {
	var cancelled *adk.CancelError
	switch {
	case errors.As(err, &cancelled):
		e.cancelled = true
	case err != nil:
		e.err = err
	case action != nil && action.Interrupted != nil:
		e.points = action.Interrupted.InterruptContexts
	}
}

// silent is the TB of what is read without expectations.
type silent struct{}

func (silent) Helper()               {}
func (silent) Errorf(string, ...any) {}
func (silent) Cleanup(func())        {}

// live makes the probe ready for another life.
func (p *Probe[M]) live(stop *stopper) (number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == stopTaken {
		p.settle()
		p.passed, p.phase = 0, stopPending
	}
	p.lives++
	p.models, p.stop = 0, stop
	clear(p.open)
	return p.lives
}

// stops returns how often the run was stopped.
func (p *Probe[M]) stops() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// stoppedNow reports whether the run was stopped in its present life.
func (p *Probe[M]) stoppedNow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.phase == stopTaken
}

// forget has only what comes count, for another run. What still runs of the lives until now has no effect any more.
func (p *Probe[M]) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.diedIn, p.inFlight, p.gaveUp = p.lives, nil, 0
	for _, m := range []map[string]int{p.done, p.givenUp} {
		clear(m)
	}
	clear(p.results)
	clear(p.callOf)
	clear(p.seen)
}

// outcomeOf returns how a call ended of which the run does not know it.
func (p *Probe[M]) outcomeOf(key string) *adk.ToolOutcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	if result, done := p.results[key]; done {
		return &adk.ToolOutcome{Result: result}
	}
	return &adk.ToolOutcome{Rerun: true}
}

// die is the death of the process: nothing that happens after it has an effect.
func (p *Probe[M]) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.diedIn, p.inFlight = p.lives, maps.Clone(p.open)
}

var errDied = errors.New("adktest: the process has died")
