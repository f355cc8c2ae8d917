package temporalengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Config configures an engine. The zero value works. All processes of an application should have the same.
type Config struct {
	// TaskQueue is the task queue of the workers of runs without a dispatch.Job.Queue; others are at TaskQueue, a slash and
	// the queue (see [TypedEngine.TaskQueue]). The default is "weft".
	TaskQueue string
	// IDPrefix begins the IDs of workflows; the rest is the tenant and the ID of the run. The default is "weft/". Stores
	// that know nothing of each other need an IDPrefix and a TaskQueue each.
	IDPrefix string
	// Tenant is the tenant that the store of the dispatcher belongs to (checkpoint.Scope, or the Tenant of a store). Its
	// workflows, task queues and schedule have its name in theirs, so that no other tenant's worker executes its runs. A
	// run of another tenant than this one is not started: Submit says so. The default is none.
	Tenant string
	// Heartbeat is after how long without a sign of life a worker counts as dead. The default is 30 seconds, at least one.
	// The leases of runs last for two thirds of it, at least a second, whatever dispatch.Config.TTL says: so a run can be
	// taken over when Temporal notices.
	Heartbeat time.Duration
	// AttemptTimeout is the time for which a run may compute without a pause. The default is 24 hours.
	AttemptTimeout time.Duration
	// RetryPolicy says how often an attempt is tried again whose worker died or could not reach the store. The
	// default is without end, after a second, twice as long each time, up to 5 minutes. Failures of models and tools are
	// not its concern: see dispatch.Config.Retry.
	RetryPolicy *temporal.RetryPolicy
	// SearchAttributes sets WeftStatus, WeftAgent and WeftTenant (of type Keyword) and WeftWaitingFor (KeywordList) of
	// workflows. The namespace must have them. They are two more events an attempt.
	SearchAttributes bool
	// StopGrace limits the time that a run takes to come to a safe point when its worker ends or its workflow
	// is canceled. Then calls in flight are abandoned. The default is 20 seconds. worker.Options.WorkerStopTimeout should
	// be longer.
	StopGrace time.Duration
	// KeepEvents is the time for which the events of a run stay after its end: see dispatch.TypedDispatcher.Sweep, which
	// [TypedEngine.Reconcile] calls.
	KeepEvents time.Duration
	// Details returns the text that pages of Temporal show of a run. It should not say what is in the run. The default
	// names the agent and the kinds of the questions.
	Details func(runs.Info) string
}

// options are the options of workflows that are started by the engine.
func (c *Config) options() RunOptions {
	return RunOptions{TaskQueue: c.TaskQueue, IDPrefix: c.IDPrefix, Tenant: c.Tenant, Heartbeat: c.Heartbeat,
		AttemptTimeout: c.AttemptTimeout, StopGrace: c.StopGrace, RetryPolicy: c.RetryPolicy,
		SearchAttributes: c.SearchAttributes}.withDefaults()
}

// TypedEngine has Temporal execute the runs of a dispatcher. It is a dispatch.Client, safe for concurrent use, and has
// no goroutines of its own.
type TypedEngine[M adk.MessageType] struct {
	client  client.Client
	d       *dispatch.TypedDispatcher[M]
	options RunOptions
	details func(runs.Info) string
	// keepEvents is Config.KeepEvents.
	keepEvents time.Duration
}

// Engine is an engine of agents on ordinary messages.
//
// Its methods, which are documented at [TypedEngine]:
//
//   - Submit: makes a run, and starts its workflow
//   - Answer, AnswerWebhook: answer questions
//   - Stop, Continue, Remove: stop a run, have it continue, or remove it
//   - Inspect, List, Wait: ask about runs
//   - Events: yields what happens in a run
//   - Register, Plugin, TaskQueue: what workers need
//   - Reconcile, ScheduleReconcile: mend what was missed
//   - WorkflowID: names the workflow of a run
type Engine = TypedEngine[*schema.Message]

