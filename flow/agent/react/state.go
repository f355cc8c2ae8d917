package react

import (
	"context"
	"errors"
	"slices"

	"github.com/weftgo/weft/schema"
)

// stateName is the name of the state in checkpoints.
const stateName = "_eino_react_state"

func init() { schema.RegisterName[*state](stateName) }

// state is the state of a run. Everything in it is in checkpoints.
type state struct {
	// Messages is the history: input, answers, tool results.
	Messages []*schema.Message
	// ReturnDirectlyToolCallID is the ID of the tool call whose result ends the run.
	ReturnDirectlyToolCallID string
	// ReturnDirectlyCall is the place of that call in its message, from 1: not every model gives IDs, or unique ones.
	ReturnDirectlyCall int
	// Running is the key of the node that was started last. A node that is started again without another one in
	// between resumes after an interrupt: the history has its input already.
	Running string
}

// starts reports whether the node is started for the first time with its present input.
func (s *state) starts(key string) bool {
	again := s.Running == key
	s.Running = key
	return !again
}

// beforeModel makes the input of the model.
func (c *AgentConfig) beforeModel(ctx context.Context, input []*schema.Message, s *state) ([]*schema.Message, error) {
	if s.starts(modelKey) {
		s.Messages = append(s.Messages, input...)
	}
	if c.MessageRewriter != nil {
		s.Messages = c.MessageRewriter(ctx, s.Messages)
	}
	messages := slices.Clone(s.Messages)
	if c.MessageModifier != nil {
		messages = c.MessageModifier(ctx, messages)
	}
	return messages, nil
}

// beforeTools notes the answer and whether one of its calls returns directly.
func (c *AgentConfig) beforeTools(_ context.Context, answer *schema.Message, s *state) (*schema.Message, error) {
	if !s.starts(toolsKey) {
		if answer != nil {
			return answer, nil
		}
		if len(s.Messages) == 0 {
			return nil, errors.New("the checkpoint has no message whose tools could continue")
		}
		return s.Messages[len(s.Messages)-1], nil
	}
	s.Messages = append(s.Messages, answer)
	s.ReturnDirectlyToolCallID, s.ReturnDirectlyCall = "", 0
	if answer == nil {
		return nil, nil // the tools node says what is wrong
	}
	for i, call := range answer.ToolCalls {
		if _, direct := c.ToolReturnDirectly[call.Function.Name]; direct {
			s.ReturnDirectlyToolCallID, s.ReturnDirectlyCall = call.ID, i+1
			break
		}
	}
	return answer, nil
}
