package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Bounds of runs that wait for others.
const (
	maxDepth    = 8
	maxChildren = 1000
	// lookAtChildren is the time after which a run looks whether a run that it waits for has ended without an answer to
	// it: one that had ended before it was waited for. It looks less and less often.
	lookAtChildren = time.Minute
	// lookAgainAtChildren is the time after which it looks if it has waited for the same run before it was resumed for
	// something else: that may have ended meanwhile.
	lookAgainAtChildren = time.Second
)

// Sleep is the Info of an interrupt that the clock answers: the run gives its worker back until then.
type Sleep struct{ Until time.Time }

// Asks lists it as a timer.
func (s *Sleep) Asks() runs.Question {
	return runs.Question{Kind: runs.KindTimer, Text: "sleeps until " + s.Until.UTC().Format(time.RFC3339), Expires: s.Until}
}

// SleepFor has the tool call of ctx wait without a worker, for days if need be. Called by a tool, whose error its
// result must be, it interrupts the run; when the time is over the tool is called again, and SleepFor returns nil. A
// tool can sleep once a call.
func SleepFor(ctx context.Context, d time.Duration) error {
	asked, _, until := tool.GetInterruptState[*time.Time](ctx)
	run, _ := ctx.Value(stretchKey{}).(stretchContext)
	now := run.clock.Now()
	if !asked || until == nil {
		end := now.Add(d)
		until = &end
	}
	if asked && !now.Before(*until) {
		return nil
	}
	return tool.StatefulInterrupt(ctx, &Sleep{*until}, until)
}

// TypedChildRun is the Info of an interrupt that a run of its own answers: the job is submitted in the step in which
// the run begins to wait, and its [ChildResult] is the answer, in the step in which it ends. Without a Job.ID it has
// one made of the run's and the interrupt's.
type TypedChildRun[M adk.MessageType] struct{ Job TypedJob[M] }

// ChildRun is [TypedChildRun] for ordinary messages.
//
// Its field and methods:
//
//   - Job: is submitted
//   - Asks, MarshalJSON: how it is listed
type ChildRun = TypedChildRun[*schema.Message]

// Asks lists it as a run.
func (c *TypedChildRun[M]) Asks() runs.Question {
	return runs.Question{Kind: runs.KindRun, Text: "waits for a run of agent " + c.Job.Agent}
}

// MarshalJSON leaves the messages out.
func (c *TypedChildRun[M]) MarshalJSON() ([]byte, error) {
	return json.Marshal(childInfo{c.Job.ID, c.Job.Agent})
}

// childInfo holds what a list shows of a run that is waited for.
type childInfo struct {
	Run   string `json:"run"`
	Agent string `json:"agent"`
}

// ChildResult is the answer to a [TypedChildRun].
type ChildResult struct {
	// Message is the last message of the run: a *schema.Message or *schema.AgenticMessage, nil if there was none.
	Message any
	// Err is the text of the error of a run that failed, "" for others.
	Err string
}

func init() {
	schema.RegisterName[*Sleep]("_weft_dispatch_sleep")
	schema.RegisterName[*time.Time]("_weft_dispatch_time")
	schema.RegisterName[*ChildResult]("_weft_dispatch_child_outcome")
	schema.RegisterName[*Webhook]("_weft_dispatch_webhook")
}

// AsRun makes a tool of an agent that workers know by its name. Each call is a run of its own, on any worker, with its
// own lease and journal, and the calling run waits for it without a worker. The model gives it a request; the result is
// the text of the agent's last message. The ID of the run is the idempotency key of the call.
func AsRun(agent, description string) tool.InvokableTool {
	return &agentRun{agent: agent, description: description}
}

type agentRun struct{ agent, description string }

func (a *agentRun) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: a.agent, Desc: a.description, ParamsOneOf: schema.NewParamsOneOfByParams(
		map[string]*schema.ParameterInfo{"request": {Type: schema.String, Desc: "what the agent is to do", Required: true}})}, nil
}

// Idempotent reports true: a run that is submitted twice is one.
func (a *agentRun) Idempotent() bool { return true }

func (a *agentRun) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	if _, answered, outcome := tool.GetResumeContext[*ChildResult](ctx); answered {
		if outcome.Err != "" {
			return "", fmt.Errorf("agent %q failed: %s", a.agent, outcome.Err)
		}
		return textOf(outcome.Message), nil
	}
	var in struct {
		Request string `json:"request"`
	}
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return "", fmt.Errorf("the arguments are no JSON object with a request: %w", err)
	}
	key := adk.GetIdempotencyKey(ctx)
	if key == "" {
		return "", fmt.Errorf("agent %q can be called in a run that is saved at every step only: execute it by a dispatcher", a.agent)
	}
	return "", tool.StatefulInterrupt(ctx, &ChildRun{Job{ID: key, Agent: a.agent,
		Messages: []*schema.Message{schema.UserMessage(in.Request)}}}, key)
}

// textOf is the text of the last message of a run.
func textOf(message any) string {
	switch m := message.(type) {
	case *schema.Message:
		if m != nil {
			return m.Content
		}
	case *schema.AgenticMessage:
		var text strings.Builder
		if m != nil {
			for _, b := range m.ContentBlocks {
				if b != nil && b.AssistantGenText != nil {
					text.WriteString(b.AssistantGenText.Text)
				}
			}
		}
		return text.String()
	}
	return ""
}

