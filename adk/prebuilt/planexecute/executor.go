package planexecute

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
)

const executorName = "executor"

// ExecutorConfig configures [NewExecutor].
type ExecutorConfig struct {
	// Model answers. Required.
	Model model.BaseChatModel
	// ToolsConfig has the tools that the steps are done with. ReportMistakes is always on.
	ToolsConfig adk.ToolsConfig
	// MaxIterations limits the turns of the model for one step. Default: the default of a [adk.ChatModelAgent].
	MaxIterations int
	// GenInputFn makes the messages for the model. Default: [ExecutorPrompt].
	GenInputFn GenModelInputFn
}

// NewExecutor makes the agent that does the first step of the plan. It is a [adk.ChatModelAgent] that reads the session
// instead of its input, and leaves its last text there. A run in whose session there is no plan fails. NewExecutor
// fails if cfg is nil or has no Model. The agent is safe for concurrent use if the model, the tools and GenInputFn are.
func NewExecutor(ctx context.Context, cfg *ExecutorConfig) (adk.Agent, error) {
	if cfg == nil {
		return nil, errors.New("NewExecutor: the config is nil")
	}
	genInput := cfg.GenInputFn
	if genInput == nil {
		genInput = func(ctx context.Context, in *ExecutionContext) ([]adk.Message, error) {
			values, err := in.promptValues()
			if err != nil {
				return nil, err
			}
			return ExecutorPrompt.Format(ctx, values)
		}
	}
	tools := cfg.ToolsConfig
	tools.ReportMistakes = true
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        executorName,
		Description: "an executor agent",
		Model:       cfg.Model,
		ToolsConfig: tools,
		GenModelInput: func(ctx context.Context, _ string, _ *adk.AgentInput) ([]adk.Message, error) {
			work, err := current(ctx)
			if err != nil {
				return nil, fmt.Errorf("executor: %w", err)
			}
			return genInput(whilePrompting(ctx), work)
		},
		MaxIterations: cfg.MaxIterations,
		OutputKey:     ExecutedStepSessionKey,
	})
	if err != nil {
		return nil, fmt.Errorf("NewExecutor: %w", err)
	}
	return agent, nil
}
