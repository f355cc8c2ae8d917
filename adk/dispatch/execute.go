package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/internal/runwatch"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/runs"
)

// WrongWorkerDelay is after how long a run is due again that a worker does not execute (see [ErrWrongWorker]).
const WrongWorkerDelay = 5 * time.Second

// Execute executes a run from where it is to where it ends or waits, and returns its outcome. A run that has ended, is
// paused, waits for answers that are not there, or is ready at a later time only (Result.WakeAt), is not touched. It
// blocks meanwhile, and may be called by anyone, at any time: of several callers one executes, and the others get an
// error that matches runs.ErrBusy.
//
// An error says that the outcome of the run is unknown: the store failed, or another process has taken the run over, or
// this process does not know the agent. The next caller continues the run. The error with which the run itself failed is Result.Err.
//
// When ctx ends the run is stopped, and is ready for the next caller (see [WithDrain] for a gentler end).
func (d *TypedDispatcher[M]) Execute(ctx context.Context, id string, opts ...ExecuteOption) (TypedResult[M], error) {
	info, exists, err := d.Inspect(ctx, id)
	if err == nil {
		err = notOwn(id)
	}
	if err != nil {
		return TypedResult[M]{}, err
	}
	if exists && isOver(info) { // that needs no lease
		return d.outcomeOf(ctx, info)
	}
	o := executeOptions{drain: &drain{}}
	for _, set := range opts {
		set(&o)
	}
	defer o.drain.end()
	if o.turn, err = d.awaitTurn(ctx, info); err != nil {
		return TypedResult[M]{}, err
	}
	if o.turn != nil {
		defer o.turn()
	}
	request := d.leaseRequest()
	if o.ttl > 0 {
		request.TTL = o.ttl
	}
	asked := time.Now()
	taken, err := d.store.Acquire(ctx, id, request)
	if err != nil {
		return TypedResult[M]{}, err
	}
	lease := newTakenLease(taken, asked)
	if isEarly(lease.Info(), lease.clock.Now()) {
		return d.leave(context.WithoutCancel(ctx), lease, runs.Settlement{})
	}
	return d.execute(ctx, lease, o)
}

// isOver reports whether a run has nothing to execute until a caller continues it.
func isOver(run runs.Info) bool {
	switch run.Status {
	case runs.Done, runs.Failed, runs.Paused:
		return run.Owner == ""
	}
	return false
}

// isEarly reports whether a run is ready at a later time only.
func isEarly(run runs.Info, now time.Time) bool {
	return run.Status == runs.Ready && now.Before(run.WakeAt)
}

// Fail settles a run as failed that no worker executes, with cause as the reason: the process that was to execute it has
// given it up. A run that waits for it gets the error. It fails with an error that matches runs.ErrBusy while a
// process holds the run, and runs.ErrEnded if it has ended.
func (d *TypedDispatcher[M]) Fail(ctx context.Context, id string, cause error) error {
	defer d.notify()
	if err := notOwn(id); err != nil {
		return err
	}
	lease, err := d.store.Acquire(ctx, id, d.leaseRequest())
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the lease is given back
	info := lease.Info()
	if info.Status == runs.Done || info.Status == runs.Failed {
		return errors.Join(&runs.Error{Err: runs.ErrEnded, Info: info},
			lease.Settle(ctx, runs.Settlement{}))
	}
	s := runs.Settlement{Status: runs.Failed, Err: cause.Error(), Cause: cause}
	d.answerParent(info, &s)
	return lease.Settle(ctx, s)
}

func (d *TypedDispatcher[M]) leaseRequest() runs.LeaseRequest {
	owner := d.conf.Owner
	if owner == "" {
		owner = core.ProcessOwner()
	}
	return runs.LeaseRequest{Owner: owner, TTL: d.conf.TTL}
}