// New makes an engine. The dispatcher of a process that executes runs needs agents, the dispatcher of a process that
// only submits and answers does not.
func New(c client.Client, d *dispatch.Dispatcher, conf Config) (*Engine, error) {
	return NewTyped(c, d, conf)
}

// NewTyped is [New] for any kind of message.
func NewTyped[M adk.MessageType](
	c client.Client, d *dispatch.TypedDispatcher[M], conf Config,
) (*TypedEngine[M], error) {
	switch {
	case c == nil:
		return nil, errors.New("temporalengine: the client is nil: dial a Temporal server")
	case d == nil:
		return nil, errors.New("temporalengine: the dispatcher is nil: make one with dispatch.New")
	case conf.Heartbeat != 0 && conf.Heartbeat < time.Second:
		return nil, fmt.Errorf("temporalengine: Config.Heartbeat is %s; a second is the least", conf.Heartbeat)
	case conf.AttemptTimeout < 0:
		return nil, fmt.Errorf("temporalengine: Config.AttemptTimeout is %s; leave it 0 for a day", conf.AttemptTimeout)
	case conf.RetryPolicy != nil && conf.RetryPolicy.MaximumAttempts == 1:
		return nil, errors.New("temporalengine: Config.RetryPolicy tries once only: no run would survive its worker")
	}
	if conf.Details == nil {
		conf.Details = describe
	}
	return &TypedEngine[M]{c, d, conf.options(), conf.Details, conf.KeepEvents}, nil
}

// describe is the default of Config.Details.
func describe(info runs.Info) string {
	text := fmt.Sprintf("agent %s is %s", info.Agent, info.Status)
	for _, p := range info.Waiting {
		if !p.Answered {
			text += fmt.Sprintf("\n- %s %s", p.Kind, p.ID)
		}
	}
	return text
}

// TaskQueue is the task queue of the workers of a dispatch.Job.Queue.
func (e *TypedEngine[M]) TaskQueue(queue string) string {
	return e.options.names().queue(queue)
}

// WorkflowID names the workflow of a run.
func (e *TypedEngine[M]) WorkflowID(run string) string { return e.options.names().workflow(run) }

// Register gives a worker what executes runs. The worker's WorkerStopTimeout should be longer than Config.StopGrace:
// then a worker that ends gives its runs back, and no call is repeated.
func (e *TypedEngine[M]) Register(w worker.Registry) {
	register(e, w)
}

// registry has the methods that workers and plugins have in common.
type registry interface {
	RegisterWorkflowWithOptions(any, workflow.RegisterOptions)
	RegisterActivityWithOptions(any, activity.RegisterOptions)
}

