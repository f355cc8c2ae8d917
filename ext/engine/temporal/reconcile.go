package temporalengine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/weftgo/weft/runs"
)

// overdueAfter is the time for which a run may be due before Reconcile asks why no worker executes it.
const overdueAfter = time.Minute

// ErrTerminated is the reason for which a run failed whose workflow was terminated.
var ErrTerminated = errors.New("its workflow was terminated in Temporal")

// Reconciled reports the changes of [TypedEngine.Reconcile].
type Reconciled struct {
	// Signaled are runs that were due for a minute and that their workflow did not know of, or that had none.
	Signaled int
	// Failed lists the runs whose workflow was terminated.
	Failed int
}

// Reconcile mends what was missed: runs that were submitted, answered or continued by a process that died before it
// could say so to Temporal are executed, and runs whose workflow was terminated have failed, with [ErrTerminated],
// except runs with an ID of more than 800 bytes. It also removes runs and events that are kept no longer, for two
// minutes at most (see dispatch.TypedDispatcher.Sweep): nothing else does. It blocks while it looks through the runs
// that have not ended, and may be called at any time, by any process; see [TypedEngine.ScheduleReconcile].
//
// What concerns one run does not keep it from looking at the others: the error is all of them.
func (e *TypedEngine[M]) Reconcile(ctx context.Context) (Reconciled, error) {
	var done Reconciled
	errs := []error{e.d.Sweep(ctx, e.keepEvents)} // first: a sweep whose process died looks like a run that is overdue
	overdue, err := e.overdue(ctx)
	if err != nil {
		return done, errors.Join(append(errs, err)...)
	}
	for _, run := range overdue {
		signaled, err := e.mend(ctx, run)
		if err != nil {
			errs = append(errs, fmt.Errorf("run %q: %w", run.ID, err))
		}
		if signaled {
			done.Signaled++
		}
	}
	done.Failed, err = e.failTerminated(ctx)
	return done, errors.Join(append(errs, err)...)
}

// overdue are the runs that should be executed, or looked at, and are not.
func (e *TypedEngine[M]) overdue(ctx context.Context) (all []runs.Info, err error) {
	before := time.Now().Add(-overdueAfter)
	q := runs.Query{UpdatedBefore: before,
		Status: []runs.Status{runs.Ready, runs.Running, runs.Waiting}}
	for run, err := range e.d.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		due := run.WakeAt
		if run.Status == runs.Running {
			due = run.LeaseUntil
		}
		if run.Status == runs.Waiting && due.IsZero() || due.After(before) {
			continue
		}
		all = append(all, run)
	}
	return all, nil
}

// mend signals the workflow of a run that is overdue, unless it is busy with it.
func (e *TypedEngine[M]) mend(ctx context.Context, run runs.Info) (signaled bool, err error) {
	d, err := e.client.DescribeWorkflowExecution(ctx, e.WorkflowID(run.ID), "")
	var none *serviceerror.NotFound
	if err != nil && !errors.As(err, &none) {
		return false, err
	}
	if err == nil {
		switch d.WorkflowExecutionInfo.Status {
		case enums.WORKFLOW_EXECUTION_STATUS_TERMINATED: // it fails
			return false, nil
		case enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
			if len(d.PendingActivities) > 0 || d.PendingWorkflowTask != nil || run.Key != "" ||
				run.Status == runs.Waiting && len(d.PendingChildren) > 0 {
				return false, nil
			}
		}
	}
	return true, e.signal(ctx, run, Changed{})
}

// failTerminated fails the runs whose workflow was terminated and that no process holds any more.
func (e *TypedEngine[M]) failTerminated(ctx context.Context) (failed int, err error) {
	var errs []error
	names := e.options.names()
	list := &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Terminated'", RunWorkflow)}
	for {
		page, err := e.client.ListWorkflow(ctx, list)
		if err != nil {
			return failed, errors.Join(append(errs, err)...)
		}
		for _, w := range page.Executions {
			run, ours := names.run(w.GetExecution().GetWorkflowId())
			if !ours {
				continue
			}
			ok, err := e.failRun(ctx, run)
			if err != nil {
				errs = append(errs, fmt.Errorf("run %q: %w", run, err))
			}
			if ok {
				failed++
			}
		}
		if list.NextPageToken = page.NextPageToken; len(list.NextPageToken) == 0 {
			return failed, errors.Join(errs...)
		}
	}
}

// failRun has a run fail if its last workflow was terminated and it has not ended.
func (e *TypedEngine[M]) failRun(ctx context.Context, id string) (failed bool, err error) {
	info, exists, err := e.d.Inspect(ctx, id)
	if err != nil || !exists || info.Status == runs.Done || info.Status == runs.Failed {
		return false, err
	}
	last, err := e.client.DescribeWorkflowExecution(ctx, e.WorkflowID(id), "")
	if err != nil || last.WorkflowExecutionInfo.Status != enums.WORKFLOW_EXECUTION_STATUS_TERMINATED {
		return false, err
	}
	switch err := e.d.Fail(ctx, id, ErrTerminated); {
	case errors.Is(err, runs.ErrBusy): // its worker has not noticed yet
		return false, nil
	case err != nil:
		return false, err
	}
	if info.Parent != "" {
		err = e.changed(ctx, info.Parent, Changed{})
	}
	if info.Key != "" {
		err = errors.Join(err, e.signalNext(ctx, info.Key))
	}
	return true, err
}

// ScheduleReconcile makes the schedule that has a worker call [TypedEngine.Reconcile], by default every 5 minutes. If
// there is one already, it is left as it is.
func (e *TypedEngine[M]) ScheduleReconcile(ctx context.Context, every time.Duration) error {
	if every <= 0 {
		every = 5 * time.Minute
	}
	prefix := e.options.names().prefix()
	id := prefix + "reconcile"
	_, err := e.client.ScheduleClient().Create(ctx, client.ScheduleOptions{ID: id,
		Spec:    client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: every}}},
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		Action: &client.ScheduleWorkflowAction{ID: "reconcile:" + prefix, Workflow: ReconcileWorkflow,
			TaskQueue: e.TaskQueue("")}})
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return nil
	}
	return err
}

// reconcileWorkflow is the workflow of the schedule.
func reconcileWorkflow(ctx workflow.Context) (Reconciled, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Minute,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 3}})
	var done Reconciled
	err := workflow.ExecuteActivity(ctx, reconcileActivity).Get(ctx, &done)
	return done, err
}