// execute is a stretch whose lease is taken.
func (d *TypedDispatcher[M]) execute(ctx context.Context, lease *takenLease, how executeOptions) (o TypedResult[M], err error) {
	defer d.notify()
	// The caller's context ends what the run does, and not that the store is given its end.
	settling := context.WithoutCancel(ctx)
	info := lease.Info()
	switch info.Status {
	case runs.Done, runs.Failed, runs.Paused:
		return d.leave(settling, lease, runs.Settlement{})
	}
	now := lease.clock.Now()
	targets, err := d.dueTargets(settling, info, now)
	if err != nil {
		return o, errors.Join(err, lease.Settle(settling, runs.Settlement{}))
	}
	refusal := d.refusal(info, now)
	if info.Status == runs.Waiting && len(targets) == 0 && refusal == nil {
		return d.leave(settling, lease, runs.Settlement{WakeAt: nextLook(info, now)})
	}
	turn, err := d.turnOf(info, how.turn)
	if err != nil {
		return d.leave(settling, lease, runs.Settlement{WakeAt: now.Add(suspectAgain)})
	}
	h := d.hold(lease, info, how)
	h.turn = turn
	defer h.release()
	defer func() { h.endRecord(err) }()
	if refusal != nil {
		return d.settleAs(settling, h, *refusal)
	}
	d.count(CountAttempt, info)
	if info.Status == runs.Running {
		d.count(CountTakeover, info)
	}
	begun := time.Now()
	err = d.run(ctx, h, targets)
	d.observe(ObserveAttempt, time.Since(begun), info)
	switch {
	case h.end() != nil:
		return d.settledAs(settling, h)
	case errors.Is(err, runs.ErrLeaseLost):
		d.count(CountLost, info)
		return o, err
	case isForOthers(err):
		return o, errors.Join(err, lease.Settle(settling, runs.Settlement{WakeAt: lease.clock.Now().Add(WrongWorkerDelay)}))
	case ctx.Err() != nil: // before it began
		return o, errors.Join(err, lease.Settle(settling, runs.Settlement{}))
	case err == nil:
		err = fmt.Errorf("the runner of agent %q did not use the store that its maker was given", info.Agent)
	}
	// The runner could not begin.
	return d.settleAs(settling, h, runs.Settlement{Status: runs.Failed, Err: err.Error(), Cause: err})
}

// isForOthers reports whether a run that could not begin here can be executed by other workers: workers of a newer
// release, or workers that know its types or its key. Nothing of it is changed.
func isForOthers(err error) bool {
	for _, why := range []error{ErrWrongWorker, runs.ErrNewerFormat, runs.ErrUnknownType, checkpoint.ErrNoKey} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}

// settleAs settles a run that was not executed.
func (d *TypedDispatcher[M]) settleAs(ctx context.Context, h *attempt[M], s runs.Settlement) (o TypedResult[M], err error) {
	if err := h.Settle(ctx, s); err != nil {
		return o, errors.Join(s.Cause, err)
	}
	return d.settledAs(ctx, h)
}

// leave gives a lease back without having done anything, and returns the outcome of the run.
func (d *TypedDispatcher[M]) leave(ctx context.Context, lease runs.Lease, s runs.Settlement) (o TypedResult[M], err error) {
	id := lease.Info().ID
	if err := lease.Settle(ctx, s); err != nil {
		return o, err
	}
	info, exists, err := d.store.Inspect(ctx, id)
	if err != nil {
		return o, err
	}
	if !exists {
		return o, fmt.Errorf("run %q: %w", id, runs.ErrNotFound)
	}
	return d.outcomeOf(ctx, info)
}

// refusal returns the settlement of a run that must not be executed, nil for most runs.
func (d *TypedDispatcher[M]) refusal(info runs.Info, now time.Time) *runs.Settlement {
	var err error
	switch {
	case d.suspicionOf(info) == poisoned:
		err = &PoisonedError{ID: info.ID, Attempts: info.Attempts}
		d.count(CountPoisoned, info)
	case !info.Deadline.IsZero() && !now.Before(info.Deadline):
		err = &deadlineError{info.Deadline}
	default:
		return nil
	}
	return &runs.Settlement{Status: runs.Failed, Err: err.Error(), Cause: err}
}

// PoisonedError is the error of a run that has failed because it killed its process again and again.
type PoisonedError struct {
	ID       string
	Attempts int
}

func (e *PoisonedError) Error() string {
	return fmt.Sprintf("run %q died %d times at the same place", e.ID, e.Attempts)
}

