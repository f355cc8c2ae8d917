package adk

import (
	"context"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// The forms in which a tool call runs. A Wrap…ToolCall hook gets one and returns another around it.
type (
	// InvokableToolCallEndpoint runs a tool that gives its text at once.
	InvokableToolCallEndpoint func(ctx context.Context, argumentsInJSON string, opts ...tool.Option) (string, error)
	// StreamableToolCallEndpoint runs a tool that streams text.
	StreamableToolCallEndpoint func(ctx context.Context, argumentsInJSON string, opts ...tool.Option) (*schema.StreamReader[string], error)
	// EnhancedInvokableToolCallEndpoint runs a tool with multi-modal results.
	EnhancedInvokableToolCallEndpoint func(ctx context.Context, toolArgument *schema.ToolArgument, opts ...tool.Option) (*schema.ToolResult, error)
	// EnhancedStreamableToolCallEndpoint runs a tool that streams multi-modal results.
	EnhancedStreamableToolCallEndpoint func(ctx context.Context, toolArgument *schema.ToolArgument, opts ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error)
)

// ToolContext says which tool call a hook is called for.
type ToolContext struct {
	// Name is the name that the model wrote, which may be an alias.
	Name string
	// CallID is unique among the calls of one assistant message.
	CallID string
}

// ToolCallsContext lists the calls of an assistant message, in their order.
type ToolCallsContext struct {
	ToolCalls []ToolContext
}

// TypedModelContext describes the model call to come to a hook. It is for reading.
type TypedModelContext[M MessageType] struct {
	// Tools are the tools in the call's options. What the model will be offered is in the state: ToolInfos there decides.
	Tools []*schema.ToolInfo
	// ModelRetryConfig and ModelFailoverConfig are the agent's, nil if it has none.
	ModelRetryConfig    *TypedModelRetryConfig[M]
	ModelFailoverConfig *ModelFailoverConfig[M]
}

// ModelContext is the context of model calls with ordinary messages.
//
// Its fields, which are documented at [TypedModelContext]:
//
//   - Tools: the tools in the options of the call
//   - ModelRetryConfig, ModelFailoverConfig: the agent's, nil if it has none
type ModelContext = TypedModelContext[*schema.Message]

// ChatModelAgentContext holds the settings at the start of a run. BeforeAgent may change it for that run.
type ChatModelAgentContext struct {
	// Instruction is the system prompt, with what the agent adds to it.
	Instruction string
	// Tools can be called in the run, and are described to the model. The list decides, also when it is empty.
	Tools []tool.BaseTool
	// ReturnDirectly has the names of tools whose result ends the run; entries that are false do not count. Never nil.
	ReturnDirectly map[string]bool
	// ToolSearchTool is described to models that look for deferred tools by themselves.
	ToolSearchTool *schema.ToolInfo
}

// TypedChatModelAgentState is the state that hooks of a run read and change: the history, and the tools that the model is
// offered. Its slices may be appended to; elements that are there already must be replaced, not changed.
type TypedChatModelAgentState[M MessageType] struct {
	Messages []M
	// ToolInfos are offered to the model. nil and empty alike offer none.
	ToolInfos []*schema.ToolInfo
	// DeferredToolInfos are for models that search for tools themselves.
	DeferredToolInfos []*schema.ToolInfo
}

// ChatModelAgentState is the state of agents on ordinary messages.
//
// Its fields, which are documented at [TypedChatModelAgentState]:
//
//   - Messages: the history
//   - ToolInfos: the tools that the model is offered
//   - DeferredToolInfos: tools for models that search for tools themselves
type ChatModelAgentState = TypedChatModelAgentState[*schema.Message]

// FinalAnswerDecision is the verdict of BeforeFinalAnswer about an answer.
type FinalAnswerDecision int

const (
	// AcceptFinalAnswer lets the answer end the run.
	AcceptFinalAnswer FinalAnswerDecision = iota
	// RejectFinalAnswer has the model called again, with the messages of the state.
	RejectFinalAnswer
)

// TypedChatModelAgentMiddleware changes how an agent works. Embed [TypedBaseChatModelAgentMiddleware] and write the
// methods that you need: a method that is left to the base costs nothing in a run.
//
// Middlewares are called in the order of the configuration, and the first one that wraps is outermost. An error of a
// hook ends the run with that error; hooks after it are not called. A nil state or context that comes back without an
// error means that nothing changed. One middleware serves all runs of its agents at the same time: what belongs to a
// run goes into the context that BeforeAgent returns, or into run-local values ([SetRunLocalValue]).
//
// What a hook was given stays the hook's: the runtime does not change it later. The hooks in the order of a run:
type TypedChatModelAgentMiddleware[M MessageType] interface {
	// BeforeAgent is called once for each Run and Resume, before anything else, in the caller's goroutine. The context
	// that it returns becomes the context of the whole run. There are no run-local values yet; [SendEvent] works.
	BeforeAgent(ctx context.Context, runCtx *ChatModelAgentContext) (context.Context, *ChatModelAgentContext, error)
	// BeforeModelRewriteState is called before each turn of the model, once, however often the call is retried. The state
	// that it returns is kept, and given to the model. The context becomes the context of the turn: of wrappers, model
	// and AfterModelRewriteState.
	BeforeModelRewriteState(ctx context.Context, state *TypedChatModelAgentState[M], mc *TypedModelContext[M]) (context.Context, *TypedChatModelAgentState[M], error)
	// WrapModel is called for each call of the model, retries and failover among them, and returns a model around m. It is
	// called when the wrapper of the middleware before it calls on, with the context and the tools that this one passes on,
	// and not at all if that answers by itself. What it changes in the input is not kept; changes of the answer are.
	WrapModel(ctx context.Context, m model.BaseModel[M], mc *TypedModelContext[M]) (model.BaseModel[M], error)
	// AfterModelRewriteState is called after each turn of the model, whose answer is the last message. The state that
	// it returns is kept, and its last message decides how the run continues.
	AfterModelRewriteState(ctx context.Context, state *TypedChatModelAgentState[M], mc *TypedModelContext[M]) (context.Context, *TypedChatModelAgentState[M], error)
	// WrapInvokableToolCall and the three hooks after it are called for each tool call, the one that fits the tool.
	// Arguments have gone through aliases and the arguments handler. An error fails the call.
	WrapInvokableToolCall(ctx context.Context, endpoint InvokableToolCallEndpoint, tCtx *ToolContext) (InvokableToolCallEndpoint, error)
	WrapStreamableToolCall(ctx context.Context, endpoint StreamableToolCallEndpoint, tCtx *ToolContext) (StreamableToolCallEndpoint, error)
	WrapEnhancedInvokableToolCall(ctx context.Context, endpoint EnhancedInvokableToolCallEndpoint, tCtx *ToolContext) (EnhancedInvokableToolCallEndpoint, error)
	WrapEnhancedStreamableToolCall(ctx context.Context, endpoint EnhancedStreamableToolCallEndpoint, tCtx *ToolContext) (EnhancedStreamableToolCallEndpoint, error)
	// AfterToolCallsRewriteState is called after all calls of a message, with their results in the state, which is
	// kept.
	AfterToolCallsRewriteState(ctx context.Context, state *TypedChatModelAgentState[M], tc *ToolCallsContext) (context.Context, *TypedChatModelAgentState[M], error)
	// BeforeFinalAnswer judges what would end the run: an answer without tool calls, or a result that is returned
	// directly. It is the last message. The first middleware that rejects decides; the state is kept either way, and
	// after a rejection the model is called with it. Events that are out stay out.
	BeforeFinalAnswer(ctx context.Context, state *TypedChatModelAgentState[M]) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error)
	// AfterAgent is called at the end of a run that succeeded, after its last event. What it changes in the state is
	// seen by later middlewares only.
	AfterAgent(ctx context.Context, state *TypedChatModelAgentState[M]) (context.Context, error)
}

