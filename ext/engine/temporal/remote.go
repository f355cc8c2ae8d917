package temporalengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// CallWorkflow is the type of the workflow of a call of a remote tool.
const CallWorkflow = "weft.Call"

// How long a call that was released is not looked at, at least and at most. The server answers no sooner.
const (
	shortestRelease = 2 * time.Second
	longestRelease  = 15 * time.Minute
)

// RemoteOptions configures where and how the calls of a remote tool are executed.
type RemoteOptions struct {
	// Activity is the type of the activity, which workers of the application register, in any language: its argument is a
	// [RemoteCall], and its result a string. The default is the name of the tool.
	Activity string
	// TaskQueue is the task queue of the workers. The default is "weft". Without Standalone, its workers need
	// [CallWorkflow], too, which [TypedEngine.Register] and [RegisterCalls] give them.
	TaskQueue string
	// IDPrefix begins the IDs of calls in Temporal; the rest is the tool and the key of the call. Stores and tenants that
	// have runs of the same ID need one each, and a run that has the ID of one that was removed gets the results of its
	// calls, as long as Temporal keeps them. The default is "weft-call/".
	IDPrefix string
	// Timeout limits the time that a try takes. The default is 10 minutes.
	Timeout time.Duration
	// Heartbeat is after how long without a heartbeat a try has failed. The default is never.
	Heartbeat time.Duration
	// RetryPolicy is Temporal's by default: without end. A result that is too large for Temporal (2 MB, if its operators did
	// not change that) fails the call at once where workers use the Go SDK: have the activity put what is large somewhere
	// else, and return where. Workers in other languages need a NonRetryableErrorTypes of their own for it.
	RetryPolicy *temporal.RetryPolicy
	// ReleaseAfter is the time for which the run waits for a call with its worker. Then it gives its worker back, and looks
	// now and then. The default is a minute, at least 2 seconds; negative is never.
	ReleaseAfter time.Duration
	// Standalone makes a call an activity without a workflow. The server must have those, 1.31 or later: they are in public
	// preview, and so not the default.
	Standalone bool
}

// RemoteCall is the argument of the activity of a remote tool. It is in the history of the call.
type RemoteCall struct {
	Arguments json.RawMessage
	// Key is the idempotency key of the call: the same for every try.
	Key string
}

// RemoteTool makes a tool whose calls Temporal records: each call is a workflow of one activity, or an activity, whose
// ID is the idempotency key of the call. A call that is repeated, by any process that took the run over, is not made
// again but waited for. So the outcome of a call whose worker died is never unknown. The tool can be called in runs that
// are saved at every step only.
func RemoteTool(c client.Client, info *schema.ToolInfo, o RemoteOptions) (tool.InvokableTool, error) {
	switch {
	case c == nil:
		return nil, errors.New("temporalengine: the client is nil: dial a Temporal server")
	case info == nil || info.Name == "":
		return nil, errors.New("temporalengine: a remote tool needs a name: set ToolInfo.Name")
	case o.ReleaseAfter > 0 && o.ReleaseAfter < shortestRelease:
		return nil, fmt.Errorf("temporalengine: remote tool %q: ReleaseAfter is %s; %s is the least",
			info.Name, o.ReleaseAfter, shortestRelease)
	}
	if o.Activity == "" {
		o.Activity = info.Name
	}
	if o.TaskQueue == "" {
		o.TaskQueue = "weft"
	}
	if o.IDPrefix == "" {
		o.IDPrefix = "weft-call/"
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Minute
	}
	if o.ReleaseAfter == 0 {
		o.ReleaseAfter = time.Minute
	}
	o.RetryPolicy = withoutLargeResults(o.RetryPolicy)
	return &remoteTool{c, info, o}, nil
}

// errTypeTooLarge is the type of the error by which the SDK's workers report a result that is too large.
const errTypeTooLarge = "payloadSizeError"

// withoutLargeResults is a policy that does not try a call again whose result is too large: it would be made again and
// again, and be as large.
func withoutLargeResults(policy *temporal.RetryPolicy) *temporal.RetryPolicy {
	var p temporal.RetryPolicy
	if policy != nil {
		p = *policy
	}
	p.NonRetryableErrorTypes = append(slices.Clone(p.NonRetryableErrorTypes), errTypeTooLarge)
	return &p
}

