package adk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/safe"
)

// turn is one turn of a loop, from its plan to its end. Its fields are under the loop's lock, but for those that only the
// loop's goroutine uses.
type turn[T any, M MessageType] struct {
	loop *TurnLoop[T, M]
	// items are all that were taken for the turn.
	items []T
	// resumed is the saved run that GenResume decides about, if there is one.
	resumed *turnDocument[T]

	ctx     context.Context
	context *TurnContext[T, M]
	// control is for the agent. Before that has begun, which is certain then, it is for who plans the turn.
	control cancelscope.Control
	begun   bool
	over    bool
	// waiting are preempts that came while the turn was planned.
	waiting  []preempt
	acks     map[chan struct{}]*time.Timer
	preempts bool
	stops    bool

	preempted, stopped chan struct{}
}

// turnEnd is how a turn has ended, as far as it concerns the loop.
type turnEnd struct {
	// last: the loop ends with it.
	last        bool
	reason      error
	interrupted any // []T
	checkpoint  []byte
	save        bool
	// saveErr is why the run itself could not be saved.
	saveErr error
}

func newTurn[T any, M MessageType](l *TurnLoop[T, M], items []T) *turn[T, M] {
	t := &turn[T, M]{loop: l, items: items, preempted: make(chan struct{}), stopped: make(chan struct{}),
		acks: map[chan struct{}]*time.Timer{}}
	t.control.Root().OnNow(t)
	return t
}

// StopNow ends the context of who plans the turn.
func (t *turn[T, M]) StopNow() {
	info, _, _ := t.control.State()
	t.loop.endLife(cancelError(info))
}

// gaveUp reports whether an error of who plans the turn says that the loop was to stop at once.
func (t *turn[T, M]) gaveUp(err error) bool {
	return t.loop.ctx.Err() == nil && t.loop.life.Err() != nil &&
		(errors.Is(err, context.Canceled) || errors.As(err, new(*CancelError)))
}

// turnPlan is what GenInput or GenResume has decided. A plan without input and without resume is to wait for GenInput.
type turnPlan[T any, M MessageType] struct {
	ctx context.Context
	// resume is the saved run that the turn resumes, if it does, and params are the answers for it.
	resume              *turnDocument[T]
	params              *ResumeParams
	input               *TypedAgentInput[M]
	opts                []AgentRunOption
	consumed, remaining []T
}

// runTurn plans a turn and runs its agent.
func (l *TurnLoop[T, M]) runTurn(t *turn[T, M]) turnEnd {
	plan, err := l.plan(t)
	switch {
	case err != nil:
	case plan.resume == nil && plan.input == nil:
		if l.replan(t, plan) {
			return turnEnd{}
		}
	default:
		var agent TypedAgent[M]
		if agent, err = l.prepare(plan); err == nil && l.begin(t, plan) {
			return l.work(t, plan, agent)
		}
	}
	l.abandon(t)
	if err == nil || t.gaveUp(err) {
		err = contextEnd(l.ctx)
	}
	return turnEnd{last: true, reason: err, save: err == nil}
}

// prepare calls PrepareAgent.
func (l *TurnLoop[T, M]) prepare(plan *turnPlan[T, M]) (TypedAgent[M], error) {
	agent, err := guarded(func() (TypedAgent[M], error) {
		return l.cfg.PrepareAgent(plan.ctx, l, given(plan.consumed))
	})
	if err == nil && agent == nil {
		err = errors.New("PrepareAgent returned no agent")
	}
	return agent, err
}

// plan calls GenInput or GenResume.
func (l *TurnLoop[T, M]) plan(t *turn[T, M]) (*turnPlan[T, M], error) {
	if t.resumed != nil {
		return l.planResume(t)
	}
	result, err := guarded(func() (*GenInputResult[T, M], error) { return l.cfg.GenInput(l.life, l, given(t.items)) })
	switch {
	case err != nil:
		return nil, err
	case result == nil:
		return nil, errors.New("GenInputResult is nil")
	case result.Input == nil:
		return nil, errors.New("agent input is nil")
	}
	return &turnPlan[T, M]{
		ctx: orElse(result.RunCtx, l.life), input: result.Input, opts: result.RunOpts,
		consumed: slices.Clone(result.Consumed), remaining: slices.Clone(result.Remaining),
	}, nil
}

// planResume calls GenResume.
func (l *TurnLoop[T, M]) planResume(t *turn[T, M]) (*turnPlan[T, M], error) {
	if l.cfg.GenResume == nil {
		return nil, errors.New("GenResume is required for resume")
	}
	s := t.resumed
	result, err := guarded(func() (*GenResumeResult[T, M], error) {
		return l.cfg.GenResume(l.life, l, given(s.CanceledItems), given(s.UnhandledItems), given(t.items))
	})
	if err != nil {
		return nil, err
	}
	if result == nil {
		return nil, errors.New("GenResumeResult is nil")
	}
	if err := result.check(); err != nil {
		return nil, fmt.Errorf("GenResumeResult: %w", err)
	}
	plan := &turnPlan[T, M]{
		ctx: orElse(result.RunCtx, l.life), input: result.Input, params: result.ResumeParams, opts: result.RunOpts,
		consumed: slices.Clone(result.Consumed), remaining: slices.Clone(result.Remaining),
	}
	switch {
	case result.Decision == TurnLoopResumeDecisionResume:
		plan.resume = s
	case result.Consumed == nil && result.Remaining == nil:
		plan.remaining = slices.Concat(s.CanceledItems, s.UnhandledItems, t.items)
	}
	return plan, nil
}

