package adk

import (
	"context"
	"errors"

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
	// ReportMistakes shows a model its mistakes, as the results of the calls, for it to try again: calls of tools that do
	// not exist, arguments that do not fit, transfers to nobody. Tools made by components/tool/utils hold their arguments
	// against their schema then, and apply its defaults. The default is false: each of these is a [ModelMistake] that
	// ends the run, and tools take what they can decode. An UnknownToolsHandler answers its calls itself.
	ReportMistakes bool
	// MaxMistakes is how many answers in a row may be reported, of which every call is a mistake; one good call counts
	// from the start again. A mistake in the answer after them is a [ModelMistake] that ends the run. Default 3.
	MaxMistakes int
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
// changes. It is made by [NewTypedChatModelAgent].
type TypedChatModelAgent[M MessageType] struct{ agent chatAgent[M] }

// ChatModelAgent is the agent on ordinary messages.
type ChatModelAgent = TypedChatModelAgent[*schema.Message]

// NewChatModelAgent makes an agent on ordinary messages. config and its slices may be changed afterwards.
func NewChatModelAgent(ctx context.Context, config *ChatModelAgentConfig) (*ChatModelAgent, error) {
	return NewTypedChatModelAgent(ctx, config)
}

// NewTypedChatModelAgent is [NewChatModelAgent] for any kind of message.
func NewTypedChatModelAgent[M MessageType](_ context.Context, config *TypedChatModelAgentConfig[M]) (*TypedChatModelAgent[M], error) {
	agent, err := engineOf[M]().newAgent(config)
	if err != nil {
		return nil, err
	}
	return &TypedChatModelAgent[M]{agent}, nil
}

// Name returns the configured name.
func (a *TypedChatModelAgent[M]) Name(_ context.Context) string { return a.made().name() }

// Description returns the configured description.
func (a *TypedChatModelAgent[M]) Description(_ context.Context) string { return a.made().description() }

// GetType returns "ChatModel".
func (a *TypedChatModelAgent[M]) GetType() string { return "ChatModel" }

// OnSetSubAgents tells the agent to which agents it can hand a run over. It must be called before the first run.
func (a *TypedChatModelAgent[M]) OnSetSubAgents(_ context.Context, subAgents []TypedAgent[M]) error {
	return a.made().setSubAgents(subAgents)
}

// OnSetAsSubAgent tells the agent which agent it can hand a run back to. It must be called before the first run.
func (a *TypedChatModelAgent[M]) OnSetAsSubAgent(_ context.Context, parent TypedAgent[M]) error {
	return a.made().setParent(parent)
}

// OnDisallowTransferToParent takes the way back away. It must be called before the first run.
func (a *TypedChatModelAgent[M]) OnDisallowTransferToParent(_ context.Context) error {
	return a.made().disallowTransferToParent()
}

// Run starts a run. See [TypedAgent]. BeforeAgent hooks are called before it returns. To stop a run, cancel ctx.
func (a *TypedChatModelAgent[M]) Run(ctx context.Context, input *TypedAgentInput[M], opts ...AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]] {
	return a.made().launch(ctx, assignment[M]{input: input, opts: opts})
}

// Resume goes on with an interrupted run. info must have what the run left: see [ChatModelAgentInterruptInfo]. The
// streaming mode is that of info, and GenModelInput is not called again.
func (a *TypedChatModelAgent[M]) Resume(ctx context.Context, info *ResumeInfo, opts ...AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]] {
	return a.made().resume(ctx, info, opts)
}

// begin makes it a starter.
func (a *TypedChatModelAgent[M]) begin(ctx context.Context, do assignment[M]) task {
	return a.made().begin(ctx, do)
}

// made returns the agent, and panics with what is to be done if there is none. Runners, workflows and tools make an error of
// that.
func (a *TypedChatModelAgent[M]) made() chatAgent[M] {
	if a == nil || a.agent == nil {
		panic("adk: a ChatModelAgent is made by NewChatModelAgent or NewTypedChatModelAgent; this one is a nil pointer or a zero value")
	}
	return a.agent
}