// RegisterCalls gives a worker the workflow of calls of remote tools. A worker of an engine has it.
func RegisterCalls(w interface {
	RegisterWorkflowWithOptions(any, workflow.RegisterOptions)
}) {
	w.RegisterWorkflowWithOptions(callWorkflow,
		workflow.RegisterOptions{Name: CallWorkflow, VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
}

// callInput is the input of the workflow of a call.
type callInput struct {
	Activity           string
	Call               RemoteCall
	Timeout, Heartbeat time.Duration
	RetryPolicy        *temporal.RetryPolicy `json:",omitempty"`
}

// callWorkflow is the workflow of a call: its activity.
func callWorkflow(ctx workflow.Context, in callInput) (result string, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: in.Timeout,
		HeartbeatTimeout: in.Heartbeat, RetryPolicy: in.RetryPolicy})
	err = workflow.ExecuteActivity(ctx, in.Activity, in.Call).Get(ctx, &result)
	return result, err
}

type remoteTool struct {
	client client.Client
	info   *schema.ToolInfo
	o      RemoteOptions
}

func (r *remoteTool) Info(context.Context) (*schema.ToolInfo, error) { return r.info, nil }

// Idempotent reports true: a call that is repeated is waited for.
func (r *remoteTool) Idempotent() bool { return true }

func (r *remoteTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	key := adk.GetIdempotencyKey(ctx)
	if key == "" {
		return "", fmt.Errorf("remote tool %q can be called in a run that is saved at every step only", r.info.Name)
	}
	if !json.Valid([]byte(arguments)) {
		return "", fmt.Errorf("remote tool %q: the arguments are no JSON", r.info.Name)
	}
	call, err := r.start(ctx, RemoteCall{json.RawMessage(arguments), key})
	if err != nil {
		return "", fmt.Errorf("remote tool %q cannot be called: %w", r.info.Name, err)
	}
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if r.o.ReleaseAfter > 0 {
		waiting, cancel = context.WithTimeout(ctx, r.o.ReleaseAfter)
	}
	defer cancel()
	var result string
	err = call.Get(waiting, &result)
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() == nil && (waiting.Err() != nil || isOutOfReach(err)):
		return "", r.release(ctx)
	}
	return "", fmt.Errorf("remote tool %q: %w", r.info.Name, err)
}

// isOutOfReach reports whether an error says nothing of the call: the connection was cut, or the time is over.
func isOutOfReach(err error) bool {
	var canceled *serviceerror.Canceled
	var late *serviceerror.DeadlineExceeded
	var unavailable *serviceerror.Unavailable
	return errors.As(err, &canceled) || errors.As(err, &late) || errors.As(err, &unavailable)
}

// release gives the worker of the run back for a while, the longer the longer the call takes.
func (r *remoteTool) release(ctx context.Context) error {
	_, _, since := tool.GetInterruptState[*time.Time](ctx)
	now := time.Now()
	if since == nil {
		since = &now
	}
	pause := min(max(r.o.ReleaseAfter, now.Sub(*since)/4, shortestRelease), longestRelease)
	return tool.StatefulInterrupt(ctx, &dispatch.Sleep{Until: now.Add(pause)}, since)
}

// remoteHandle is a call that was begun.
type remoteHandle interface {
	Get(ctx context.Context, result any) error
}

// start begins a call, or finds the one that was begun before.
func (r *remoteTool) start(ctx context.Context, call RemoteCall) (remoteHandle, error) {
	id := r.o.IDPrefix + r.info.Name + "/" + call.Key
	if !r.o.Standalone {
		w, err := r.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: r.o.TaskQueue,
			WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		}, CallWorkflow, callInput{r.o.Activity, call, r.o.Timeout, r.o.Heartbeat, r.o.RetryPolicy})
		return w, err
	}
	a, err := r.client.ExecuteActivity(ctx, client.StartActivityOptions{ID: id, TaskQueue: r.o.TaskQueue,
		StartToCloseTimeout: r.o.Timeout, HeartbeatTimeout: r.o.Heartbeat, RetryPolicy: r.o.RetryPolicy,
		ActivityIDConflictPolicy: enums.ACTIVITY_ID_CONFLICT_POLICY_USE_EXISTING,
		ActivityIDReusePolicy:    enums.ACTIVITY_ID_REUSE_POLICY_REJECT_DUPLICATE}, r.o.Activity, call)
	var before *serviceerror.ActivityExecutionAlreadyStarted
	if errors.As(err, &before) {
		return r.client.GetActivityHandle(client.GetActivityHandleOptions{ActivityID: id, RunID: before.RunId}), nil
	}
	return a, err
}