// ChatModelAgentMiddleware is the middleware of agents on ordinary messages.
//
// Its methods, which are documented at [TypedChatModelAgentMiddleware]:
//
//   - BeforeAgent: at the start of a run; may change instruction and tools
//   - BeforeModelRewriteState: before each turn of the model; may change the history and the tools that are offered
//   - WrapModel: around each call of the model
//   - AfterModelRewriteState: after each turn of the model; may change its answer in the history
//   - WrapInvokableToolCall: around each call of a tool that returns text
//   - WrapStreamableToolCall: around each call of a tool that streams text
//   - WrapEnhancedInvokableToolCall: around each call of a tool that returns parts (text, images, …)
//   - WrapEnhancedStreamableToolCall: around each call of a tool that streams parts
//   - AfterToolCallsRewriteState: after all tool calls of a message
//   - BeforeFinalAnswer: before an answer ends the run; may reject it
//   - AfterAgent: at the end of a run that succeeded
type ChatModelAgentMiddleware = TypedChatModelAgentMiddleware[*schema.Message]

// TypedBaseChatModelAgentMiddleware has every hook and does nothing in it. It may be embedded by value or as a nil
// pointer.
type TypedBaseChatModelAgentMiddleware[M MessageType] struct{}

// BaseChatModelAgentMiddleware is the base for agents on ordinary messages.
//
// Its methods, which are documented at [TypedBaseChatModelAgentMiddleware]:
//
//   - BeforeAgent, BeforeModelRewriteState, WrapModel, AfterModelRewriteState: return what they get
//   - WrapInvokableToolCall, WrapStreamableToolCall: return the endpoint that they get
//   - WrapEnhancedInvokableToolCall, WrapEnhancedStreamableToolCall: return the endpoint that they get
//   - AfterToolCallsRewriteState, AfterAgent: return what they get
//   - BeforeFinalAnswer: accepts
type BaseChatModelAgentMiddleware = TypedBaseChatModelAgentMiddleware[*schema.Message]

