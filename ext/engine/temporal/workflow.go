package temporalengine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/weftgo/weft/runs"
)

// mostAttempts is after how many attempts a workflow continues as a new one, also if the server does not suggest it.
const mostAttempts = 500

// mostAnswer is the number of bytes that an answer by update may have.
const mostAnswer = 64 << 10

// Run is the workflow of a run, of type [RunWorkflow]: it has an activity execute the run, waits for what the run waits
// for, and has it executed again, until it ends. A run that is done is a [RunResult], one that has failed an error of
// type [ErrTypeFailed]. Canceling the workflow stops the run, which can be continued later.
//
// It decides nothing: each attempt reads the state of the run from the store. So a signal may be repeated, or come too
// late.
//
// A change of this workflow must be replayed against the histories in testdata, and needs a workflow.GetVersion where
// it does something else than before.
func Run(ctx workflow.Context, in RunInput) (RunResult, error) {
	in.Options = in.Options.withDefaults()
	r := &run{in: in, answered: map[string]bool{}, children: map[string]childState{}}
	r.seen.Status = runs.Ready
	if err := r.listen(ctx); err != nil {
		return RunResult{}, err
	}
	for attempts := 1; ; attempts++ {
		if err := r.attempt(ctx); err != nil {
			return RunResult{}, err
		}
		switch r.seen.Status {
		case runs.Done:
			return RunResult{ID: in.ID, Status: runs.Done}, nil
		case runs.Failed:
			return RunResult{}, temporal.NewNonRetryableApplicationError(
				"run "+in.ID+" has failed; the store has the reason", ErrTypeFailed, nil)
		}
		if err := r.wait(ctx); err != nil { // canceled
			r.pause(ctx)
			return RunResult{}, err
		}
		if r.mayContinueAsNew(ctx, attempts) {
			return RunResult{}, workflow.NewContinueAsNewError(ctx, RunWorkflow, in)
		}
	}
}

// childState is the state, as a workflow knows it, of the workflow of a run that its run waits for.
//
//	from      to        when
//	(none)    attached  it is started
//	attached  ended     it has ended with its run: the store has the answer
//	attached  detached  it has ended without its run: it was canceled, or terminated
//	attached  (none)    there is one already, such as one that is about to end: it is tried again a little later
type childState int

const (
	_ childState = iota
	childAttached
	childEnded
	childDetached
)

// run is the state of a workflow. Its coroutines are never executed at the same time.
type run struct {
	in RunInput
	// seen is the outcome of the last attempt.
	seen outcome
	// attempting: an activity executes the run.
	attempting bool
	// look: the run was changed in the store since the last attempt began.
	look bool
	// answered are the questions that were answered since the last attempt began, and children the runs that were waited
	// for at any time.
	answered map[string]bool
	children map[string]childState
	// controlling: a request of a signal is under way to the store. The coroutine that takes signals owns it.
	controlling               bool
	changed, stops, continues workflow.ReceiveChannel
}

// listen begins to take what others have for the run.
func (r *run) listen(ctx workflow.Context) error {
	err := workflow.SetQueryHandlerWithOptions(ctx, StatusQuery, func() (Status, error) { return r.status(), nil },
		workflow.QueryHandlerOptions{Description: "What has become of the run, and its questions."})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, ReplyUpdate, r.answer, workflow.UpdateHandlerOptions{
		Validator: r.checkAnswer, Description: "Answers a question of the run."})
	if err != nil {
		return err
	}
	r.changed = workflow.GetSignalChannelWithOptions(ctx, ChangedSignal,
		workflow.SignalChannelOptions{Description: "The run was changed in the store."})
	r.stops = workflow.GetSignalChannelWithOptions(ctx, StopSignal,
		workflow.SignalChannelOptions{Description: "Stops the run."})
	r.continues = workflow.GetSignalChannelWithOptions(ctx, ContinueSignal,
		workflow.SignalChannelOptions{Description: "Has the run continue that was stopped."})
	workflow.Go(ctx, r.takeSignals)
	return nil
}

