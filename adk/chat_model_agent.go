package adk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// ErrExceedMaxIterations ends a run, wrapped, whose model still calls tools when no iteration is left.
var ErrExceedMaxIterations = errors.New("exceeds max iterations")

// defaultMaxIterations is how often an agent with tools may call its model.
const defaultMaxIterations = 20

// ToolsConfig says what tools an agent has.
type ToolsConfig struct {
	compose.ToolsNodeConfig
	// ReturnDirectly has the names of tools whose result ends the run, in place of another answer of the model.
	// Entries that are false do not count. If a message calls several of them, the first call counts.
	ReturnDirectly map[string]bool
	// EmitInternalEvents has the events of agents that run as tools (see [NewAgentTool]) appear among those of this
	// agent.
	EmitInternalEvents bool
	// EagerExecution starts a tool as soon as its arguments have come, while the model still streams. It has an effect
	// in runs with streaming only. A tool may have run for an answer that is rejected afterwards, by a retry for
	// example: its context is cancelled then and its result dropped, but what it has done is done. In runs that are
	// saved at [EveryStep] it is for tools that are an [IdempotentTool].
	EagerExecution bool
}

// TypedGenModelInput makes the messages of the first model call of a run.
type TypedGenModelInput[M MessageType] func(ctx context.Context, instruction string, input *TypedAgentInput[M]) ([]M, error)

// GenModelInput is the function for ordinary messages.
type GenModelInput = TypedGenModelInput[*schema.Message]

// TypedChatModelAgentConfig configures a [TypedChatModelAgent].
type TypedChatModelAgentConfig[M MessageType] struct {
	// Name and Description tell the agent apart for events, callbacks and other agents.
	Name, Description string
	// Instruction is the system prompt; none if empty. See GenModelInput.
	Instruction string
	// Model answers. Required. What tools there are is told with each call (model.WithTools).
	Model model.BaseModel[M]
	// ToolsConfig has the tools that the model may call.
	ToolsConfig ToolsConfig
	// GenModelInput replaces how a run's first messages are made. The default puts the instruction, as a system
	// message, in front of the input. For ordinary messages it formats the instruction as an f-string with the
	// session values, if there are any: {Name} becomes the value of Name, and braces of other meaning must be doubled.
	GenModelInput TypedGenModelInput[M]
	// Exit is a tool that ends the run with its result, such as [ExitTool].
	Exit tool.BaseTool
	// OutputKey, if not empty, is the session value that a successful run leaves the text of its last message in.
	OutputKey string
	// MaxIterations limits the turns of the model in a run of an agent with tools, or with a middleware that judges
	// final answers. Retries do not count. Default 20.
	MaxIterations int
	// Middlewares and Handlers change how the agent works.
	Middlewares []AgentMiddleware
	Handlers    []TypedChatModelAgentMiddleware[M]
	// ModelRetryConfig and ModelFailoverConfig, if not nil, say what happens when a call of the model fails.
	ModelRetryConfig    *TypedModelRetryConfig[M]
	ModelFailoverConfig *ModelFailoverConfig[M]
}

// ChatModelAgentConfig configures a [ChatModelAgent].
type ChatModelAgentConfig = TypedChatModelAgentConfig[*schema.Message]

// TypedChatModelAgent lets a model answer, runs the tools that it calls, and calls it again with the results until it
// calls no more (ReAct, https://arxiv.org/abs/2210.03629). It is safe for concurrent use: runs share nothing that
// changes.
type TypedChatModelAgent[M MessageType] struct {
	conf     TypedChatModelAgentConfig[M]
	handlers *handlerSet[M]
	// ownInput: what GenModelInput returns is the run's alone, with room to grow.
	ownInput bool
	// prepared is the compiled agent, made by the first run that succeeds to.
	prepared atomic.Pointer[agentPlan[M]]
	family   family[M]
}

// family is the agents around an agent, to which it can hand a run over. It is fixed by the first run.
type family[M MessageType] struct {
	mu            sync.Mutex
	frozen        bool
	subAgents     []TypedAgent[M]
	subAgentsSet  bool
	parent        TypedAgent[M]
	noWayToParent bool
}

// ChatModelAgent is the agent on ordinary messages.
type ChatModelAgent = TypedChatModelAgent[*schema.Message]

// NewChatModelAgent makes an agent on ordinary messages. config and its slices may be changed afterwards.
func NewChatModelAgent(ctx context.Context, config *ChatModelAgentConfig) (*ChatModelAgent, error) {
	return NewTypedChatModelAgent(ctx, config)
}

