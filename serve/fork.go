package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Fork is a run that a client wants made of the first steps of another one of its own.
type Fork struct {
	// Run is the origin, and At how many of its steps the fork has. Required.
	Run string
	At  int
	// Edit changes the last of the steps, nil leaves it as it is.
	Edit *StepEdit
	// Hold leaves the fork alone until [Caller.Continue]. Otherwise it is continued at once.
	Hold bool
	// IdempotencyKey identifies the request, as Start.IdempotencyKey does.
	IdempotencyKey string
}

// StepEdit is a change of a step: what is nil stays as it is.
type StepEdit struct {
	// Text replaces the result of a tool call.
	Text *string `json:"text,omitempty"`
	// Messages replace the input of the run, or the history of the agent after a turn: all of it, as a model takes it.
	// System prompts that the client is not shown stay at the beginning.
	Messages []runlog.Message `json:"messages,omitempty"`
	// Values sets session values: one that is there is decoded to its type.
	Values map[string]json.RawMessage `json:"values,omitempty"`
}

// Fork makes a run of the first steps of another one, and continues it. It is a run of the principal with the labels of
// the origin, is in no thread, and sees what the origin has seen of its thread. The limits of starts hold.
//
// Who may fork can write what models and tools have said: Authorize is asked for [ForkRun].
func (c *Caller) Fork(ctx context.Context, f Fork) (Run, error) {
	s := c.server
	if s.forks == nil {
		return Run{}, noForks()
	}
	origin, _, err := c.inspect(ctx, f.Run, ForkRun)
	if err != nil {
		return Run{}, err
	}
	id, tags, err := c.forkOf(&origin, &f)
	if err != nil {
		return Run{}, err
	}
	return c.makeRun(ctx, making{id: id, tags: tags,
		make: func() (runs.Info, error) { return c.makeFork(ctx, &origin, &f, id, tags) },
		then: func(run Run) (Run, error) { // one that was made before, and not continued, is continued
			if run.Status == runs.Paused && !f.Hold {
				return c.continueFork(ctx, id)
			}
			return run, nil
		}})
}

// makeFork makes a fork, if it can be and the limits let it.
func (c *Caller) makeFork(
	ctx context.Context, origin *runs.Info, f *Fork, id string, tags map[string]string,
) (info runs.Info, err error) {
	s := c.server
	if err := c.checkFork(ctx, origin, f, tags); err != nil {
		return info, err
	}
	release, err := c.checkRates(ctx)
	if err != nil {
		return info, err
	}
	defer release()
	made := adk.ForkOptions{At: f.At, NewID: id, Tags: tags}
	if f.Edit != nil {
		made.Edit = func(step *adk.Step) error { return s.editStep(step, f.Edit) }
	}
	if s.settings.maxRunTime > 0 && !f.Hold {
		made.Deadline = time.Now().Add(s.settings.maxRunTime)
	}
	info, err = s.forks.Fork(ctx, origin.ID, made)
	switch {
	case err == nil, errors.Is(err, runs.ErrExists):
		return info, err
	case errors.As(err, new(*Problem)):
		return info, ProblemOf(err).of(origin.ID)
	case errors.Is(err, adk.ErrForkEdit):
		return info, &Problem{Code: BadRequest, Title: fmt.Sprintf("the edit does not fit step %d", f.At), Run: origin.ID,
			Cause: err}
	}
	return info, ProblemOf(err).of(origin.ID)
}

// Continue continues a fork that is paused: see [Fork].Hold.
func (c *Caller) Continue(ctx context.Context, id string) (Run, error) {
	if c.server.forks == nil {
		return Run{}, noForks()
	}
	info, _, err := c.inspect(ctx, id, ForkRun)
	if err != nil {
		return Run{}, err
	}
	if statusOf(&info) != runs.Paused {
		return Run{}, NewProblem(AlreadyAnswered, "the run is not paused").of(id)
	}
	return c.continueFork(ctx, id)
}

func (c *Caller) continueFork(ctx context.Context, id string) (Run, error) {
	if err := c.server.forks.Continue(ctx, id); err != nil {
		return Run{}, ProblemOf(err).of(id)
	}
	info, _, err := c.server.runs.Inspect(ctx, id)
	if err != nil {
		return Run{}, ProblemOf(err).of(id)
	}
	return c.server.runOf(info), nil
}

// forkOf returns the ID and the tags of a fork.
func (c *Caller) forkOf(origin *runs.Info, f *Fork) (id string, tags map[string]string, err error) {
	owner := c.principal.owner()
	tags = map[string]string{tagOwner: owner, tagForked: origin.ID + "@" + strconv.Itoa(f.At)}
	for key, value := range publicLabels(origin.Tags) {
		tags[key] = value
	}
	for _, key := range []string{tagSampling, tagTurn, tagTurnThread} {
		if value := origin.Tags[key]; value != "" {
			tags[key] = value
		}
	}
	if isTurn(origin.Tags) {
		tags[tagTurn], tags[tagTurnThread] = origin.ID, origin.Tags[tagThread]
	}
	if f.IdempotencyKey == "" {
		return newRunID(), tags, nil
	}
	body, err := json.Marshal([]any{"fork", f.Run, f.At, f.Edit, f.Hold})
	if err != nil {
		return "", nil, ProblemOf(err)
	}
	return keyed(owner, f.IdempotencyKey, string(body), tags)
}

