package adk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/internal/turnqueue"
)

// turn is one turn of a loop, from its plan to its end. How far it has got is the phase of the loop's queue.
type turn[T any, M MessageType] struct {
	loop   *TurnLoop[T, M]
	number int
	// items are all that were taken for the turn.
	items []T
	// saved is the run that GenResume decides about, nil if GenInput plans the turn.
	saved *turnDocument[T]

	// control cancels the agent. While the turn is planned, it is for stops only and cancels the callbacks that plan.
	control cancelscope.Control
	// preempted and stopped are closed when a preempt, or a stop, has cancelled the agent: before an event can say so.
	preempted, stopped chan struct{}

	// ctx and context are set when the turn begins. The loop's mu guards them.
	ctx     context.Context
	context *TurnContext[T, M]
}

// turnEnd says how a loop ends with a turn, or without one; a loop that does not end has none.
type turnEnd[T any] struct {
	reason error
	// save says that what is left may be saved. After a failure nothing is.
	save bool
	// interrupted are the items of the turn, if its run can be resumed from checkpoint.
	interrupted []T
	checkpoint  []byte
	// saveErr is the reason for which the run itself could not be saved.
	saveErr error
}

// newTurn makes the turn that the queue has just begun to plan.
func newTurn[T any, M MessageType](l *TurnLoop[T, M], items []T, saved *turnDocument[T]) *turn[T, M] {
	t := &turn[T, M]{
		loop: l, number: l.queue.Turn(), items: items, saved: saved,
		preempted: make(chan struct{}), stopped: make(chan struct{}),
	}
	t.control.Root().OnNow(t)
	return t
}

// StopNow ends the context of the callbacks that plan the turn.
func (t *turn[T, M]) StopNow() {
	info, _, _ := t.control.State()
	t.loop.endLife(cancelError(info))
}

// cancel asks the agent to stop. done is closed if that was not too late. The loop's mu is held.
func (t *turn[T, M]) cancel(r cancelscope.Request, done chan struct{}) {
	if !hasHappened(done) {
		r.Accepted = done
	}
	t.control.Ask(r)
}

