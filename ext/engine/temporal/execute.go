package temporalengine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
)

// ExecuteRun executes a run in a workflow of the application's: an activity submits the job, and a child workflow
// executes it. The future is a [RunResult], or an error of type [ErrTypeFailed]. What the agent said is in the store:
// an activity reads it with Wait. Job.ID must be set, to the same value at every replay: such as the ID of the workflow
// and a number. Canceling ctx stops the run.
//
// The job is an argument of an activity, and so in the history. One that must not be there is submitted by an activity
// of the application's; then Messages are left out. Session values have to be JSON: numbers become float64.
func ExecuteRun(ctx workflow.Context, job dispatch.Job, o RunOptions) workflow.Future {
	result, settle := workflow.NewFuture(ctx)
	if job.ID == "" {
		settle.SetError(errors.New("temporalengine: ExecuteRun needs Job.ID: the same at every replay"))
		return result
	}
	o = o.withDefaults()
	names := o.names()
	o.TaskQueue = names.queue(job.Queue)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if len(job.Messages) > 0 {
			submitting := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: o.TaskQueue,
				StartToCloseTimeout: time.Minute, RetryPolicy: o.RetryPolicy})
			if err := workflow.ExecuteActivity(submitting, submitActivity, job).Get(ctx, nil); err != nil {
				settle.SetError(err)
				return
			}
		}
		var done RunResult
		err := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
			WorkflowID: names.workflow(job.ID), TaskQueue: o.TaskQueue, WaitForCancellation: true,
			ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
			WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		}), RunWorkflow, RunInput{job.ID, o}).Get(ctx, &done)
		settle.Set(done, err)
	})
	return result
}

// submit is the activity that makes a run in the store, and starts no workflow.
func (e *TypedEngine[M]) submit(ctx context.Context, job dispatch.TypedJob[M]) error {
	if _, err := job.NewRun(); err != nil {
		return temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("run %q: the job is not valid", job.ID), ErrTypeInvalid, nil)
	}
	if _, err := e.d.Submit(ctx, job); err != nil && !errors.Is(err, runs.ErrExists) {
		return e.broken(ctx, job.ID, err)
	}
	return nil
}
