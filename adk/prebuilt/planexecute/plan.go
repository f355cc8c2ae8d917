package planexecute

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"

	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/schema"
)

// Plan is the output of the planner. The model writes it as JSON, the executor works on its first step, and the replanner
// makes a new one of what is left.
//
// The default plan is {"steps":["…","…"]}. The type of a plan of your own must be registered (see schema.RegisterName)
// for runs that are to be saved.
type Plan interface {
	// FirstStep returns what to do next, "" if there is nothing.
	FirstStep() string
	// MarshalJSON writes the plan as the models read it.
	stdjson.Marshaler
	// UnmarshalJSON reads the plan that a model has written.
	stdjson.Unmarshaler
}

// NewPlan makes an empty plan, for UnmarshalJSON to fill.
type NewPlan func(ctx context.Context) Plan

// ExecutedStep is a step that was done.
type ExecutedStep struct {
	// Step is the step of the plan, Result what the executor said in the end.
	Step, Result string
}

// Response holds the arguments of the replanner's call of the respond tool, which ends the run.
type Response struct {
	// Response is the answer to the user.
	Response string `json:"response"`
}

// defaultPlan is a list of steps.
type defaultPlan struct {
	Steps []string
}

func newDefaultPlan(context.Context) Plan { return new(defaultPlan) }

func init() {
	schema.RegisterName[*defaultPlan]("_eino_adk_plan_execute_default_plan")
	schema.RegisterName[ExecutedStep]("_eino_adk_plan_execute_executed_step")
	schema.RegisterName[[]ExecutedStep]("_eino_adk_plan_execute_executed_steps")
}

// defaultPlanJSON is a default plan as a model writes it.
type defaultPlanJSON struct {
	Steps []string `json:"steps"`
}

func (p *defaultPlan) FirstStep() string {
	if len(p.Steps) == 0 {
		return ""
	}
	return p.Steps[0]
}

func (p *defaultPlan) MarshalJSON() ([]byte, error) {
	written := defaultPlanJSON{Steps: p.Steps}
	if written.Steps == nil {
		written.Steps = []string{}
	}
	return json.Marshal(written)
}

func (p *defaultPlan) UnmarshalJSON(text []byte) error {
	var written defaultPlanJSON
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	p.Steps = written.Steps
	return nil
}

// readPlan makes a plan of what a model has written.
func readPlan(ctx context.Context, empty NewPlan, text string) (Plan, error) {
	plan := empty(ctx)
	if plan == nil {
		return nil, errors.New("NewPlan returned nil")
	}
	if err := plan.UnmarshalJSON([]byte(text)); err != nil {
		return nil, fmt.Errorf("unmarshal plan error: %w", err)
	}
	return plan, nil
}
