package planexecute

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

const replannerName = "replanner"

// ReplannerConfig configures [NewReplanner].
type ReplannerConfig struct {
	// ChatModel answers, with a call of one of the two tools. Required.
	ChatModel model.ToolCallingChatModel
	// PlanTool is called for a plan of what is left to be done. Default: [PlanToolInfo].
	PlanTool *schema.ToolInfo
	// RespondTool is called to end the run. Default: [RespondToolInfo], whose arguments are a [Response].
	RespondTool *schema.ToolInfo
	// GenInputFn makes the messages for the model. Default: [ReplannerPrompt].
	GenInputFn GenModelInputFn
	// NewPlan makes the plan that the JSON is read into. Default: a list of steps, see [Plan].
	NewPlan NewPlan
}

// NewReplanner makes the agent that decides how to continue after a step. It adds the step to those that were done, and
// has its model call a tool. What it says are the arguments of that call. For the plan tool they become the plan of the
// session; for the respond tool it breaks the loop. A run in whose session there is no plan, or no step that was done,
// fails. NewReplanner gives the model its tools once. It fails if cfg is nil or has no ChatModel, if both tools have
// one name, or if the model does not take them. The agent is safe for concurrent use if the model and the functions of
// cfg are.
func NewReplanner(ctx context.Context, cfg *ReplannerConfig) (adk.Agent, error) {
	if cfg == nil {
		return nil, errors.New("NewReplanner: the config is nil")
	}
	r, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("NewReplanner: %w", err)
	}
	tools := []*schema.ToolInfo{r.PlanTool, r.RespondTool}
	withTools, err := bound(r.ChatModel, tools)
	if err != nil {
		return nil, fmt.Errorf("NewReplanner: %w", err)
	}
	m, err := newStructuredModel(ctx, replannerName, withTools, tools)
	if err != nil {
		return nil, fmt.Errorf("NewReplanner: %w", err)
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        replannerName,
		Description: "a replanner agent",
		Model:       m,
		GenModelInput: func(ctx context.Context, _ string, _ *adk.AgentInput) ([]adk.Message, error) {
			work, err := addExecutedStep(ctx)
			if err != nil {
				return nil, fmt.Errorf("replanner: %w", err)
			}
			return r.GenInputFn(whilePrompting(ctx), work)
		},
		Handlers: []adk.ChatModelAgentMiddleware{answering{}, r},
	})
	if err != nil {
		return nil, fmt.Errorf("NewReplanner: %w", err)
	}
	return agent, nil
}

// complete is the configuration with its defaults.
func (cfg *ReplannerConfig) complete() (*replanning, error) {
	r := &replanning{ReplannerConfig: *cfg}
	if r.ChatModel == nil {
		return nil, errors.New("ChatModel is required")
	}
	if r.PlanTool == nil {
		r.PlanTool = &PlanToolInfo
	}
	if r.RespondTool == nil {
		r.RespondTool = &RespondToolInfo
	}
	if r.PlanTool.Name == r.RespondTool.Name {
		return nil, fmt.Errorf("PlanTool and RespondTool have the same name %q: give each its own", r.PlanTool.Name)
	}
	if r.GenInputFn == nil {
		r.GenInputFn = r.defaultInput
	}
	if r.NewPlan == nil {
		r.NewPlan = newDefaultPlan
	}
	return r, nil
}

// addExecutedStep adds what the executor has done to the session.
func addExecutedStep(ctx context.Context) (*ExecutionContext, error) {
	work, err := current(ctx)
	if err != nil {
		return nil, err
	}
	result, err := requiredValue[string](ctx, ExecutedStepSessionKey, "the executor")
	if err != nil {
		return nil, err
	}
	work.ExecutedSteps = append(work.ExecutedSteps, ExecutedStep{Step: work.Plan.FirstStep(), Result: result})
	adk.AddSessionValue(ctx, ExecutedStepsSessionKey, work.ExecutedSteps)
	return work, nil
}

// replanning does what the model has decided.
type replanning struct {
	*adk.BaseChatModelAgentMiddleware
	ReplannerConfig
}

func (r *replanning) defaultInput(ctx context.Context, in *ExecutionContext) ([]adk.Message, error) {
	values, err := in.promptValues()
	if err != nil {
		return nil, err
	}
	values["plan_tool"], values["respond_tool"] = r.PlanTool.Name, r.RespondTool.Name
	return ReplannerPrompt.Format(ctx, values)
}

// AfterAgent implements [adk.ChatModelAgentMiddleware].
func (r *replanning) AfterAgent(ctx context.Context, state *adk.ChatModelAgentState) (context.Context, error) {
	switch called := answerOf(ctx).tool; called {
	case r.RespondTool.Name:
		return ctx, adk.SendEvent(ctx, &adk.AgentEvent{Action: adk.NewBreakLoopAction(replannerName)})
	case r.PlanTool.Name:
		return keepingPlan{newPlan: r.NewPlan}.AfterAgent(ctx, state)
	default:
		return ctx, fmt.Errorf("unexpected tool call: %s", called)
	}
}