// NewTypedChatModelAgent is [NewChatModelAgent] for any kind of message.
func NewTypedChatModelAgent[M MessageType](_ context.Context, config *TypedChatModelAgentConfig[M]) (*TypedChatModelAgent[M], error) {
	if config == nil {
		return nil, errors.New("agent config is nil")
	}
	if failover := config.ModelFailoverConfig; failover != nil {
		switch {
		case failover.GetFailoverModel == nil:
			return nil, errors.New("ModelFailoverConfig.GetFailoverModel is required when ModelFailoverConfig is set")
		case failover.ShouldFailover == nil:
			return nil, errors.New("ModelFailoverConfig.ShouldFailover is required when ModelFailoverConfig is set")
		}
	}
	if config.Model == nil {
		return nil, errors.New("agent 'Model' is required")
	}
	a := &TypedChatModelAgent[M]{conf: *config}
	a.conf.ToolsConfig.Tools = slices.Clone(config.ToolsConfig.Tools)
	a.conf.ToolsConfig.ToolCallMiddlewares = slices.Clone(config.ToolsConfig.ToolCallMiddlewares)
	a.conf.ToolsConfig.ReturnDirectly = maps.Clone(config.ToolsConfig.ReturnDirectly)
	a.conf.Middlewares = slices.Clone(config.Middlewares)
	a.conf.Handlers = slices.Clone(config.Handlers)
	if a.conf.MaxIterations <= 0 {
		a.conf.MaxIterations = defaultMaxIterations
	}
	if a.conf.GenModelInput == nil {
		a.conf.GenModelInput = defaultGenModelInput[M]
		a.ownInput = true
	} else {
		a.conf.GenModelInput = stoppableInput(a.conf.GenModelInput)
	}
	switch a.conf.Exit.(type) {
	case ExitTool, *ExitTool:
		compileArguments[exitArguments]()
	}
	var err error
	a.handlers, err = newHandlerSet(a.conf.Middlewares, a.conf.Handlers)
	return a, err
}

// Name returns the configured name.
func (a *TypedChatModelAgent[M]) Name(_ context.Context) string { return a.conf.Name }

// Description returns the configured description.
func (a *TypedChatModelAgent[M]) Description(_ context.Context) string { return a.conf.Description }

// GetType returns "ChatModel".
func (a *TypedChatModelAgent[M]) GetType() string { return "ChatModel" }

var errFrozen = errors.New("agent has been frozen after run")

// OnSetSubAgents tells the agent to which agents it can hand a run over. It must be called before the first run.
func (a *TypedChatModelAgent[M]) OnSetSubAgents(_ context.Context, subAgents []TypedAgent[M]) error {
	return a.family.change(func(f *family[M]) error {
		if f.subAgentsSet {
			return errors.New("agent's sub-agents has already been set")
		}
		f.subAgentsSet, f.subAgents = true, slices.Clone(subAgents)
		compileArguments[transferArguments]()
		return nil
	})
}

// OnSetAsSubAgent tells the agent which agent it can hand a run back to. It must be called before the first run.
func (a *TypedChatModelAgent[M]) OnSetAsSubAgent(_ context.Context, parent TypedAgent[M]) error {
	return a.family.change(func(f *family[M]) error {
		if f.parent != nil {
			return errors.New("agent has already been set as a sub-agent of another agent")
		}
		f.parent = parent
		return nil
	})
}

// OnDisallowTransferToParent takes the way back away. It must be called before the first run.
func (a *TypedChatModelAgent[M]) OnDisallowTransferToParent(_ context.Context) error {
	return a.family.change(func(f *family[M]) error {
		f.noWayToParent = true
		return nil
	})
}

func (f *family[M]) change(how func(*family[M]) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.frozen {
		return errFrozen
	}
	return how(f)
}

// freeze ends the time for changes and returns whom the agent can hand a run over to.
func (f *family[M]) freeze() []TypedAgent[M] {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frozen = true
	targets := slices.Clone(f.subAgents)
	if f.parent != nil && !f.noWayToParent {
		targets = append(targets, f.parent)
	}
	return targets
}

// Run starts a run. See [TypedAgent]. BeforeAgent hooks are called before it returns. To stop a run, cancel ctx.
func (a *TypedChatModelAgent[M]) Run(ctx context.Context, input *TypedAgentInput[M], opts ...AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]] {
	return launch(ctx, a, assignment[M]{input: input, opts: opts})
}

// plan returns the compiled agent. A failure is not kept: a tool that could not tell its info now may do so for the
// next run.
func (a *TypedChatModelAgent[M]) plan(ctx context.Context) (*agentPlan[M], error) {
	if p := a.prepared.Load(); p != nil {
		return p, nil
	}
	p, err := newAgentPlan(ctx, a)
	if err != nil {
		return nil, err
	}
	a.prepared.CompareAndSwap(nil, p)
	return a.prepared.Load(), nil
}

// defaultGenModelInput puts the instruction in front of the input.
func defaultGenModelInput[M MessageType](ctx context.Context, instruction string, input *TypedAgentInput[M]) ([]M, error) {
	messages := make([]M, 0, len(input.Messages)+1+historyRoom)
	if instruction != "" {
		instruction, err := formatInstruction[M](ctx, instruction)
		if err != nil {
			return nil, err
		}
		messages = append(messages, opsOf[M]().system(instruction))
	}
	return append(messages, input.Messages...), nil
}

// formatInstruction fills in session values, for ordinary messages.
func formatInstruction[M MessageType](ctx context.Context, instruction string) (string, error) {
	var m M
	if _, ordinary := any(m).(*schema.Message); !ordinary || sessionFrom(ctx).empty() {
		return instruction, nil
	}
	// Not with a chat template, which would tell the callback handlers of the agent that it starts and ends.
	formatted, err := schema.SystemMessage(instruction).Format(ctx, GetSessionValues(ctx), schema.FString)
	if err != nil {
		return "", fmt.Errorf("defaultGenModelInput: failed to format instruction using FString template: %w "+
			"(the instruction is a template because the session has values; "+
			"if its braces mean something else, double them or set GenModelInput)", err)
	}
	return formatted[0].Content, nil
}
