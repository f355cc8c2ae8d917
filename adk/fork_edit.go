package adk

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/internal/callorder"
	"github.com/weftgo/weft/schema"
)

// edit has a step edited, checks what was made of it, and takes it over into what the fork is made of. The edit is
// given a step that shares nothing with others.
func (h *runSteps) edit(n int, edit func(*Step) error) error {
	before, s, err := h.copies(n)
	if err != nil {
		return err
	}
	if err := guardHook(func() error { return edit(s) }); err != nil {
		return fmt.Errorf("the edit of step %d: %w", n, err)
	}
	if err = h.checkEdit(before, s); err == nil {
		err = h.adopt(before, s)
	}
	if err != nil {
		return &refusedEdit{fmt.Errorf("the edit of step %d, a %s: %w", n, before.Kind, err)}
	}
	return nil
}

// refusedEdit is an error that matches ErrForkEdit and says what does not fit.
type refusedEdit struct{ error }

func (e *refusedEdit) Unwrap() error { return e.error }

// Is reports whether the target is ErrForkEdit.
func (e *refusedEdit) Is(target error) bool { return target == ErrForkEdit }

// copies are two copies of a step that share nothing.
func (h *runSteps) copies(n int) (a, b *Step, err error) {
	two := [2]Step{h.steps[n-1], h.steps[n-1]}
	if n == 1 {
		for i := range two {
			if two[i].Messages, err = h.begin.messages(); err == nil {
				two[i].Values, err = h.begin.values()
			}
			if err != nil {
				return nil, nil, err
			}
		}
		return &two[0], &two[1], nil
	}
	whole := *h.records[n-1]
	whole.Keep, whole.Messages, whole.Path = 0, two[0].Messages, two[0].Agent
	data, err := journal.Encode(&whole)
	if err != nil {
		return nil, nil, err
	}
	for i := range two {
		r, err := journal.Decode(data)
		if err != nil {
			return nil, nil, err
		}
		if two[i], err = new(visitHistory).step(r); err != nil {
			return nil, nil, err
		}
		two[i].N = n
	}
	return &two[0], &two[1], nil
}

// checkEdit refuses changes that cannot be made.
func (h *runSteps) checkEdit(before, s *Step) error {
	same := *s
	switch before.Kind {
	case StepBegin, StepTurn:
		same.Messages, same.Values = before.Messages, before.Values
	case StepResult:
		if (s.Result == nil) != (before.Result == nil) || s.Result != nil && s.Text != "" {
			return errors.New("the tool returns its results as Text or as Result: change the one that is set")
		}
		same.Text, same.Result = before.Text, before.Result
	}
	if !reflect.DeepEqual(&same, before) {
		return errors.New("it changes what cannot be edited: see ForkOptions.Edit")
	}
	if before.Messages == nil {
		return nil
	}
	if len(s.Messages) == 0 {
		return errors.New("no message is left")
	}
	for key := range before.Values {
		if _, there := s.Values[key]; !there && s.Kind == StepTurn {
			return fmt.Errorf("the session value %q cannot be removed: set it to another value", key)
		}
	}
	if reflect.DeepEqual(s.Messages, before.Messages) {
		return nil
	}
	if _, agentic := before.Messages[0].(*schema.AgenticMessage); agentic {
		return checkMessages[*schema.AgenticMessage](h, s)
	}
	return checkMessages[*schema.Message](h, s)
}

// checkMessages refuses messages that no agent of the kind, or no model, would take.
func checkMessages[M MessageType](h *runSteps, s *Step) error {
	messages := make([]M, len(s.Messages))
	for i, m := range s.Messages {
		var ok bool
		if messages[i], ok = m.(M); !ok || opsOf[M]().isNil(messages[i]) {
			return fmt.Errorf("message %d is %T and must be a %T", i, m, messages[i])
		}
	}
	if err := checkHistory(messages); err != nil {
		return err
	}
	if s.Kind == StepBegin {
		return nil
	}
	return h.checkResults(s, opsOf[M]().toolCalls(messages[len(messages)-1]))
}

// checkHistory finds calls without results, except in the last message, and results without calls.
func checkHistory[M MessageType](messages []M) error {
	ops := opsOf[M]()
	var open []string
	for i, m := range messages {
		if ops.isResult(m) {
			for _, id := range answeredBy(m) {
				at := slices.Index(open, id)
				if at < 0 {
					return fmt.Errorf("message %d is the result of call %q, which the answer before it does not make", i, id)
				}
				open = slices.Delete(open, at, at+1)
			}
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("call %q has no result before message %d", open[0], i)
		}
		for _, c := range ops.toolCalls(m) {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 && !ops.isAnswer(messages[len(messages)-1]) {
		return fmt.Errorf("call %q has no result", open[0])
	}
	return nil
}

// answeredBy are the IDs of the calls whose results a message has.
func answeredBy(message any) (ids []string) {
	switch m := message.(type) {
	case *schema.Message:
		return []string{m.ToolCallID}
	case *schema.AgenticMessage:
		for _, b := range m.ContentBlocks {
			switch {
			case b == nil:
			case b.FunctionToolResult != nil:
				ids = append(ids, b.FunctionToolResult.CallID)
			case b.ToolSearchFunctionToolResult != nil:
				ids = append(ids, b.ToolSearchFunctionToolResult.CallID)
			}
		}
	}
	return ids
}

// checkResults refuses an answer without calls that have been made: a tool that starts early has its result before the
// turn is over.
func (h *runSteps) checkResults(turn *Step, calls []schema.ToolCall) error {
	for i, r := range h.records[:turn.N-1] {
		if r == nil || r.Kind != journal.KindResult || r.Visit != turn.Visit || r.Round != turn.Remaining {
			continue
		}
		made := h.steps[i].Call
		isMade := false
		for at, c := range calls {
			isMade = isMade || callKey(turn.Remaining, c, callorder.Label(at, func(i int) string { return calls[i].ID })) == r.Call
		}
		if !isMade {
			return fmt.Errorf("the answer does not make call %q, whose result is step %d: fork before that step", made.ID, i+1)
		}
	}
	return nil
}

// adopt takes an edited step over into its record, or into what the run begins with.
func (h *runSteps) adopt(before, s *Step) error {
	switch r := h.records[s.N-1]; s.Kind {
	case StepBegin:
		h.begin.Input = nil
		for i, m := range s.Messages {
			data, err := encodeValue(m, "input message %d", i)
			if err != nil {
				return err
			}
			h.begin.Input = append(h.begin.Input, data)
		}
		return h.begin.setValues(s.Values)
	case StepTurn:
		r.Begun = begunAfter(before.Messages, s.Messages, r.Begun)
		r.Keep, r.Messages, r.Values = 0, s.Messages, s.Values
	case StepResult:
		if r.Result != nil && s.Result == nil { // one that was given for the call has both forms
			r.Result = &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: s.Text}}}
		} else {
			r.Result = s.Result
		}
		r.Text = s.Text
	}
	return nil
}

// begunAfter is with how many of the messages the agent began: more or fewer, if messages were put in before what it
// has said, or taken out there.
func begunAfter(before, after []any, n int) int {
	said := before[min(n, len(before)):]
	if from := len(after) - len(said); from >= 0 && reflect.DeepEqual(after[from:], said) {
		return from
	}
	return min(n, len(after))
}
