package dispatch

import (
	"errors"
	"fmt"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// OnBusy says what happens to the runs of a [TypedJob.Key] when another one is submitted.
type OnBusy int

const (
	// Enqueue has the new run wait until those before it have ended.
	Enqueue OnBusy = iota
	// Reject refuses the new run with an error that matches runs.ErrBusy.
	Reject
	// Interrupt stops the runs before it where nothing is lost. They are paused, with the ID of the new run as the reason.
	Interrupt
)

// TypedJob is a run to submit.
type TypedJob[M adk.MessageType] struct {
	// ID is the application's, and names the run from now on; the same job submitted twice is one run. Required, but for
	// jobs of tools, whose ID is made of the ID of the run around them.
	ID string
	// Agent is the name under which workers know the agent. Required.
	Agent string
	// Queue names the queue in which workers look for the run. The default is "".
	Queue string
	// Messages is the input of the agent. Required.
	Messages []M
	// SessionValues sets the session values at the beginning of the run. Their types must be registered
	// (schema.RegisterName).
	SessionValues map[string]any
	// Streaming has the agent stream its answers.
	Streaming bool
	// Key: of the runs with one key at most one is executed, in the order in which they were submitted; such as the ID of
	// the conversation. OnBusy says what happens to the others.
	Key    string
	OnBusy OnBusy
	// Tags are for lists: at most 16, keys and values at most 128 bytes.
	Tags map[string]string
	// Priority: of the runs that are due, those with a higher one are taken first. The default is 0.
	Priority int
	// NotBefore is the time at which the run becomes due. The default is now.
	NotBefore time.Time
	// Deadline is the time at which the run is stopped and fails, wherever it is. The zero time is never.
	Deadline time.Time
	// Trace is passed to Config.Context, to join the spans of the run to the spans of its submitter.
	Trace string
}

// Job is a run of an agent on ordinary messages.
//
// Its fields, which are documented at [TypedJob]:
//
//   - ID, Agent: required
//   - Queue: where workers look for it
//   - Messages: what the agent is asked; required
//   - SessionValues: those that the run begins with
//   - Streaming: the agent streams its answers
//   - Key, OnBusy: one run at a time
//   - Tags: for lists
//   - Priority, NotBefore, Deadline: when it is executed
//   - Trace: joins its spans to the caller's
//   - NewRun: makes the run of the job for a store
type Job = TypedJob[*schema.Message]

// NewRun makes the run of the job for a store. It is for applications that submit runs in a transaction of their own:
// the SQL stores have a method SubmitTx.
func (j *TypedJob[M]) NewRun() (run runs.Spec, err error) {
	switch {
	case j.ID == sweeper || j.Queue == core.OwnQueue:
		return run, fmt.Errorf("runs and queues named %q are Weft's own", sweeper)
	case j.Agent == "":
		return run, errors.New("the job has no agent: set Job.Agent to a name that workers know")
	case len(j.Messages) == 0:
		return run, fmt.Errorf("the job for agent %q has no messages", j.Agent)
	}
	input := &adk.TypedAgentInput[M]{Messages: j.Messages, EnableStreaming: j.Streaming}
	run = runs.Spec{Agent: j.Agent, Queue: j.Queue, Key: j.Key, Alone: j.Key != "" && j.OnBusy == Reject,
		Tags: j.Tags, Priority: j.Priority, NotBefore: j.NotBefore, Deadline: j.Deadline, Trace: j.Trace,
		Build: core.BuildID()}
	run.Records, err = adk.RunRecords(input, j.SessionValues)
	return run, err
}