func register[M adk.MessageType](e *TypedEngine[M], w registry) {
	w.RegisterWorkflowWithOptions(Run,
		workflow.RegisterOptions{Name: RunWorkflow, VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
	w.RegisterWorkflowWithOptions(reconcileWorkflow,
		workflow.RegisterOptions{Name: ReconcileWorkflow, VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
	RegisterCalls(w)
	for name, do := range map[string]any{
		attemptActivity: e.attempt, replyActivity: e.answerQuestion, stopActivity: e.stop, continueActivity: e.resume,
		submitActivity: e.submit, reconcileActivity: e.Reconcile,
	} {
		w.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
	}
}

// Plugin is [TypedEngine.Register] for worker.Options.Plugins. It sets the WorkerStopTimeout of a worker that has none.
func (e *TypedEngine[M]) Plugin() (worker.Plugin, error) {
	return temporal.NewSimplePlugin(temporal.SimplePluginOptions{Name: "weft",
		ConfigureWorker: func(_ context.Context, o worker.PluginConfigureWorkerOptions) error {
			if o.WorkerOptions.WorkerStopTimeout == 0 {
				o.WorkerOptions.WorkerStopTimeout = e.options.StopGrace + 5*time.Second
			}
			return nil
		},
		RunContextBefore: func(_ context.Context, o temporal.SimplePluginRunContextBeforeOptions) error {
			register(e, o.Registry)
			return nil
		}})
}

// Submit makes a run, and starts its workflow. If there is a run with the ID, it returns that one, with an error that
// matches runs.ErrExists. If the run could be made and its workflow not be started, the run begins with the
// next [TypedEngine.Reconcile], or when the same job is submitted again.
func (e *TypedEngine[M]) Submit(ctx context.Context, job dispatch.TypedJob[M]) (runs.Info, error) {
	info, err := e.d.Submit(ctx, job)
	if info.Status != runs.Ready && info.Status != runs.Running {
		return info, err
	}
	if failed := e.start(ctx, info); failed != nil {
		failed = fmt.Errorf("run %q is submitted, and begins with the next Reconcile: %w", job.ID, failed)
		return info, errors.Join(err, failed)
	}
	return info, err
}

// start starts the workflow of a run, if there is none.
func (e *TypedEngine[M]) start(ctx context.Context, info runs.Info) error {
	if err := e.checkTenant(info); err != nil {
		return err
	}
	o := e.startOptions(info)
	_, err := e.client.ExecuteWorkflow(ctx, o, RunWorkflow, RunInput{info.ID, e.optionsFor(info)})
	return err
}

func (e *TypedEngine[M]) optionsFor(info runs.Info) RunOptions {
	o := e.options
	o.TaskQueue = e.TaskQueue(info.Queue)
	return o
}

// checkTenant refuses a run of another tenant, whose workflow would have the name of one of this tenant's.
func (e *TypedEngine[M]) checkTenant(info runs.Info) error {
	if info.Tenant == e.options.Tenant {
		return nil
	}
	return fmt.Errorf("temporalengine: run %q is of tenant %q, and Config.Tenant is %q: set it to that of the store",
		info.ID, info.Tenant, e.options.Tenant)
}

// startOptions returns the options to start a workflow with. The store knows whether there is a run with the ID. The ID
// of a run that was removed may be used for another run, and so may the ID of its workflow.
func (e *TypedEngine[M]) startOptions(info runs.Info) client.StartWorkflowOptions {
	o := client.StartWorkflowOptions{ID: e.WorkflowID(info.ID), TaskQueue: e.TaskQueue(info.Queue),
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE}
	if e.options.SearchAttributes {
		o.TypedSearchAttributes = temporal.NewSearchAttributes(statusAttribute.ValueSet(string(info.Status)),
			agentAttribute.ValueSet(info.Agent), tenantAttribute.ValueSet(info.Tenant))
	}
	return o
}

// signal has the workflow of a run look at a change. If there is none, one is started.
func (e *TypedEngine[M]) signal(ctx context.Context, info runs.Info, what Changed) error {
	if err := e.checkTenant(info); err != nil {
		return err
	}
	o := e.startOptions(info)
	_, err := e.client.SignalWithStartWorkflow(ctx, o.ID, ChangedSignal, what, o, RunWorkflow,
		RunInput{info.ID, e.optionsFor(info)})
	return err
}

// signalOpen has the workflow of a run look at it, if there is one.
func (e *TypedEngine[M]) signalOpen(ctx context.Context, run string) error {
	err := e.client.SignalWorkflow(ctx, e.WorkflowID(run), "", ChangedSignal, Changed{})
	var none *serviceerror.NotFound
	if errors.As(err, &none) {
		return nil
	}
	return err
}

// Reply replies to questions of a run: all of them or, with an error of the store, none. If the replies are taken and Temporal cannot be reached, the run continues with the next [TypedEngine.Reconcile], or when
// they are given again.
func (e *TypedEngine[M]) Reply(ctx context.Context, id string, answers ...runs.Reply) error {
	err := e.d.Reply(ctx, id, answers...)
	if err != nil && !errors.Is(err, runs.ErrReplied) {
		return err
	}
	what := Changed{}
	if err == nil {
		for _, a := range answers {
			what.Answered = append(what.Answered, a.To)
		}
	}
	if failed := e.changed(ctx, id, what); failed != nil {
		return errors.Join(err, fmt.Errorf("run %q is answered, and continues with the next Reconcile: %w", id, failed))
	}
	return err
}

// changed has the workflow of a run look at a change, and starts it if it is lost.
func (e *TypedEngine[M]) changed(ctx context.Context, id string, what Changed) error {
	info, exists, err := e.d.Inspect(ctx, id)
	if err != nil || !exists || info.Status == runs.Done || info.Status == runs.Failed {
		return err
	}
	return e.signal(ctx, info, what)
}

// AnswerWebhook is dispatch.TypedDispatcher.ReplyWebhook for runs of the engine.
func (e *TypedEngine[M]) AnswerWebhook(ctx context.Context, token string, answer json.RawMessage) error {
	id, encoded, err := e.d.WebhookReply(ctx, token, answer)
	if err != nil {
		return err
	}
	return e.Reply(ctx, id, encoded)
}

// Stop stops a run, wherever it is executed, and with how.Children those that it waits for. It returns when the request
// is in the store; the run is paused a little later, and continues with [TypedEngine.Continue]. Its workflow stays.
func (e *TypedEngine[M]) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	if err := e.stopRun(ctx, id, how); err != nil {
		return err
	}
	return e.signalOpen(ctx, id)
}

// stopRun is Stop without a signal to the workflow of the run itself.
func (e *TypedEngine[M]) stopRun(ctx context.Context, id string, how runs.StopRequest) error {
	if err := e.d.Stop(ctx, id, how); err != nil || !how.Children {
		return err
	}
	return e.notifyBelow(ctx, id)
}

// Continue has a run continue that was stopped or whose workflow was canceled, with its children, if they were.
func (e *TypedEngine[M]) Continue(ctx context.Context, id string) error {
	if err := e.continueRun(ctx, id); err != nil {
		return err
	}
	return e.changed(ctx, id, Changed{})
}

// continueRun is Continue without a signal to the workflow of the run itself. Children that have no workflow get one from
// their parent's workflow.
func (e *TypedEngine[M]) continueRun(ctx context.Context, id string) error {
	if err := e.d.Continue(ctx, id); err != nil {
		return err
	}
	return e.notifyBelow(ctx, id)
}

// Remove removes a run and its children. Their workflows fail. Without force it fails with runs.ErrBusy if one
// of them is executed.
func (e *TypedEngine[M]) Remove(ctx context.Context, id string, force bool) error {
	all := []string{id}
	for run, err := range e.d.Descendants(ctx, id) {
		if err != nil {
			return err
		}
		all = append(all, run.ID)
	}
	if err := e.d.Remove(ctx, id, force); err != nil {
		return err
	}
	for _, run := range all {
		if err := e.signalOpen(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

// notifyBelow signals the workflows of all runs below a run, those that wait for others first.
func (e *TypedEngine[M]) notifyBelow(ctx context.Context, id string) error {
	for run, err := range e.d.Descendants(ctx, id) {
		if err == nil {
			err = e.signalOpen(ctx, run.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Inspect returns what the store knows of a run, and false if there is none.
func (e *TypedEngine[M]) Inspect(ctx context.Context, id string) (runs.Info, bool, error) {
	return e.d.Inspect(ctx, id)
}

// List yields runs, the one updated last first.
func (e *TypedEngine[M]) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	return e.d.List(ctx, q)
}

// Wait waits until a run is done, has failed, waits or is paused, and returns its outcome. It returns the error of ctx
// when that ends, and one that matches runs.ErrNotFound if there is no such run.
func (e *TypedEngine[M]) Wait(ctx context.Context, id string) (dispatch.TypedResult[M], error) {
	return e.d.Wait(ctx, id)
}

// Events yields what was recorded of a run behind a cursor, then what comes: see dispatch.TypedDispatcher.Events. It goes
// from the workers to the store of events, and not through Temporal.
func (e *TypedEngine[M]) Events(ctx context.Context, id string, after runs.Cursor) iter.Seq2[runlog.Event, error] {
	return e.d.Events(ctx, id, after)
}
