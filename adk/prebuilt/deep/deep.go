package deep

import (
	"context"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/filesystem"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// New makes an agent on ordinary messages.
func New(ctx context.Context, cfg *Config) (adk.ResumableAgent, error) {
	return NewTyped(ctx, cfg)
}

// NewTyped makes the agent, a [adk.TypedChatModelAgent]. An interrupt in an agent that is at work on a task interrupts
// this agent, and a resumed run continues inside the task. The session is shared with such agents. cfg and its slices
// may be changed afterwards. The agent is safe for concurrent use if what it is made of is.
//
// It fails if cfg is nil, has no ChatModel or two shells, or has sub-agents that are nil, without a name or of one
// name, and where [adk.NewTypedChatModelAgent] does.
func NewTyped[M adk.MessageType](
	ctx context.Context, cfg *TypedConfig[M],
) (agent adk.TypedResumableAgent[M], err error) {
	defer safe.Recover(&err)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	own := *cfg
	if own.Instruction == "" {
		own.Instruction = language.Select(instruction, instructionChinese)
	}
	handlers, err := own.sharedHandlers(ctx)
	if err != nil {
		return nil, err
	}
	all := handlers
	if !own.WithoutGeneralSubAgent || len(own.SubAgents) > 0 {
		task, err := newTaskTool(ctx, &own, handlers)
		if err != nil {
			return nil, fmt.Errorf("failed to new task tool: %w", err)
		}
		all = append(slices.Clip(all),
			&addition[M]{tool: task, instruction: language.Select(taskInstruction, taskInstructionChinese)})
	}
	c := own.agent(append(slices.Clip(all), own.Handlers...))
	c.Name, c.Description, c.OutputKey = own.Name, own.Description, own.OutputKey
	made, err := adk.NewTypedChatModelAgent(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("deep: %w", err)
	}
	return made, nil
}

// sharedHandlers returns the handlers of the agent and of the general-purpose agent.
func (c *TypedConfig[M]) sharedHandlers(
	ctx context.Context,
) (handlers []adk.TypedChatModelAgentMiddleware[M], err error) {
	if !c.WithoutWriteTodos {
		handlers = append(handlers, &addition[M]{tool: newTodosTool()})
	}
	if c.hasFiles() {
		files, err := filesystem.NewTyped[M](ctx, &filesystem.MiddlewareConfig{
			Backend: c.Backend, Shell: c.Shell, StreamingShell: c.StreamingShell})
		if err != nil {
			return nil, fmt.Errorf("deep: the tools for files: %w", err)
		}
		handlers = append(handlers, files)
	}
	return handlers, nil
}

// agent returns the configuration that the agent and the general-purpose agent have in common.
func (c *TypedConfig[M]) agent(handlers []adk.TypedChatModelAgentMiddleware[M]) *adk.TypedChatModelAgentConfig[M] {
	tools := c.ToolsConfig
	tools.ReportMistakes = true
	return &adk.TypedChatModelAgentConfig[M]{
		Instruction:         c.Instruction,
		Model:               c.ChatModel,
		ToolsConfig:         tools,
		GenModelInput:       modelInput[M],
		MaxIterations:       c.MaxIteration,
		Middlewares:         c.Middlewares,
		Handlers:            handlers,
		ModelRetryConfig:    c.ModelRetryConfig,
		ModelFailoverConfig: c.ModelFailoverConfig,
	}
}

// modelInput puts the instruction in front of the input, as it is: code has braces.
func modelInput[M adk.MessageType](_ context.Context, instruction string, input *adk.TypedAgentInput[M]) ([]M, error) {
	messages := make([]M, 0, len(input.Messages)+1)
	if instruction != "" {
		messages = append(messages, systemMessage[M](instruction))
	}
	return append(messages, input.Messages...), nil
}

func systemMessage[M adk.MessageType](text string) M {
	var m any = schema.SystemMessage(text)
	if _, ordinary := any(*new(M)).(*schema.Message); !ordinary {
		m = schema.SystemAgenticMessage(text)
	}
	return m.(M)
}

// addition gives each run one tool more, and a text about it.
type addition[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	tool        tool.BaseTool
	instruction string
}

// ToolsInside shows the tool to package adk/picture.
func (a *addition[M]) ToolsInside() []tool.BaseTool { return []tool.BaseTool{a.tool} }

// BeforeAgent implements [adk.TypedChatModelAgentMiddleware].
func (a *addition[M]) BeforeAgent(
	ctx context.Context, run *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	if run == nil {
		return ctx, nil, nil
	}
	changed := *run
	changed.Tools = append(slices.Clip(run.Tools), a.tool)
	if a.instruction != "" {
		changed.Instruction += "\n\n" + a.instruction
	}
	return ctx, &changed, nil
}