// check returns what is wrong with a plan that contradicts itself.
func (r *GenResumeResult[T, M]) check() error {
	switch r.Decision {
	case TurnLoopResumeDecisionResume:
		if r.Input != nil {
			return errors.New("Input is for TurnLoopResumeDecisionStartNewTurn: set Decision, or leave Input nil")
		}
	case TurnLoopResumeDecisionStartNewTurn:
		if r.ResumeParams != nil {
			return errors.New("ResumeParams are for TurnLoopResumeDecisionResume: leave them nil to start a new turn")
		}
		if r.Input == nil && len(r.Consumed) > 0 {
			return errors.New("Consumed needs Input: set it, or leave the items in Remaining for GenInput")
		}
	default:
		return fmt.Errorf("unknown Decision %d: use TurnLoopResumeDecisionResume or TurnLoopResumeDecisionStartNewTurn",
			r.Decision)
	}
	return nil
}

// guarded runs a callback and turns a panic into an error.
func guarded[R any](call func() (R, error)) (result R, err error) {
	defer safe.Recover(&err)
	return call()
}

// abandon gives up a turn whose agent has not started: its items wait again.
func (l *TurnLoop[T, M]) abandon(t *turn[T, M]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buffer = append(slices.Clip(t.items), l.buffer...)
	t.close()
	l.turn = nil
}

// replan ends a turn that is to be planned anew by GenInput, without the saved run. It reports false if the loop was
// stopped meanwhile: then the saved run stays as it is.
func (l *TurnLoop[T, M]) replan(t *turn[T, M], plan *turnPlan[T, M]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop.requested || l.ctx.Err() != nil {
		return false
	}
	l.buffer = slices.Concat(plan.remaining, l.buffer)
	l.stored = nil
	t.close()
	l.turn = nil
	return true
}

// begin makes the turn the active one, which preempts and stops cancel from here on. It reports false if the loop was
// stopped meanwhile.
func (l *TurnLoop[T, M]) begin(t *turn[T, M], plan *turnPlan[T, M]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop.requested || l.ctx.Err() != nil {
		return false
	}
	t.ctx = plan.ctx
	t.context = &TurnContext[T, M]{
		Loop: l, Consumed: given(plan.consumed), Preempted: t.preempted, Stopped: t.stopped, StopCause: l.stopCause,
	}
	t.begun = true
	t.control.Root().Forget(t)
	for _, p := range t.waiting {
		t.submit(p)
	}
	t.waiting = nil
	return true
}

// commit makes the plan of a turn whose agent has started final: the items that it leaves wait again, and the
// checkpoint that it goes on from is used up.
func (l *TurnLoop[T, M]) commit(plan *turnPlan[T, M]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buffer = append(slices.Clip(plan.remaining), l.buffer...)
	l.stored = nil
}

// turnCheckPointID is the only ID in the store of a turn.
const turnCheckPointID = "turn"

// work runs the agent of a turn.
func (l *TurnLoop[T, M]) work(t *turn[T, M], plan *turnPlan[T, M], agent TypedAgent[M]) turnEnd {
	outcome := &runOutcome{ended: make(chan struct{}), shownID: t.shownID}
	store := &turnStore{}
	if isNilStore(l.cfg.Store) {
		store = nil
	}
	opts := append(slices.Clip(plan.opts), AgentRunOption{cancel: &t.control}, WithCheckPointID(turnCheckPointID),
		WrapImplSpecificOptFn(func(o *runnerOptions) { o.outcome = outcome }))
	ctx, end := context.WithCancelCause(plan.ctx)
	stop := func() { end(nil) } // for agents that do not know what a cancel is
	defer stop()
	// The turn ends with the loop's context, also if its own is not made of that.
	defer context.AfterFunc(l.ctx, func() { end(context.Cause(l.ctx)) })()
	conf := TypedRunnerConfig[M]{Agent: agent, Logger: l.cfg.Logger}
	if store != nil {
		conf.CheckPointStore = store
	}
	var events *AsyncIterator[*TypedAgentEvent[M]]
	if plan.resume == nil {
		l.commit(plan)
		conf.EnableStreaming = plan.input.EnableStreaming
		events = NewTypedRunner(conf).Run(ctx, plan.input.Messages, opts...)
	} else {
		store = &turnStore{data: plan.resume.RunnerCheckpoint}
		conf.CheckPointStore = store
		var err error
		if events, err = NewTypedRunner(conf).ResumeWithParams(ctx, turnCheckPointID, plan.params, opts...); err != nil {
			l.abandon(t)
			return turnEnd{last: true, reason: fmt.Errorf("failed to resume agent: %w", err)}
		}
		l.commit(plan)
	}
	var torn bool
	callbackErr := func() error {
		defer func() { // also when the callback ends the goroutine
			torn = l.tearDown(t, stop, outcome, events)
			l.over(t)
		}()
		return l.read(t, events)
	}()
	return l.judge(t, plan, outcome, callbackErr, torn, store)
}

