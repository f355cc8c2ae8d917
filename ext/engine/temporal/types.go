package temporalengine

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/weftgo/weft/runs"
)

// Names in Temporal. They are in the histories of workflows, and do not change.
const (
	// RunWorkflow is the type of the workflow [Run], ReconcileWorkflow the type of the one that calls Reconcile.
	RunWorkflow       = "weft.Run"
	ReconcileWorkflow = "weft.Reconcile"
	// ReplyUpdate is the update that replies to a question; its argument is a [Reply].
	ReplyUpdate = "weft.reply"
	// StopSignal stops a run; its argument is a [Stop]. ContinueSignal has a run continue that was stopped.
	StopSignal     = "weft.stop"
	ContinueSignal = "weft.continue"
	// ChangedSignal says that the run was changed in the store; its argument is a [Changed].
	ChangedSignal = "weft.changed"
	// StatusQuery asks for the [Status].
	StatusQuery = "weft.status"

	attemptActivity   = "weft.Attempt"
	replyActivity     = "weft.Reply"
	stopActivity      = "weft.Stop"
	continueActivity  = "weft.Continue"
	submitActivity    = "weft.Submit"
	reconcileActivity = "weft.Reconcile"
)

// Types of the application errors of workflows, activities and updates. Their messages name the run and say nothing of
// what is in it.
const (
	// ErrTypeFailed is the end of a workflow whose run has failed. Why is in the store.
	ErrTypeFailed = "weft.Failed"
	// ErrTypeNotFound is the end of a workflow whose run is not in the store: it has expired, or was removed.
	ErrTypeNotFound = "weft.NotFound"
	// ErrTypeNotWaiting and ErrTypeAnswered are how the store refuses an answer.
	ErrTypeNotWaiting = "weft.NotWaiting"
	ErrTypeReplied    = "weft.Replied"
	// ErrTypeInvalid is a mistake of the caller, such as an answer that is no JSON.
	ErrTypeInvalid = "weft.Invalid"
	// ErrTypeBusy, ErrTypeMoved, ErrTypeWrongWorker and ErrTypeBroken are why an attempt is tried again: another process has
	// the run, its worker ends, the worker does not know the agent, the store could not be reached or another process
	// took the run.
	ErrTypeBusy        = "weft.Busy"
	ErrTypeMoved       = "weft.Moved"
	ErrTypeWrongWorker = "weft.WrongWorker"
	ErrTypeBroken      = "weft.Broken"
)

// RunOptions configures how the workflow of a run executes it. The zero value works.
type RunOptions struct {
	// TaskQueue is the task queue of the workers, and IDPrefix begins the IDs of workflows. They have the defaults of
	// [Config]. Tenant is as in [Config].
	TaskQueue string
	IDPrefix  string
	Tenant    string `json:",omitempty"`
	// Heartbeat, AttemptTimeout, StopGrace, RetryPolicy and SearchAttributes are as in [Config].
	Heartbeat        time.Duration
	AttemptTimeout   time.Duration
	StopGrace        time.Duration
	RetryPolicy      *temporal.RetryPolicy
	SearchAttributes bool
}

// withDefaults fills in what is not set.
func (o RunOptions) withDefaults() RunOptions {
	set := func(d *time.Duration, byDefault time.Duration) {
		if *d == 0 {
			*d = byDefault
		}
	}
	if o.TaskQueue == "" {
		o.TaskQueue = "weft"
	}
	if o.IDPrefix == "" {
		o.IDPrefix = "weft/"
	}
	set(&o.Heartbeat, 30*time.Second)
	set(&o.AttemptTimeout, 24*time.Hour)
	set(&o.StopGrace, 20*time.Second)
	if o.RetryPolicy == nil {
		o.RetryPolicy = &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 5 * time.Minute}
	}
	return o
}

// RunInput is the input of [Run].
type RunInput struct {
	// ID of the run, which is in the store.
	ID      string
	Options RunOptions
}

// RunResult is the result of a workflow whose run is done. What the agent said is in the store.
type RunResult struct {
	ID     string
	Status runs.Status
}

// Status is the answer to [StatusQuery]: what the workflow knows of its run.
type Status struct {
	ID, Agent string
	// Status is running while an activity executes the run, or tries to.
	Status runs.Status
	// Waiting are the questions of a run that waits, or that was stopped while it did. More is how many are left out
	// because they would fill the history: the store has them.
	Waiting []Question
	More    int `json:",omitempty"`
}

// Question is a question of a run. What it shows to people is in the store.
type Question struct {
	ID   string
	Kind runs.Kind
	For  []string `json:",omitempty"`
	// Text is one line. It is left out, and For, if there are so many questions that they would fill the history.
	Text               string `json:",omitempty"`
	Optional, Answered bool   `json:",omitempty"`
	// Child is the run that the question waits for, if it has to be executed, and TaskQueue where.
	Child     string `json:",omitempty"`
	TaskQueue string `json:",omitempty"`
}

// Reply is the argument of [ReplyUpdate].
type Reply struct {
	// To is the ID of the question, and Data the reply in JSON. null says nothing but that the run may continue. One of
	// more than 64 KiB is refused, with an error of type [ErrTypeInvalid]: [TypedEngine.Reply] puts it into the store.
	To   string
	Data json.RawMessage
	// By names the person who replies, in the application's terms.
	By string `json:",omitempty"`
}

// Stop is the argument of [StopSignal].
type Stop struct {
	// Immediate abandons calls that are in flight. Without it the run stops at the next safe point, and at once after the
	// Timeout. The default of that is Config.StopGrace; negative is never.
	Immediate bool          `json:",omitempty"`
	Timeout   time.Duration `json:",omitempty"`
	Reason    string        `json:",omitempty"`
	// By names the person who asks for it.
	By string `json:",omitempty"`
	// Children: the runs that it waits for are stopped, too, and theirs.
	Children bool `json:",omitempty"`
}

// Changed is the argument of [ChangedSignal].
type Changed struct {
	// Answered are the questions that were answered. Without any, the workflow looks at the run.
	Answered []string `json:",omitempty"`
}

// attemptInput is the argument of the activity that executes a run.
type attemptInput struct {
	ID string
	// Detached: the workflow is no child workflow, so that a run that waits for this one has to be signaled
	// when it ends.
	Detached bool
}

// outcome is the outcome of an attempt. Times are relative: clocks of workers and of Temporal need not agree.
type outcome struct {
	Agent, Tenant string      `json:",omitempty"`
	Status        runs.Status // ready, waiting, paused, done or failed
	Waiting       []Question  `json:",omitempty"`
	// More is the number of questions that there is no room for in Waiting: the workflow looks at the run after each answer.
	More int `json:",omitempty"`
	// WakeIn is the time at which the run is to be looked at again by itself, and LookIn when it is if the end of a run
	// that it waits for may be missed. 0 is never.
	WakeIn, LookIn time.Duration `json:",omitempty"`
	// Details is the text for pages.
	Details string `json:",omitempty"`
}

// replyInput, stopInput are arguments of activities.
type replyInput struct {
	ID     string
	Answer Reply
}

type stopInput struct {
	ID   string
	Stop Stop
}