// jobIn is the job of the run that the Info of an interrupt asks for, and false if it asks for none. A text for an agent
// on ordinary messages, as AsRun has it, is one for any agent.
func jobIn[M adk.MessageType](info any) (job TypedJob[M], asks bool, err error) {
	switch child := info.(type) {
	case *TypedChildRun[M]:
		return child.Job, true, nil
	case *TypedChildRun[*schema.Message]:
		messages := make([]M, len(child.Job.Messages))
		for i, m := range child.Job.Messages {
			if m == nil || m.Role != schema.User || len(m.UserInputMultiContent) > 0 {
				return job, true, fmt.Errorf("a run of agent %q cannot be waited for: its messages are of another kind than "+
					"those of the run that waits; make a TypedChildRun[%T]", child.Job.Agent, *new(M))
			}
			messages[i] = any(schema.UserAgenticMessage(m.Content)).(M)
		}
		j := child.Job
		return TypedJob[M]{ID: j.ID, Agent: j.Agent, Queue: j.Queue, Messages: messages, SessionValues: j.SessionValues,
			Streaming: j.Streaming, Key: j.Key, OnBusy: j.OnBusy, Tags: j.Tags, Priority: j.Priority, NotBefore: j.NotBefore,
			Deadline: j.Deadline, Trace: j.Trace}, true, nil
	case *TypedChildRun[*schema.AgenticMessage]:
		return job, true, fmt.Errorf("a run of agent %q cannot be waited for: its messages are of another kind than those of "+
			"the run that waits; make a ChildRun", child.Job.Agent)
	}
	return job, false, nil
}

// childOf makes the run that a run waits for at a point.
func (d *TypedDispatcher[M]) childOf(
	ctx context.Context, parent runs.Info, point string, child TypedJob[M],
) (made runs.Child, err error) {
	if child.ID == "" {
		child.ID = parent.ID + "/" + point
	}
	made.ID = child.ID
	if made.Run, err = child.NewRun(); err != nil {
		return made, fmt.Errorf("run %q cannot wait for run %q: %w", parent.ID, made.ID, err)
	}
	made.Run.Parent, made.Run.ParentPoint = parent.ID, point
	made.Run.Alone = false // it waits for its turn: who waits for it cannot be refused any more
	if made.Run.Queue == "" {
		made.Run.Queue = parent.Queue
	}
	if made.Run.Trace == "" {
		made.Run.Trace = parent.Trace
	}
	depth := 1
	for above := parent; above.Parent != "" && depth <= maxDepth; depth++ {
		var exists bool
		if above, exists, err = d.store.Inspect(ctx, above.Parent); err != nil || !exists {
			break
		}
	}
	if err == nil && depth > maxDepth {
		err = fmt.Errorf("run %q cannot wait for a run of agent %q: runs wait for each other %d deep, and %d is the most",
			parent.ID, child.Agent, depth, maxDepth)
	}
	return made, err
}

// checkChildren refuses more children than a run may have.
func (d *TypedDispatcher[M]) checkChildren(ctx context.Context, id string, more int) error {
	counts, err := d.store.Count(ctx, runs.Query{Parent: id})
	n := int64(more)
	for _, c := range counts {
		n += c
	}
	if err == nil && n > maxChildren {
		err = fmt.Errorf("run %q has %d children; %d are the most", id, n, maxChildren)
	}
	return err
}

// dueTargets returns the questions of a run that need no answer of a person: timers that are over, questions that were
// not answered in time, and runs that ended without giving an answer, because they had ended before.
func (d *TypedDispatcher[M]) dueTargets(
	ctx context.Context, info runs.Info, now time.Time,
) (map[string]any, error) {
	targets := map[string]any{}
	for _, p := range info.Waiting {
		switch over := !p.Expires.IsZero() && !now.Before(p.Expires); {
		case p.Answered:
		case p.Kind == runs.KindRun:
			outcome, err := d.endedChild(ctx, p)
			if err != nil {
				return nil, err
			}
			if outcome != nil {
				targets[p.ID] = outcome
			}
		case over && p.Kind == runs.KindTimer:
			targets[p.ID] = nil
		case over:
			targets[p.ID] = &runs.Expired{Expired: p.Expires}
		}
	}
	return targets, nil
}

// waitedFor reports whether the run waited for another one when the stretch began.
func (h *attempt[M]) waitedFor(id string) bool {
	return slices.ContainsFunc(h.info.Waiting, func(p runs.Question) bool {
		var child childInfo
		return p.Kind == runs.KindRun && json.Unmarshal(p.Info, &child) == nil && child.Run == id
	})
}

// endedChild returns the outcome of a run that is waited for, nil while it has not ended.
func (d *TypedDispatcher[M]) endedChild(ctx context.Context, p runs.Question) (*ChildResult, error) {
	var child childInfo
	if json.Unmarshal(p.Info, &child) != nil || child.Run == "" {
		return nil, nil
	}
	info, exists, err := d.store.Inspect(ctx, child.Run)
	switch {
	case err != nil:
		return nil, err
	case !exists:
		return &ChildResult{Err: "it was removed before it ended"}, nil
	case info.Status != runs.Done && info.Status != runs.Failed:
		return nil, nil
	}
	o, err := d.outcomeOf(ctx, info)
	if err != nil {
		return nil, err
	}
	answer := &ChildResult{Message: o.Message}
	if o.Err != nil {
		answer.Err = o.Err.Error()
	}
	return answer, nil
}

// nextLook returns the time at which a run looks again at waits that end without an answer, and at its deadline.
func nextLook(info runs.Info, now time.Time) (at time.Time) {
	at = info.Deadline
	for _, p := range info.Waiting {
		switch {
		case p.Answered:
		case p.Kind == runs.KindRun:
			at = earlier(at, now.Add(max(lookAtChildren, now.Sub(p.Since)/4)))
		case !p.Expires.IsZero():
			at = earlier(at, p.Expires)
		}
	}
	return at
}
