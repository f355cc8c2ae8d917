package planexecute

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// The session values that planner, executor and replanner share.
const (
	// UserInputSessionKey has the messages that the planner was asked: []adk.Message.
	UserInputSessionKey = "UserInput"
	// PlanSessionKey has the [Plan] as it is now.
	PlanSessionKey = "Plan"
	// ExecutedStepSessionKey has what the executor said last: string.
	ExecutedStepSessionKey = "ExecutedStep"
	// ExecutedStepsSessionKey has all steps that were done: []ExecutedStep.
	ExecutedStepsSessionKey = "ExecutedSteps"
)

// ExecutionContext tracks how far the work is.
type ExecutionContext struct {
	UserInput     []adk.Message
	Plan          Plan
	ExecutedSteps []ExecutedStep
}

// GenModelInputFn makes the messages for the model of the executor or the replanner. It must not change the context.
type GenModelInputFn func(ctx context.Context, in *ExecutionContext) ([]adk.Message, error)

// sessionValue returns a value that another agent has left. The zero value is returned for one that is not there.
func sessionValue[T any](ctx context.Context, key string) (value T, found bool, err error) {
	v, found := adk.GetSessionValue(ctx, key)
	if !found || v == nil {
		return value, false, nil
	}
	value, ok := v.(T)
	if !ok {
		return value, false, fmt.Errorf("the session value %q is a %T, not a %s", key, v, typeName[T]())
	}
	return value, true, nil
}

func typeName[T any]() string { return strings.TrimPrefix(fmt.Sprintf("%T", (*T)(nil)), "*") }

// requiredValue is sessionValue for one that must be there.
func requiredValue[T any](ctx context.Context, key, whose string) (T, error) {
	value, found, err := sessionValue[T](ctx, key)
	if err == nil && !found {
		err = fmt.Errorf("the session has no value %q: %s must run before", key, whose)
	}
	return value, err
}

// current reads from the session how far the work is.
func current(ctx context.Context) (*ExecutionContext, error) {
	input, err := requiredValue[[]adk.Message](ctx, UserInputSessionKey, "the planner")
	if err != nil {
		return nil, err
	}
	plan, err := requiredValue[Plan](ctx, PlanSessionKey, "the planner")
	if err != nil {
		return nil, err
	}
	steps, _, err := sessionValue[[]ExecutedStep](ctx, ExecutedStepsSessionKey)
	if err != nil {
		return nil, err
	}
	return &ExecutionContext{UserInput: input, Plan: plan, ExecutedSteps: slices.Clip(steps)}, nil
}

// promptValues returns the values that fill in the default prompts.
func (c *ExecutionContext) promptValues() (map[string]any, error) {
	plan, err := c.Plan.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("marshal plan error: %w", err)
	}
	var steps strings.Builder
	for _, s := range c.ExecutedSteps {
		fmt.Fprintf(&steps, "Step: %s\nResult: %s\n\n", s.Step, s.Result)
	}
	return map[string]any{
		"input":          inputText(c.UserInput),
		"plan":           string(plan),
		"executed_steps": steps.String(),
		"step":           c.Plan.FirstStep(),
	}, nil
}

func inputText(input []adk.Message) string {
	var text strings.Builder
	for _, m := range input {
		if m == nil {
			continue
		}
		text.WriteString(m.Content)
		for _, part := range m.UserInputMultiContent {
			if part.Type == schema.ChatMessagePartTypeText {
				text.WriteString(part.Text)
			}
		}
		text.WriteByte('\n')
	}
	return text.String()
}