// Earlier names of the same things.
type (
	// HandlerMiddleware is [ChatModelAgentMiddleware].
	HandlerMiddleware = ChatModelAgentMiddleware
	// BaseHandlerMiddleware is [BaseChatModelAgentMiddleware].
	BaseHandlerMiddleware = BaseChatModelAgentMiddleware
	// AgentContext is [ChatModelAgentContext].
	AgentContext = ChatModelAgentContext
)

// BeforeAgent implements [TypedChatModelAgentMiddleware].
func (*TypedBaseChatModelAgentMiddleware[M]) BeforeAgent(
	ctx context.Context, runCtx *ChatModelAgentContext,
) (context.Context, *ChatModelAgentContext, error) {
	return ctx, runCtx, nil
}

// AfterAgent implements [TypedChatModelAgentMiddleware].
func (*TypedBaseChatModelAgentMiddleware[M]) AfterAgent(
	ctx context.Context, _ *TypedChatModelAgentState[M],
) (context.Context, error) {
	return ctx, nil
}

// BeforeModelRewriteState implements [TypedChatModelAgentMiddleware].
func (*TypedBaseChatModelAgentMiddleware[M]) BeforeModelRewriteState(
	ctx context.Context, state *TypedChatModelAgentState[M], _ *TypedModelContext[M],
) (context.Context, *TypedChatModelAgentState[M], error) {
	return ctx, state, nil
}

// AfterModelRewriteState implements [TypedChatModelAgentMiddleware].
func (*TypedBaseChatModelAgentMiddleware[M]) AfterModelRewriteState(
	ctx context.Context, state *TypedChatModelAgentState[M], _ *TypedModelContext[M],
) (context.Context, *TypedChatModelAgentState[M], error) {
	return ctx, state, nil
}

// AfterToolCallsRewriteState implements [TypedChatModelAgentMiddleware].
func (*TypedBaseChatModelAgentMiddleware[M]) AfterToolCallsRewriteState(
	ctx context.Context, state *TypedChatModelAgentState[M], _ *ToolCallsContext,
) (context.Context, *TypedChatModelAgentState[M], error) {
	return ctx, state, nil
}

