package chaostest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// planned is a model that follows the plan in the last user message, and then says what its calls have returned.
type planned struct{}

func (planned) Generate(ctx context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	if err := pause(ctx, longestStep); err != nil {
		return nil, err
	}
	asked, turns := 0, 0
	var plan plan
	var results []string
	for _, m := range history {
		switch m.Role {
		case schema.User:
			var err error
			if plan, err = planOf(m.Content); err != nil {
				return nil, err
			}
			asked++
			turns, results = 0, nil
		case schema.Assistant:
			turns++
		case schema.Tool:
			results = append(results, m.Content)
		}
	}
	if turns >= len(plan) {
		return schema.AssistantMessage(outcome(asked, results), nil), nil
	}
	var calls []schema.ToolCall
	for i, s := range plan[turns] {
		arguments, err := json.Marshal(argumentsOf(s))
		if err != nil {
			return nil, err
		}
		calls = append(calls, schema.ToolCall{ID: fmt.Sprintf("call-%d-%d", turns, i),
			Function: schema.FunctionCall{Name: s.Do, Arguments: string(arguments)}})
	}
	return schema.AssistantMessage("", calls), nil
}

func (m planned) Stream(
	ctx context.Context, history []*schema.Message, _ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, history)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{answer}), nil
}

// argumentsOf returns the arguments of the call of a step.
func argumentsOf(s step) map[string]string {
	if s.Then != nil {
		return map[string]string{"request": s.Then.text()}
	}
	return map[string]string{"name": s.Name}
}