// read lets the user read the events.
func (l *TurnLoop[T, M]) read(t *turn[T, M], events *AsyncIterator[*TypedAgentEvent[M]]) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = safe.NewPanicError(v, debug.Stack())
		}
	}()
	return l.cfg.OnAgentEvents(t.ctx, t.context, events)
}

// tearDown waits for the end of the run. What still runs is cancelled: the user does not want to hear more of it. It
// reports whether that was so.
func (l *TurnLoop[T, M]) tearDown(t *turn[T, M], stop context.CancelFunc, outcome *runOutcome, events *AsyncIterator[*TypedAgentEvent[M]]) (torn bool) {
	defer events.Close()
	if events.ring.Closed() { // also of a run that could not begin
		return false
	}
	select {
	case <-outcome.ended:
	default:
		l.mu.Lock()
		meant := t.preempts || t.stops
		l.mu.Unlock()
		if !meant {
			torn = true
			t.control.Ask(cancelscope.Request{Recursive: true})
			stop()
		}
		events.Close()
		<-outcome.ended
	}
	return torn
}

// over ends the turn: preempts that come now find none.
func (l *TurnLoop[T, M]) over(t *turn[T, M]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.close()
	l.turn = nil
}

// judge decides how the loop goes on.
func (l *TurnLoop[T, M]) judge(t *turn[T, M], plan *turnPlan[T, M], outcome *runOutcome, callbackErr error, torn bool, store *turnStore) turnEnd {
	cancelled := outcome.cancelled
	if torn {
		cancelled = nil
	}
	end := turnEnd{last: true, reason: callbackErr}
	switch {
	case cancelled != nil && t.stops:
		if callbackErr == nil {
			end.reason = cancelled
		}
	case t.preempts:
		if callbackErr != nil {
			diagnostics{l.cfg.Logger}.warn(l.ctx, "a turn that was preempted ended with an error", "error", callbackErr)
		}
		return turnEnd{}
	case outcome.interrupts != nil:
		if callbackErr == nil {
			end.reason = &InterruptError{InterruptContexts: outcome.interrupts}
		}
	case l.ctx.Err() != nil:
		end.reason = contextEnd(l.ctx)
		return end
	case callbackErr != nil:
		return end
	default:
		return turnEnd{}
	}
	end.interrupted, end.save, end.saveErr = plan.consumed, true, outcome.saveErr
	if store != nil {
		end.checkpoint = store.data
	}
	return end
}

// shownID is where the run of a cancelled turn will be found: that of a preempted one nowhere.
func (t *turn[T, M]) shownID() string {
	l := t.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stores() || !t.stops || l.stop.skipCheckpoint {
		return ""
	}
	return l.cfg.CheckpointID
}

// close lets everybody know that the turn is over, with the loop's lock held.
func (t *turn[T, M]) close() {
	t.over = true
	t.control.Settle()
	for ack, timer := range t.acks {
		if timer != nil {
			timer.Stop()
		}
		close(ack)
	}
	clear(t.acks)
	t.waiting = nil
}

// runOutcome is what a run leaves for whoever is not its reader.
type runOutcome struct {
	cancelled  *CancelError
	interrupts []*InterruptCtx
	// saveErr is why the run could not be saved.
	saveErr error
	// shownID is what a CancelError says about where the run is saved.
	shownID func() string
	ended   chan struct{}
}

// turnStore keeps the run of one turn.
type turnStore struct{ data []byte }

func (s *turnStore) Get(context.Context, string) ([]byte, bool, error) {
	return s.data, s.data != nil, nil
}

func (s *turnStore) Set(_ context.Context, _ string, data []byte) error {
	s.data = data
	return nil
}

// preempt is a push that wants the turn to end.
type preempt struct {
	request cancelscope.Request
	ack     chan struct{}
}

// submit cancels the agent of an active turn, with the loop's lock held.
func (t *turn[T, M]) submit(p preempt) {
	t.cancel(p.request, &t.preempts, t.preempted)
	if p.ack != nil {
		t.release(p.ack)
	}
}

// cancel asks the agent to stop, with the loop's lock held. If that is not too late, *does becomes true and told is closed
// once: before there can be an event that says so.
func (t *turn[T, M]) cancel(r cancelscope.Request, does *bool, told chan struct{}) {
	if !*does {
		r.Told = told
	}
	if t.control.Ask(r) {
		*does = true
	}
}

// release closes an ack, with the loop's lock held.
func (t *turn[T, M]) release(ack chan struct{}) {
	if _, ok := t.acks[ack]; ok {
		delete(t.acks, ack)
		close(ack)
	}
}