// checkFork refuses what cannot be made.
func (c *Caller) checkFork(ctx context.Context, origin *runs.Info, f *Fork, tags map[string]string) error {
	steps, _, err := c.server.stepsOf(ctx, origin.ID)
	if err != nil {
		return err
	}
	if f.At < 1 || f.At > len(steps) {
		return NewProblem(BadRequest, "at is a step of the run, from 1 to %d", len(steps)).of(origin.ID)
	}
	if f.Edit != nil {
		if err := c.server.checkEdit(f.Edit); err != nil {
			return err
		}
	}
	if tags[tagTurn] == "" {
		return nil
	}
	thread := conversation.Open(c.server.settings.conversations, tags[tagOwner]+"/"+tags[tagTurnThread])
	_, _, found, err := thread.Before(ctx, tags[tagTurn], conversation.HistoryOptions{MaxTurns: 1})
	switch {
	case err != nil:
		return ProblemOf(err).of(origin.ID)
	case !found:
		return NewProblem(Conflict, "the thread does not have the turn of that run").of(origin.ID)
	}
	return nil
}

// checkEdit refuses what is too much.
func (s *Server) checkEdit(e *StepEdit) error {
	l := s.settings.limits
	switch {
	case e.Text != nil && len(*e.Text) > l.MessageBytes:
		return NewProblem(TooLarge, "the text is longer than %d bytes", l.MessageBytes)
	case e.Messages != nil && len(e.Messages) == 0:
		return NewProblem(BadRequest, "there is no message")
	case len(e.Messages) > l.Messages:
		return tooManyMessages(s)
	}
	return nil
}

// editStep changes a step as a client wants it.
func (s *Server) editStep(step *adk.Step, e *StepEdit) error {
	takesHistory := step.Kind == adk.StepBegin || step.Kind == adk.StepTurn
	switch {
	case e.Text != nil && (step.Kind != adk.StepResult || step.Result != nil):
		return NewProblem(BadRequest, "step %d has no text that could be another one", step.N)
	case (e.Messages != nil || len(e.Values) > 0) && !takesHistory:
		return NewProblem(BadRequest, "step %d, a %s, has no messages and values that could be others", step.N, step.Kind)
	}
	if e.Text != nil {
		step.Text = *e.Text
	}
	if e.Messages != nil {
		messages, err := s.editedMessages(step.Messages, e.Messages)
		if err != nil {
			return err
		}
		step.Messages = messages
	}
	for key, data := range e.Values {
		if strings.HasPrefix(key, tagPrefix) {
			return NewProblem(BadRequest, "the session value %.64q is the server's", key)
		}
		value, err := valueLike(step.Values[key], data)
		if err != nil {
			return &Problem{Code: BadRequest, Title: fmt.Sprintf("the session value %.64q is not of its type", key), Cause: err}
		}
		step.Values = put(step.Values, key, value)
	}
	return nil
}

// editedMessages returns the messages of a client instead of the messages of a step, of the same kind. A message that is
// as the client was shown it stays as it was, with what providers have attached to it; others have what clients may send.
func (s *Server) editedMessages(before []any, edited []runlog.Message) (messages []any, err error) {
	for _, m := range before {
		if s.settings.detail || !isSystem(m) {
			break
		}
		messages = append(messages, m)
	}
	agentic := false
	if len(before) > 0 {
		_, agentic = before[0].(*schema.AgenticMessage)
	}
	kept := shownMessages(before)
	for i := range edited {
		one := kept[shownAs(&edited[i])]
		if one == nil {
			if one, err = s.editedMessage(i, &edited[i], agentic); err != nil {
				return nil, err
			}
		}
		if !s.settings.detail && isSystem(one) {
			return nil, NewProblem(BadRequest, "message %d is of the system, whose prompts stay as they are", i)
		}
		messages = append(messages, one)
	}
	return messages, nil
}

// editedMessage is a message of a client, the n-th, of a kind.
func (s *Server) editedMessage(n int, m *runlog.Message, agentic bool) (any, error) {
	switch {
	case m.Agentic != nil && agentic:
		return s.takeAgentic(n, m.Agentic)
	case m.Agentic != nil:
		return nil, NewProblem(BadRequest, "message %d is an agentic one, which the agent does not take", n)
	case m.Chat == nil:
		return nil, NewProblem(BadRequest, "message %d is none", n)
	}
	taken, err := s.takeMessage(n, m.Chat)
	if err != nil || !agentic {
		return taken, err
	}
	one, err := agenticOf(taken)
	if err != nil {
		return nil, &Problem{Code: BadRequest, Title: fmt.Sprintf("message %d cannot be an agentic one", n), Cause: err}
	}
	return one, nil
}

// shownMessages are messages by how clients are shown them.
func shownMessages(messages []any) map[string]any {
	shown := map[string]any{}
	for _, m := range messages {
		switch m := m.(type) {
		case *schema.Message:
			shown[shownAs(publicMessage(&runlog.Message{Chat: m}))] = m
		case *schema.AgenticMessage:
			shown[shownAs(publicMessage(&runlog.Message{Agentic: m}))] = m
		}
	}
	delete(shown, "")
	return shown
}

// shownAs is a message as JSON, "" if it has none.
func shownAs(m *runlog.Message) string {
	data, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return string(data)
}

// valueLike decodes a value to the type of the one before, to whatever it is if there is none.
func valueLike(before any, data json.RawMessage) (any, error) {
	if before == nil {
		var value any
		err := json.Unmarshal(data, &value)
		return value, err
	}
	value := reflect.New(reflect.TypeOf(before))
	if err := json.Unmarshal(data, value.Interface()); err != nil {
		return nil, err
	}
	return value.Elem().Interface(), nil
}

// forkedOf is the run that a run with these tags is a fork of, nil if it is none.
func forkedOf(tags map[string]string) *runlog.Fork {
	run, at, found := strings.Cut(tags[tagForked], "@")
	step, err := strconv.Atoi(at)
	if !found || err != nil {
		return nil
	}
	return &runlog.Fork{Run: run, Step: step}
}