// run has the runner of the agent execute the run. It returns the last error; the outcome of the run is in h.
func (d *TypedDispatcher[M]) run(ctx context.Context, h *attempt[M], targets map[string]any) (err error) {
	defer func() {
		if v := recover(); v != nil { // of code of the user's
			err = safe.NewPanicError(v, debug.Stack())
		}
	}()
	info := h.info
	if d.conf.Context != nil {
		ctx = d.conf.Context(ctx, info)
	}
	if !info.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, h.clock.Local(info.Deadline), &deadlineError{info.Deadline})
		defer cancel()
	}
	ctx = context.WithValue(ctx, stretchKey{}, stretchContext{d.conf.Secret, info.ID, h.clock})
	defer h.keepUntilUsed()()
	maker := d.conf.Agents[info.Agent]
	if maker == nil {
		return fmt.Errorf("%w: agent %q is not among Config.Agents", ErrWrongWorker, info.Agent)
	}
	runner, err := maker(ctx, info, h)
	if err != nil {
		return err
	}
	if runner == nil {
		return fmt.Errorf("the maker of agent %q has made no runner", info.Agent)
	}
	opts := append(h.recordOptions(), h.meter.options()...)
	if d.conf.OnEvent == nil {
		opts = append(opts, adk.WrapImplSpecificOptFn(func(o *runwatch.Options) { o.Unread = true }))
	}
	if d.conf.Options != nil {
		more, err := d.conf.Options(ctx, info)
		if err != nil {
			return err
		}
		opts = append(opts, more...)
	}
	events, err := runner.ResumeWithParams(ctx, info.ID, &adk.ResumeParams{Targets: targets}, opts...)
	if err != nil {
		if !h.isUsed() {
			err = fmt.Errorf("the runner of agent %q did not use the store that its maker was given: %w", info.Agent, err)
		}
		return err
	}
	for e := range events.All() {
		if e.Err != nil {
			err = e.Err
		}
		if d.conf.OnEvent != nil {
			d.conf.OnEvent(ctx, info, e)
		}
		h.discard(e)
	}
	return err
}

// settledAs returns the outcome of a stretch that this process has settled.
func (d *TypedDispatcher[M]) settledAs(ctx context.Context, h *attempt[M]) (o TypedResult[M], err error) {
	s := h.end()
	o = TypedResult[M]{Status: s.Status, Questions: s.Waiting, WakeAt: s.WakeAt, Err: s.Cause}
	if o.Err == nil && s.Err != "" {
		o.Err = errors.New(s.Err)
	}
	switch s.Status {
	case runs.Done:
		d.count(CountDone, h.info)
		o.Message, o.Agent, err = adk.DecodeResult[M](s.Result)
	case runs.Failed:
		d.count(CountFailed, h.info)
	case runs.Paused:
		d.count(CountPaused, h.info)
	case runs.Ready:
		if s.Err != "" {
			d.count(CountRetry, h.info)
		} else {
			d.count(CountDrained, h.info)
		}
	case runs.Waiting:
		d.count(CountWaiting, h.info)
		d.answerEnded(ctx, h)
	}
	return o, err
}

// answerEnded gives a run that has just begun to wait the answers of children that had ended before, so that it need
// not look later. It is a service: the run looks anyway.
func (d *TypedDispatcher[M]) answerEnded(ctx context.Context, h *attempt[M]) {
	s := h.end()
	if len(s.Children) == 0 {
		return
	}
	for _, p := range s.Waiting {
		if p.Kind != runs.KindRun {
			continue
		}
		outcome, err := d.endedChild(ctx, p)
		if err != nil || outcome == nil {
			continue
		}
		if answer, err := runs.EncodeReply(p.ID, outcome); err == nil {
			_ = d.store.Reply(ctx, h.info.ID, answer)
		}
	}
}

// retry asks Config.Retry.
func (d *TypedDispatcher[M]) retry(err error, failures int) (after time.Duration, again bool) {
	defer func() {
		if v := recover(); v != nil {
			again = false
		}
	}()
	return d.conf.Retry(err, failures)
}
