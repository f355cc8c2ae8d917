package planexecute

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

const plannerName = "planner"

// GenPlannerModelInputFn makes the messages for the planner's model out of the messages of the user.
type GenPlannerModelInputFn func(ctx context.Context, userInput []adk.Message) ([]adk.Message, error)

// PlannerConfig configures [NewPlanner]. One of the models is required.
type PlannerConfig struct {
	// ChatModelWithFormattedOutput is a model that writes the plan as JSON by itself. It wins if both are set.
	ChatModelWithFormattedOutput model.BaseChatModel
	// ToolCallingChatModel is a model that gives the plan as the arguments of a tool call.
	ToolCallingChatModel model.ToolCallingChatModel
	// ToolInfo is the tool that ToolCallingChatModel has to call. Default: [PlanToolInfo].
	ToolInfo *schema.ToolInfo
	// GenInputFn makes the messages for the model. Default: [PlannerPrompt].
	GenInputFn GenPlannerModelInputFn
	// NewPlan makes the plan that the JSON is read into. Default: a list of steps, see [Plan].
	NewPlan NewPlan
}

// NewPlanner makes the agent that makes the plan. It keeps the messages that it is asked and the plan in the session.
// What it says is the JSON of the plan; in a run with streaming it comes in chunks. The model is always called for a
// stream. NewPlanner gives the model its tool once. It fails if cfg is nil or has no model, or if the model does not
// take the tool. The agent is safe for concurrent use if the model and the functions of cfg are.
func NewPlanner(ctx context.Context, cfg *PlannerConfig) (adk.Agent, error) {
	if cfg == nil {
		return nil, errors.New("NewPlanner: the config is nil")
	}
	m, err := cfg.model(ctx)
	if err != nil {
		return nil, fmt.Errorf("NewPlanner: %w", err)
	}
	newPlan := cfg.NewPlan
	if newPlan == nil {
		newPlan = newDefaultPlan
	}
	genInput := cfg.GenInputFn
	if genInput == nil {
		genInput = func(ctx context.Context, userInput []adk.Message) ([]adk.Message, error) {
			return PlannerPrompt.Format(ctx, map[string]any{"input": userInput})
		}
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        plannerName,
		Description: "a planner agent",
		Model:       m,
		GenModelInput: func(ctx context.Context, _ string, input *adk.AgentInput) ([]adk.Message, error) {
			return genInput(whilePrompting(ctx), slices.Clone(input.Messages))
		},
		Handlers: []adk.ChatModelAgentMiddleware{answering{}, keepingPlan{newPlan: newPlan}},
	})
	if err != nil {
		return nil, fmt.Errorf("NewPlanner: %w", err)
	}
	return &planner{agent}, nil
}

func (cfg *PlannerConfig) model(ctx context.Context) (*structuredModel, error) {
	if cfg.ChatModelWithFormattedOutput != nil {
		return newStructuredModel(ctx, plannerName, cfg.ChatModelWithFormattedOutput, nil)
	}
	if cfg.ToolCallingChatModel == nil {
		return nil, errors.New("set ChatModelWithFormattedOutput or ToolCallingChatModel")
	}
	info := cfg.ToolInfo
	if info == nil {
		info = &PlanToolInfo
	}
	tools := []*schema.ToolInfo{info}
	m, err := bound(cfg.ToolCallingChatModel, tools)
	if err != nil {
		return nil, err
	}
	return newStructuredModel(ctx, plannerName, m, tools)
}

// planner is a chat model agent that notes what it is asked.
type planner struct{ agent *adk.ChatModelAgent }

func (p *planner) Name(ctx context.Context) string        { return p.agent.Name(ctx) }
func (p *planner) Description(ctx context.Context) string { return p.agent.Description(ctx) }

// Run makes a plan.
func (p *planner) Run(
	ctx context.Context, input *adk.AgentInput, opts ...adk.AgentRunOption,
) *adk.AsyncIterator[*adk.AgentEvent] {
	if input != nil {
		adk.AddSessionValue(ctx, UserInputSessionKey, slices.Clone(input.Messages))
	}
	return p.agent.Run(ctx, input, opts...)
}

// Resume continues with a run that was cancelled.
func (p *planner) Resume(
	ctx context.Context, info *adk.ResumeInfo, opts ...adk.AgentRunOption,
) *adk.AsyncIterator[*adk.AgentEvent] {
	return p.agent.Resume(ctx, info, opts...)
}

// keepingPlan puts the plan that was made into the session.
type keepingPlan struct {
	*adk.BaseChatModelAgentMiddleware
	newPlan NewPlan
}

// AfterAgent implements [adk.ChatModelAgentMiddleware].
func (k keepingPlan) AfterAgent(ctx context.Context, state *adk.ChatModelAgentState) (context.Context, error) {
	plan, err := readPlan(ctx, k.newPlan, text(state))
	if err != nil {
		return ctx, err
	}
	adk.AddSessionValue(ctx, PlanSessionKey, plan)
	return ctx, nil
}