// takeSignals is a coroutine that takes signals, one after the other.
func (r *run) takeSignals(ctx workflow.Context) {
	control := func(activity string, input any) {
		r.controlling = true
		r.control(ctx, activity, input)
		r.controlling = false
	}
	signals := workflow.NewSelector(ctx).AddReceive(r.changed, func(c workflow.ReceiveChannel, _ bool) {
		var what Changed
		c.Receive(ctx, &what)
		r.note(what)
	}).AddReceive(r.stops, func(c workflow.ReceiveChannel, _ bool) {
		var how Stop
		c.Receive(ctx, &how)
		control(stopActivity, stopInput{r.in.ID, how})
	}).AddReceive(r.continues, func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, nil)
		control(continueActivity, r.in.ID)
	})
	for {
		signals.Select(ctx)
	}
}

// note takes a change in the store.
func (r *run) note(what Changed) {
	r.look = r.look || len(what.Answered) == 0
	for _, point := range what.Answered {
		r.answered[point] = true
	}
}

// control changes the run in the store. An error that is not tried again is one that says that the run has ended.
func (r *run) control(ctx workflow.Context, activity string, input any) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, RetryPolicy: r.in.Options.RetryPolicy})
	if err := workflow.ExecuteActivity(ctx, activity, input).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("a request to the run was refused", "run", r.in.ID, "request", activity, "error", err)
	}
	r.look = true
}

// pause stops the run because its workflow was canceled. The workflows of its children are canceled when it ends.
func (r *run) pause(ctx workflow.Context) {
	r.control(ctx, stopActivity, stopInput{r.in.ID,
		Stop{Timeout: r.in.Options.StopGrace, Reason: "its workflow was canceled"}})
}

// attempt has an activity execute the run until it ends or waits.
func (r *run) attempt(ctx workflow.Context) error {
	for r.changed.ReceiveAsync(&Changed{}) { // the activity sees it
	}
	r.look, r.attempting = false, true
	clear(r.answered) // the activity sees those, too
	r.show(ctx)
	free, _ := workflow.NewDisconnectedContext(ctx)
	executing, abandon := workflow.WithCancel(workflow.WithActivityOptions(free, workflow.ActivityOptions{
		StartToCloseTimeout: r.in.Options.AttemptTimeout, HeartbeatTimeout: r.in.Options.Heartbeat,
		RetryPolicy: r.in.Options.RetryPolicy, WaitForCancellation: true}))
	defer abandon()
	attempt := workflow.ExecuteActivity(executing, attemptActivity,
		attemptInput{r.in.ID, workflow.GetInfo(ctx).ParentWorkflowExecution == nil})
	canceled := workflow.Await(ctx, attempt.IsReady)
	if canceled != nil {
		r.pause(ctx)
		abandon()
	}
	var seen outcome
	err := attempt.Get(free, &seen)
	ended := err == nil && (seen.Status == runs.Done || seen.Status == runs.Failed)
	if canceled != nil && !ended {
		return canceled
	}
	if err != nil {
		return err
	}
	r.seen, r.attempting = seen, false
	r.show(ctx)
	return nil
}

// wait waits until the run is worth another look. An error says that the workflow is canceled.
func (r *run) wait(ctx workflow.Context) error {
	worth := func() bool { return r.look || r.seen.Status == runs.Waiting && r.hasAnswers() }
	timeout := r.seen.WakeIn
	if r.seen.Status == runs.Waiting && r.startChildren(ctx) {
		timeout = sooner(timeout, r.seen.LookIn)
	}
	if timeout <= 0 {
		return workflow.Await(ctx, worth)
	}
	_, err := workflow.AwaitWithTimeout(ctx, timeout, worth)
	return err
}

// isAnswered reports whether a question was answered, as the store or a signal said.
func (r *run) isAnswered(p Question) bool {
	return p.Answered || r.answered[p.ID] || r.children[p.Child] == childEnded
}

// hasAnswers reports whether the run has the answers that it needs: to all questions that are not optional, and at
// least one. If not all questions are known, each answer may be the last one.
func (r *run) hasAnswers() bool {
	if r.seen.More > 0 {
		return len(r.answered) > 0
	}
	answered := r.isAnswered
	return slices.ContainsFunc(r.seen.Waiting, answered) &&
		!slices.ContainsFunc(r.seen.Waiting, func(p Question) bool { return !p.Optional && !answered(p) })
}

