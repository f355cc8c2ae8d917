package react

import (
	"context"
	"errors"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// SetReturnDirectly makes the result of the tool that calls it the result of the agent's run: the model is not asked
// again. The other tools of the same message still run. If several calls ask for it the last one wins, also over
// AgentConfig.ToolReturnDirectly. A tool that streams may call it until its stream ends. It is an error outside a tool
// of a running agent. It is safe for concurrent use.
func SetReturnDirectly(ctx context.Context) error {
	return compose.ProcessState(ctx, func(ctx context.Context, s *state) error {
		id := compose.GetToolCallID(ctx)
		place := s.placeOf(ctx)
		if place == 0 {
			return errors.New("return directly: this is not a tool call of the agent, call it with the context of the tool")
		}
		s.ReturnDirectlyToolCallID, s.ReturnDirectlyCall = id, place
		return nil
	})
}

// placeOf finds the tool call that ctx belongs to in the answer whose tools are running, from 1; 0 if it is not there.
func (s *state) placeOf(ctx context.Context) int {
	call, _, ok := compose.InternalToolCall(ctx)
	if !ok || s.Running != toolsKey || len(s.Messages) == 0 {
		return 0
	}
	answer := s.Messages[len(s.Messages)-1]
	if answer == nil {
		return 0
	}
	place := compose.InternalToolCallPlace(ctx)
	if place > len(answer.ToolCalls) {
		return 0
	}
	if c := &answer.ToolCalls[place-1]; c.ID != call.ID || c.Function.Name != call.Function.Name {
		return 0
	}
	return place
}

// direct reports whether a tool returns directly, and which.
func (s *state) direct() (place int, id string, ok bool) {
	return s.ReturnDirectlyCall, s.ReturnDirectlyToolCallID, s.ReturnDirectlyCall > 0 || s.ReturnDirectlyToolCallID != ""
}

func directCall(ctx context.Context) (place int, id string, ok bool, err error) {
	err = compose.ProcessState(ctx, func(_ context.Context, s *state) error {
		place, id, ok = s.direct()
		return nil
	})
	return place, id, ok, err
}

// afterTools goes to the end if a tool returns directly. Tools that stream may still ask for that: as the model could
// not be asked before the streams end, it is waited for.
func afterTools(ctx context.Context, results *schema.StreamReader[[]*schema.Message]) (string, error) {
	defer results.Close()
	for {
		_, _, direct, err := directCall(ctx)
		if err != nil {
			return "", err
		}
		if direct {
			return directReturnKey, nil
		}
		if _, err := results.RecvContext(ctx); err != nil {
			break // the end, or an error that the reader of the results gets, too
		}
	}
	if _, _, direct, err := directCall(ctx); err != nil || direct {
		return directReturnKey, err
	}
	return modelKey, nil
}

// directResult leaves of all results only the result of the call that returns directly.
func directResult(
	ctx context.Context, results *schema.StreamReader[[]*schema.Message],
) (*schema.StreamReader[*schema.Message], error) {
	place, id, _, err := directCall(ctx)
	if err != nil {
		results.Close()
		return nil, err
	}
	return schema.StreamReaderWithConvert(results, func(chunk []*schema.Message) (*schema.Message, error) {
		if m := resultOf(chunk, place, id); m != nil {
			return m, nil
		}
		return nil, schema.ErrNoValue
	}), nil
}

// resultOf finds the result of a call by its place or, in a run that was saved without one, by its ID.
func resultOf(results []*schema.Message, place int, id string) *schema.Message {
	if place > 0 {
		if place > len(results) {
			return nil
		}
		return results[place-1]
	}
	for _, m := range results {
		if m != nil && m.ToolCallID == id {
			return m
		}
	}
	return nil
}