// hasHappened reports whether a channel is closed.
func hasHappened(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// runTurn plans a turn and runs its agent. It returns how the loop ends, nil if it does not.
func (l *TurnLoop[T, M]) runTurn(t *turn[T, M]) *turnEnd[T] {
	plan, err := l.plan(t)
	switch {
	case err != nil:
	case plan.isLeftToGenInput():
		if l.replan(t, plan) {
			return nil
		}
	default:
		var agent TypedAgent[M]
		if agent, err = l.prepare(plan); err == nil && l.begin(t, plan) {
			return l.runAgent(t, plan, agent)
		}
	}
	l.withdraw(t)
	if err == nil || t.wasCalledOff(err) {
		err = contextEnd(l.ctx)
	}
	return &turnEnd[T]{reason: err, save: err == nil}
}

// wasCalledOff reports whether an error of a callback that plans the turn only says that the loop is to stop at once.
func (t *turn[T, M]) wasCalledOff(err error) bool {
	return t.loop.ctx.Err() == nil && t.loop.life.Err() != nil &&
		(errors.Is(err, context.Canceled) || errors.As(err, new(*CancelError)))
}

// mayBegin reports whether the planned turn may begin: the loop was not stopped meanwhile. mu is held.
func (l *TurnLoop[T, M]) mayBegin() bool {
	return l.ctx.Err() == nil && l.queue.Phase() == turnqueue.Planning
}

// begin makes the turn run: preempts and stops cancel its agent from here on. It reports false if it may not begin.
func (l *TurnLoop[T, M]) begin(t *turn[T, M], plan *turnPlan[T, M]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.mayBegin() {
		return false
	}
	t.ctx = plan.ctx
	t.context = &TurnContext[T, M]{
		Loop: l, Consumed: given(plan.consumed), Preempted: t.preempted, Stopped: t.stopped, StopCause: l.stopCause,
	}
	t.control.Root().Forget(t)
	return l.queue.Begin()
}

// replan gives the saved run up and leaves the plan to GenInput. It reports false if the turn may not begin: then the
// saved run stays as it is.
func (l *TurnLoop[T, M]) replan(t *turn[T, M], plan *turnPlan[T, M]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.mayBegin() {
		return false
	}
	l.saved = nil
	l.queue.PutBack(plan.remaining)
	l.endTurn(t)
	return true
}

// withdraw ends a turn whose agent has not started: its items wait again.
func (l *TurnLoop[T, M]) withdraw(t *turn[T, M]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.PutBack(t.items)
	l.endTurn(t)
}

// commit makes the plan of a turn whose agent has started final: the items that it leaves wait again, and the
// checkpoint is used up.
func (l *TurnLoop[T, M]) commit(plan *turnPlan[T, M]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.PutBack(plan.remaining)
	l.saved = nil
}

// endTurn ends the present turn: a cancel is too late from here on. mu is held.
func (l *TurnLoop[T, M]) endTurn(t *turn[T, M]) {
	t.control.Settle()
	l.queue.Over()
}

// turnCheckPointID is the only ID in the store of a turn.
const turnCheckPointID = "turn"

// turnRun is the run of a turn's agent.
type turnRun[T any, M MessageType] struct {
	turn    *turn[T, M]
	plan    *turnPlan[T, M]
	events  *AsyncIterator[*TypedAgentEvent[M]]
	outcome runOutcome
	// store keeps the run if it is interrupted; nil if there is no use for that.
	store *turnStore
	// stop ends the context of the run, for agents that do not know what a cancel is.
	stop context.CancelFunc
	// callbackErr is the error of OnAgentEvents; brokenOff says that it left before the run had ended.
	callbackErr error
	brokenOff   bool
}

// runAgent runs the agent of a turn that has begun.
func (l *TurnLoop[T, M]) runAgent(t *turn[T, M], plan *turnPlan[T, M], agent TypedAgent[M]) *turnEnd[T] {
	ctx, end := context.WithCancelCause(plan.ctx)
	run := &turnRun[T, M]{
		turn: t, plan: plan, stop: func() { end(nil) },
		outcome: runOutcome{ended: make(chan struct{}), shownID: t.shownID},
	}
	defer run.stop()
	// The turn ends with the loop's context, also if its own is not made of that.
	defer context.AfterFunc(l.ctx, func() { end(context.Cause(l.ctx)) })()
	if err := l.start(ctx, run, agent); err != nil {
		l.withdraw(t)
		return &turnEnd[T]{reason: fmt.Errorf("failed to resume agent: %w", err)}
	}
	l.commit(plan)
	func() {
		defer func() { // also when the callback ends the goroutine
			run.tearDown()
			l.mu.Lock()
			defer l.mu.Unlock()
			l.endTurn(t)
		}()
		run.callbackErr = l.read(t, run.events)
	}()
	return l.endTurnKept(run, l.endAfter(run))
}

// start starts the agent's run, or resumes it. It fails only if the run cannot be resumed.
func (l *TurnLoop[T, M]) start(ctx context.Context, run *turnRun[T, M], agent TypedAgent[M]) (err error) {
	plan := run.plan
	opts := make([]AgentRunOption, 0, len(plan.opts)+3)
	opts = append(append(opts, plan.opts...), AgentRunOption{cancel: &run.turn.control},
		WithCheckPointID(turnCheckPointID), WrapImplSpecificOptFn(func(o *runnerOptions) { o.outcome = &run.outcome }))
	conf := TypedRunnerConfig[M]{Agent: agent, Logger: l.cfg.Logger}
	if plan.resume != nil {
		run.store = &turnStore{data: plan.resume.RunnerCheckpoint}
		conf.CheckPointStore = run.store
		run.events, err = NewTypedRunner(conf).ResumeWithParams(ctx, turnCheckPointID, plan.params, opts...)
		return err
	}
	if !isNilStore(l.cfg.Store) {
		run.store = &turnStore{}
		conf.CheckPointStore = run.store
	}
	conf.EnableStreaming = plan.input.EnableStreaming
	run.events = NewTypedRunner(conf).Run(ctx, plan.input.Messages, opts...)
	return nil
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

// tearDown waits for the end of the run. What still runs is cancelled, as the reader wants no more of it.
func (r *turnRun[T, M]) tearDown() {
	defer r.events.Close()
	if r.events.ring.Closed() { // also of a run that could not begin
		return
	}
	select {
	case <-r.outcome.ended:
		return
	default:
	}
	if !hasHappened(r.turn.preempted) && !hasHappened(r.turn.stopped) {
		r.brokenOff = true
		r.turn.control.Ask(cancelscope.Request{Recursive: true})
		r.stop()
	}
	r.events.Close()
	<-r.outcome.ended
}

// endAfter decides whether, and how, the loop ends after a run; nil is for a loop that continues.
func (l *TurnLoop[T, M]) endAfter(run *turnRun[T, M]) *turnEnd[T] {
	outcome, callbackErr := &run.outcome, run.callbackErr
	end := &turnEnd[T]{reason: callbackErr}
	switch {
	case outcome.cancelled != nil && !run.brokenOff && hasHappened(run.turn.stopped):
		if callbackErr == nil {
			end.reason = outcome.cancelled
		}
	case hasHappened(run.turn.preempted):
		if callbackErr != nil {
			diagnostics{l.cfg.Logger}.warn(l.ctx, "a turn that was preempted ended with an error", "error", callbackErr)
		}
		return nil
	case outcome.interrupts != nil:
		if callbackErr == nil {
			end.reason = &InterruptError{InterruptContexts: outcome.interrupts}
		}
	case l.ctx.Err() != nil:
		return &turnEnd[T]{reason: contextEnd(l.ctx)}
	case callbackErr != nil:
		return end
	default:
		return nil
	}
	end.interrupted, end.save, end.saveErr = run.plan.consumed, true, outcome.saveErr
	if run.store != nil {
		end.checkpoint = run.store.data
	}
	return end
}

// endTurnKept tells the conversation of a run that stopped what happens to it.
func (l *TurnLoop[T, M]) endTurnKept(run *turnRun[T, M], end *turnEnd[T]) *turnEnd[T] {
	if run.outcome.endTurn == nil {
		return end
	}
	l.mu.Lock()
	resumable := end != nil && end.checkpoint != nil && end.saveErr == nil && l.stores() && !l.stop.skipCheckpoint
	l.mu.Unlock()
	err := run.outcome.endTurn(context.WithoutCancel(l.ctx), resumable)
	switch {
	case err == nil:
		return end
	case end == nil:
		end = new(turnEnd[T])
	}
	end.reason = errors.Join(end.reason, fmt.Errorf("failed to keep the turn of the run: %w", err))
	return end
}

// shownID returns the checkpoint ID that a CancelError of the turn names: a preempted turn is saved nowhere.
func (t *turn[T, M]) shownID() string {
	l := t.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stores() || !hasHappened(t.stopped) || l.stop.skipCheckpoint {
		return ""
	}
	return l.cfg.CheckpointID
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
