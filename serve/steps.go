package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Steps lists the recorded steps of a run, for clients.
type Steps struct {
	Steps []Step `json:"steps"`
	// Damaged says that the record cannot be read behind the steps.
	Damaged bool `json:"damaged,omitempty"`
}

// Step is a step of a run (see adk.Step). Which fields are set depends on its kind.
type Step struct {
	N    int          `json:"n"`
	Kind adk.StepKind `json:"kind"`
	// Agent is the way to the agent, and Visit tells apart what it does at several places of the run.
	Agent []string `json:"agent,omitempty"`
	Visit string   `json:"visit,omitempty"`
	// Messages are the input of the run, or the history of the agent after the turn: as a change of the history after the
	// turn before it of the same visit. System prompts are in it with Config.Detail only.
	Messages *runlog.Input `json:"messages,omitempty"`
	// Values are the session values that JSON can express, Types the Go types of the others.
	Values map[string]json.RawMessage `json:"values,omitempty"`
	Types  map[string]string          `json:"types,omitempty"`
	// Remaining is the number of turns that the model has left.
	Remaining *int `json:"remaining,omitempty"`
	// Call is the tool call, and Text or Result what came of it.
	Call   *StepCall          `json:"call,omitempty"`
	Text   *string            `json:"text,omitempty"`
	Result *schema.ToolResult `json:"result,omitempty"`
}

// StepCall is a tool call.
type StepCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Steps returns what a run of the principal did, step by step, as far as that is kept: with Config.AllowFork, for the
// runs that were executed with it. It is not_found if nothing is.
func (c *Caller) Steps(ctx context.Context, id string) (Steps, error) {
	if c.server.forks == nil {
		return Steps{}, noForks()
	}
	info, _, err := c.inspect(ctx, id, ReadSteps)
	if err != nil {
		return Steps{}, err
	}
	steps, damaged, err := c.server.stepsOf(ctx, info.ID)
	if err != nil {
		return Steps{}, err
	}
	shown := Steps{Steps: make([]Step, 0, len(steps)), Damaged: damaged}
	before := map[string][]any{}
	for i := range steps {
		shown.Steps = append(shown.Steps, c.server.publicStep(&steps[i], before))
	}
	return shown, nil
}

// noForks is the answer to who asks for steps or forks without Config.AllowFork.
func noForks() error {
	return NewProblem(NotFound, "this server shows no steps of runs, and makes no forks")
}

// stepsOf reads the steps of a run. damaged says that there were more.
func (s *Server) stepsOf(ctx context.Context, id string) (steps []adk.Step, damaged bool, err error) {
	steps, err = s.forks.Steps(ctx, id)
	switch {
	case err == nil:
		return steps, false, nil
	case errors.Is(err, runs.ErrNotFound):
		return nil, false, &Problem{Code: NotFound, Title: "no steps are kept of the run", Run: id, Cause: err}
	case len(steps) > 0:
		s.log(ctx, "the steps of a run are damaged", "run", id, "error", err)
		return steps, true, nil
	}
	return nil, false, ProblemOf(err).of(id)
}

// publicStep is a step for clients. before has what the last turns of visits ended with.
func (s *Server) publicStep(step *adk.Step, before map[string][]any) Step {
	shown := Step{N: step.N, Kind: step.Kind, Agent: step.Agent, Visit: step.Visit}
	switch step.Kind {
	case adk.StepBegin, adk.StepTurn:
		messages := s.shownMessages(step.Messages)
		shown.Messages = change(before[step.Visit], messages)
		if shown.Values, shown.Types = publicValues(step.Values); step.Kind == adk.StepTurn {
			before[step.Visit], shown.Remaining = messages, &step.Remaining
		}
		return shown
	case adk.StepResult:
		if shown.Result = withoutExtra(step.Result); shown.Result == nil {
			shown.Text = &step.Text
		}
	}
	f := step.Call.Function
	shown.Call = &StepCall{ID: step.Call.ID, Name: f.Name, Arguments: f.Arguments}
	return shown
}

// shownMessages returns the messages of a step that clients see.
func (s *Server) shownMessages(messages []any) []any {
	if s.settings.detail {
		return messages
	}
	shown := make([]any, 0, len(messages))
	for _, m := range messages {
		if !isSystem(m) {
			shown = append(shown, m)
		}
	}
	return shown
}

// isSystem reports whether a message of a step is one of the system.
func isSystem(message any) bool {
	switch m := message.(type) {
	case *schema.Message:
		return m.Role == schema.System
	case *schema.AgenticMessage:
		return m.Role == schema.AgenticRoleTypeSystem
	}
	return false
}

// change is a history relative to the one before. What a turn keeps of the one before are the same messages.
func change(before, now []any) *runlog.Input {
	in := &runlog.Input{Add: []runlog.Message{}}
	for in.Keep < len(before) && in.Keep < len(now) && before[in.Keep] == now[in.Keep] {
		in.Keep++
	}
	for _, m := range now[in.Keep:] {
		in.Add = append(in.Add, withoutExtra(messageOf(m)))
	}
	return in
}

// messageOf is a message of a step as one of an event.
func messageOf(message any) runlog.Message {
	switch m := message.(type) {
	case *schema.Message:
		return runlog.Message{Chat: m}
	case *schema.AgenticMessage:
		return runlog.Message{Agentic: m}
	}
	return runlog.Message{}
}

// publicValues returns the session values for clients, without the values of the server.
func publicValues(values map[string]any) (shown map[string]json.RawMessage, types map[string]string) {
	for key, value := range values {
		if strings.HasPrefix(key, tagPrefix) {
			continue
		}
		data, err := marshal(value)
		if err == nil {
			shown = put(shown, key, data)
		} else {
			types = put(types, key, fmt.Sprintf("%T", value))
		}
	}
	return shown, types
}

// put sets an entry of a map, which is made for the first one.
func put[V any](m map[string]V, key string, value V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}

// marshal is json.Marshal of a value of the application's, whose methods may panic.
func marshal(value any) (data json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a method of the value panics: %v", v)
		}
	}()
	return json.Marshal(value)
}