// startChildren starts the workflows of the runs that the run waits for. It reports whether the end of one may be
// missed.
func (r *run) startChildren(ctx workflow.Context) (detached bool) {
	for _, p := range r.seen.Waiting {
		switch {
		case p.Kind != runs.KindRun || p.Answered:
		case p.Child == "" || r.children[p.Child] == childDetached:
			detached = true
		case r.children[p.Child] == 0:
			r.startChild(ctx, p)
		}
	}
	return detached
}

func (r *run) startChild(ctx workflow.Context, p Question) {
	r.children[p.Child] = childAttached
	o := r.in.Options
	o.TaskQueue = p.TaskQueue
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: o.names().workflow(p.Child),
		TaskQueue: o.TaskQueue, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE})
	child := workflow.ExecuteChildWorkflow(ctx, RunWorkflow, RunInput{p.Child, o})
	workflow.Go(ctx, func(ctx workflow.Context) {
		var exists *temporal.ChildWorkflowExecutionAlreadyStartedError
		switch err := child.Get(ctx, nil); {
		case err == nil, isType(err, ErrTypeFailed):
			r.children[p.Child], r.answered[p.ID] = childEnded, true
		case errors.As(err, &exists):
			_ = workflow.Sleep(ctx, r.seen.LookIn/4)
			delete(r.children, p.Child)
			r.look = true
		default:
			r.children[p.Child], r.look = childDetached, true
		}
	})
}

// mayContinueAsNew reports whether the history is long, and nothing would be lost.
func (r *run) mayContinueAsNew(ctx workflow.Context, attempts int) bool {
	if !workflow.GetInfo(ctx).GetContinueAsNewSuggested() && attempts < mostAttempts {
		return false
	}
	for _, child := range workflow.DeterministicKeys(r.children) {
		if r.children[child] == childAttached {
			return false
		}
	}
	return !r.controlling && r.stops.Len() == 0 && r.continues.Len() == 0 && workflow.AllHandlersFinished(ctx)
}

// status returns the status of the run as the workflow knows it.
func (r *run) status() Status {
	s := Status{ID: r.in.ID, Agent: r.seen.Agent, Status: r.seen.Status, Waiting: slices.Clone(r.seen.Waiting),
		More: r.seen.More}
	for i, p := range s.Waiting {
		s.Waiting[i].Answered = r.isAnswered(p)
	}
	if r.attempting {
		s.Status, s.Waiting, s.More = runs.Running, nil, 0
	}
	return s
}

// checkAnswer refuses what cannot be an answer, before it is in the history.
func (r *run) checkAnswer(_ workflow.Context, a Reply) error {
	if len(a.Data) > mostAnswer {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("the answer to %s of run %s has %d bytes, of which the "+
			"history takes %d: put it into the store, and signal %s", a.To, r.in.ID, len(a.Data), mostAnswer,
			ChangedSignal), ErrTypeInvalid, nil)
	}
	now := r.status()
	for _, p := range now.Waiting {
		switch {
		case p.ID != a.To:
		case p.Answered:
			return temporal.NewNonRetryableApplicationError(
				"question "+a.To+" of run "+r.in.ID+" was answered before", ErrTypeReplied, nil)
		default:
			return nil
		}
	}
	if now.More > 0 { // the store knows
		return nil
	}
	return temporal.NewNonRetryableApplicationError(
		"run "+r.in.ID+" does not wait at "+a.To+"; ask "+StatusQuery+" what it waits for", ErrTypeNotWaiting, nil)
}

// answer gives an answer to the store, which takes it or refuses it.
func (r *run) answer(ctx workflow.Context, a Reply) error {
	free, _ := workflow.NewDisconnectedContext(ctx)
	free = workflow.WithLocalActivityOptions(free, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second}})
	err := workflow.ExecuteLocalActivity(free, replyActivity, replyInput{r.in.ID, a}).Get(free, nil)
	switch {
	case err == nil, isType(err, ErrTypeReplied): // perhaps by a try of ours whose worker died
		r.note(Changed{Answered: []string{a.To}})
	case isType(err, ErrTypeNotWaiting):
		r.note(Changed{})
	}
	return err
}

// isType reports whether an error is an application error of a type.
func isType(err error, errType string) bool {
	var application *temporal.ApplicationError
	return errors.As(err, &application) && application.Type() == errType
}