// BeforeFinalAnswer implements [TypedChatModelAgentMiddleware].
func (*TypedBaseChatModelAgentMiddleware[M]) BeforeFinalAnswer(
	ctx context.Context, state *TypedChatModelAgentState[M],
) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
	return ctx, AcceptFinalAnswer, state, nil
}

// WrapInvokableToolCall implements [TypedChatModelAgentMiddleware].
func (*TypedBaseChatModelAgentMiddleware[M]) WrapInvokableToolCall(
	_ context.Context, endpoint InvokableToolCallEndpoint, _ *ToolContext,
) (InvokableToolCallEndpoint, error) {
	return endpoint, nil
}

// WrapStreamableToolCall implements [TypedChatModelAgentMiddleware].
func (*TypedBaseChatModelAgentMiddleware[M]) WrapStreamableToolCall(
	_ context.Context, endpoint StreamableToolCallEndpoint, _ *ToolContext,
) (StreamableToolCallEndpoint, error) {
	return endpoint, nil
}

// WrapEnhancedInvokableToolCall implements [TypedChatModelAgentMiddleware].
func (*TypedBaseChatModelAgentMiddleware[M]) WrapEnhancedInvokableToolCall(
	_ context.Context, endpoint EnhancedInvokableToolCallEndpoint, _ *ToolContext,
) (EnhancedInvokableToolCallEndpoint, error) {
	return endpoint, nil
}

// WrapEnhancedStreamableToolCall implements [TypedChatModelAgentMiddleware].
func (*TypedBaseChatModelAgentMiddleware[M]) WrapEnhancedStreamableToolCall(
	_ context.Context, endpoint EnhancedStreamableToolCallEndpoint, _ *ToolContext,
) (EnhancedStreamableToolCallEndpoint, error) {
	return endpoint, nil
}

// WrapModel implements [TypedChatModelAgentMiddleware].
func (*TypedBaseChatModelAgentMiddleware[M]) WrapModel(
	_ context.Context, m model.BaseModel[M], _ *TypedModelContext[M],
) (model.BaseModel[M], error) {
	return m, nil
}

// The hooks of early versions, called if a middleware has them in addition to the hooks of the interface.
type (
	beforeModelHistoryRewriter[M MessageType] interface {
		// BeforeModelRewriteHistory is called right before BeforeModelRewriteState of the same middleware.
		BeforeModelRewriteHistory(ctx context.Context, messages []M) (context.Context, []M, error)
	}
	afterModelHistoryRewriter[M MessageType] interface {
		// AfterModelRewriteHistory is called right before AfterModelRewriteState of the same middleware.
		AfterModelRewriteHistory(ctx context.Context, messages []M) (context.Context, []M, error)
	}
	toolWrapper interface {
		// WrapTool is called once in a run for each tool, and wraps it inside everything that wraps calls.
		WrapTool(ctx context.Context, t tool.BaseTool) (tool.BaseTool, error)
	}
)

// AgentMiddleware changes how an agent works by functions and values. [ChatModelAgentMiddleware] can do more; an
// agent may have both.
type AgentMiddleware struct {
	// AdditionalInstruction is put behind the agent's instruction, after an empty line.
	AdditionalInstruction string
	// AdditionalTools are put behind the agent's tools.
	AdditionalTools []tool.BaseTool
	// BeforeChatModel may change the state before each turn of the model, before the hooks of any
	// [ChatModelAgentMiddleware]. Agents on ordinary messages only, as AfterChatModel.
	BeforeChatModel func(context.Context, *ChatModelAgentState) error
	// AfterChatModel may change the state after each turn of the model, after those hooks.
	AfterChatModel func(context.Context, *ChatModelAgentState) error
	// WrapToolCall wraps tool calls, inside ToolsConfig.ToolCallMiddlewares and outside any [ChatModelAgentMiddleware].
	WrapToolCall compose.ToolMiddleware
}
