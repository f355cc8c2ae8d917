package adk

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/override"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// runBeforeAgent runs the hooks of that name. The contexts that they return chain.
func (s *handlerSet[M]) runBeforeAgent(
	ctx context.Context, rc *ChatModelAgentContext,
) (_ context.Context, _ *ChatModelAgentContext, err error) {
	for i := range s.beforeAgent {
		if ctx, rc, err = s.beforeAgent[i].doBeforeAgent(ctx, rc); err != nil {
			return nil, nil, err
		}
	}
	return ctx, rc, nil
}

// runBeforeModel runs what comes before a turn of the model.
func (s *handlerSet[M]) runBeforeModel(
	ctx context.Context, state *TypedChatModelAgentState[M], mc *TypedModelContext[M],
) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
	for i := range s.structs {
		if err := runStructHook(ctx, s.structs[i].index, "BeforeChatModel", s.structs[i].BeforeChatModel, state); err != nil {
			return ctx, state, err
		}
	}
	for i := range s.beforeModel {
		h := &s.beforeModel[i]
		if ctx, state, err = h.doBeforeModelHistory(ctx, state); err != nil {
			return ctx, state, err
		}
		if ctx, state, err = h.doBeforeModel(ctx, state, mc); err != nil {
			return ctx, state, err
		}
	}
	return ctx, state, nil
}

// runAfterModel runs what comes after a turn of the model.
func (s *handlerSet[M]) runAfterModel(
	ctx context.Context, state *TypedChatModelAgentState[M], mc *TypedModelContext[M],
) (_ *TypedChatModelAgentState[M], err error) {
	for i := range s.afterModel {
		h := &s.afterModel[i]
		if ctx, state, err = h.doAfterModelHistory(ctx, state); err != nil {
			return state, err
		}
		if ctx, state, err = h.doAfterModel(ctx, state, mc); err != nil {
			return state, err
		}
	}
	for i := range s.structs {
		if err := runStructHook(ctx, s.structs[i].index, "AfterChatModel", s.structs[i].AfterChatModel, state); err != nil {
			return state, err
		}
	}
	return state, nil
}

// runAfterToolCalls runs the hooks between the results of a round and whatever comes next. The context is for the
// run's own hook.
func (s *handlerSet[M]) runAfterToolCalls(
	ctx context.Context, state *TypedChatModelAgentState[M], tc *ToolCallsContext,
) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
	for i := range s.afterToolCalls {
		if ctx, state, err = s.afterToolCalls[i].doAfterToolCalls(ctx, state, tc); err != nil {
			return ctx, state, err
		}
	}
	return ctx, state, nil
}

// runFinalAnswer has the answer judged, until one rejects it.
func (s *handlerSet[M]) runFinalAnswer(
	ctx context.Context, state *TypedChatModelAgentState[M],
) (decision FinalAnswerDecision, _ *TypedChatModelAgentState[M], err error) {
	for i := range s.finalAnswer {
		if ctx, decision, state, err = s.finalAnswer[i].doFinalAnswer(ctx, state); err != nil {
			return decision, state, err
		}
		if decision == RejectFinalAnswer {
			return RejectFinalAnswer, state, nil
		}
	}
	return AcceptFinalAnswer, state, nil
}

// runAfterAgent runs the hooks behind a run that has succeeded.
func (s *handlerSet[M]) runAfterAgent(ctx context.Context, state *TypedChatModelAgentState[M]) (err error) {
	for i := range s.afterAgent {
		if ctx, err = s.afterAgent[i].doAfterAgent(ctx, state); err != nil {
			return err
		}
	}
	return nil
}

// Each hook of one middleware: nil leaves what there is unchanged, and an error tells whose it is.

func (h *handler[M]) doBeforeAgent(
	ctx context.Context, rc *ChatModelAgentContext,
) (_ context.Context, _ *ChatModelAgentContext, err error) {
	defer h.blame("BeforeAgent", &err)
	nextCtx, next, err := h.BeforeAgent(ctx, rc)
	return orElse(nextCtx, ctx), orElsePtr(next, rc), err
}

func (h *handler[M]) doWrapTool(ctx context.Context, t tool.BaseTool) (_ tool.BaseTool, err error) {
	defer h.blame("WrapTool", &err)
	wrapped, err := h.TypedChatModelAgentMiddleware.(toolWrapper).WrapTool(ctx, t)
	if wrapped == nil {
		wrapped = t
	}
	return wrapped, err
}

func (h *handler[M]) doBeforeModelHistory(
	ctx context.Context, state *TypedChatModelAgentState[M],
) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
	r, ok := h.TypedChatModelAgentMiddleware.(beforeModelHistoryRewriter[M])
	if !ok {
		return ctx, state, nil
	}
	defer h.blame("BeforeModelRewriteHistory", &err)
	nextCtx, messages, err := r.BeforeModelRewriteHistory(ctx, state.Messages)
	return orElse(nextCtx, ctx), state.withMessages(messages), err
}

func (h *handler[M]) doBeforeModel(
	ctx context.Context, state *TypedChatModelAgentState[M], mc *TypedModelContext[M],
) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
	defer h.blame("BeforeModelRewriteState", &err)
	nextCtx, next, err := h.BeforeModelRewriteState(ctx, state, mc)
	return orElse(nextCtx, ctx), orElsePtr(next, state), err
}

func (h *handler[M]) doWrapModel(
	ctx context.Context, m model.BaseModel[M], mc *TypedModelContext[M],
) (_ model.BaseModel[M], err error) {
	defer h.blame("WrapModel", &err)
	wrapped, err := h.WrapModel(ctx, m, mc)
	if wrapped == nil {
		wrapped = m
	}
	return wrapped, err
}

func (h *handler[M]) doAfterModelHistory(
	ctx context.Context, state *TypedChatModelAgentState[M],
) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
	r, ok := h.TypedChatModelAgentMiddleware.(afterModelHistoryRewriter[M])
	if !ok {
		return ctx, state, nil
	}
	defer h.blame("AfterModelRewriteHistory", &err)
	nextCtx, messages, err := r.AfterModelRewriteHistory(ctx, state.Messages)
	return orElse(nextCtx, ctx), state.withMessages(messages), err
}

func (h *handler[M]) doAfterModel(
	ctx context.Context, state *TypedChatModelAgentState[M], mc *TypedModelContext[M],
) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
	defer h.blame("AfterModelRewriteState", &err)
	nextCtx, next, err := h.AfterModelRewriteState(ctx, state, mc)
	return orElse(nextCtx, ctx), orElsePtr(next, state), err
}

func (h *handler[M]) doAfterToolCalls(
	ctx context.Context, state *TypedChatModelAgentState[M], tc *ToolCallsContext,
) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
	defer h.blame("AfterToolCallsRewriteState", &err)
	nextCtx, next, err := h.AfterToolCallsRewriteState(ctx, state, tc)
	return orElse(nextCtx, ctx), orElsePtr(next, state), err
}

func (h *handler[M]) doFinalAnswer(
	ctx context.Context, state *TypedChatModelAgentState[M],
) (_ context.Context, decision FinalAnswerDecision, _ *TypedChatModelAgentState[M], err error) {
	defer h.blame("BeforeFinalAnswer", &err)
	nextCtx, decision, next, err := h.BeforeFinalAnswer(ctx, state)
	return orElse(nextCtx, ctx), decision, orElsePtr(next, state), err
}

func (h *handler[M]) doAfterAgent(
	ctx context.Context, state *TypedChatModelAgentState[M],
) (_ context.Context, err error) {
	defer h.blame("AfterAgent", &err)
	next, err := h.AfterAgent(ctx, state)
	return orElse(next, ctx), err
}

// runStructHook runs a function of the [AgentMiddleware] at a place in the configuration. They exist for ordinary
// messages only.
func runStructHook[M MessageType](
	ctx context.Context,
	place int,
	name string,
	hook func(context.Context, *ChatModelAgentState) error,
	state *TypedChatModelAgentState[M],
) error {
	s, ok := any(state).(*ChatModelAgentState)
	if hook == nil || !ok {
		return nil
	}
	if err := guardStructHook(ctx, name, hook, s); err != nil {
		return fmt.Errorf("middleware[%d] %w", place, err)
	}
	return nil
}

func guardStructHook(
	ctx context.Context,
	name string,
	hook func(context.Context, *ChatModelAgentState) error,
	state *ChatModelAgentState,
) (err error) {
	defer blame(name, &err)
	return hook(ctx, state)
}

// withMessages is a state with another history. The one that hooks have seen stays as it is. nil changes nothing.
func (s *TypedChatModelAgentState[M]) withMessages(messages []M) *TypedChatModelAgentState[M] {
	if messages == nil {
		return s
	}
	next := *s
	next.Messages = slices.Clip(messages)
	return &next
}

func orElse(ctx, unchanged context.Context) context.Context {
	if ctx == nil {
		return unchanged
	}
	return ctx
}

func orElsePtr[T any](p, unchanged *T) *T {
	if p == nil {
		return unchanged
	}
	return p
}

// handlerSet is the middlewares of an agent, sorted by what they do: a hook runs only those that have it.
type handlerSet[M MessageType] struct {
	structs []structHooks // ordinary messages only
	// seesMessages: a middleware gets messages into its hands, and may change them.
	seesMessages bool

	beforeAgent    []handler[M]
	beforeModel    []handler[M]
	wrapModel      []handler[M]
	afterModel     []handler[M]
	afterToolCalls []handler[M]
	finalAnswer    []handler[M]
	afterAgent     []handler[M]

	wrapInvokable, wrapStreamable                 []handler[M]
	wrapEnhancedInvokable, wrapEnhancedStreamable []handler[M]
	wrapTool                                      []handler[M]

	// modelSender and toolSender: a middleware sends the events, instead of the agent.
	modelSender, toolSender bool
}

// handler is a middleware with its place in the configuration.
type handler[M MessageType] struct {
	TypedChatModelAgentMiddleware[M]
	index int
	// everyToolCall returns the function that its hooks for tool calls are made of, if they are.
	everyToolCall func() ToolCallWrapper
}

// structHooks is an [AgentMiddleware] with its place in the configuration.
type structHooks struct {
	AgentMiddleware
	index int
}

// failed says which middleware failed in which hook.
func (h *handler[M]) failed(hook string, err error) error {
	return fmt.Errorf("handler[%d] (%T) %s failed: %w", h.index, h.TypedChatModelAgentMiddleware, hook, err)
}

func newHandlerSet[M MessageType](
	structs []AgentMiddleware, all []TypedChatModelAgentMiddleware[M],
) (*handlerSet[M], error) {
	s := new(handlerSet[M])
	for i, m := range structs {
		if m.BeforeChatModel != nil || m.AfterChatModel != nil {
			s.structs = append(s.structs, structHooks{m, i})
		}
	}
	var none M
	if _, ordinary := any(none).(*schema.Message); !ordinary {
		s.structs = nil
	}
	base := reflect.TypeFor[TypedBaseChatModelAgentMiddleware[M]]()
	for i, m := range all {
		if m == nil || reflect.ValueOf(m).Kind() == reflect.Pointer && reflect.ValueOf(m).IsNil() {
			return nil, fmt.Errorf("agent 'Handlers' has nil at index %d: leave it out or put a middleware there", i)
		}
		s.sort(handler[M]{TypedChatModelAgentMiddleware: m, index: i}, base)
	}
	s.seesMessages = s.aroundModel() || s.judgesAnswers() || len(s.afterToolCalls) > 0
	return s, nil
}

// sort puts a middleware into the list of each hook that it has.
func (s *handlerSet[M]) sort(h handler[M], base reflect.Type) {
	m := h.TypedChatModelAgentMiddleware
	t := reflect.TypeOf(m)
	h.everyToolCall = everyToolCallOf(m)
	_, beforeHistory := m.(beforeModelHistoryRewriter[M])
	_, afterHistory := m.(afterModelHistoryRewriter[M])
	_, wrapsTools := m.(toolWrapper)
	for _, hook := range []struct {
		list   *[]handler[M]
		method string
		also   bool
	}{
		{&s.beforeAgent, "BeforeAgent", false},
		{&s.beforeModel, "BeforeModelRewriteState", beforeHistory},
		{&s.wrapModel, "WrapModel", false},
		{&s.afterModel, "AfterModelRewriteState", afterHistory},
		{&s.afterToolCalls, "AfterToolCallsRewriteState", false},
		{&s.finalAnswer, "BeforeFinalAnswer", false},
		{&s.afterAgent, "AfterAgent", false},
		{&s.wrapInvokable, "WrapInvokableToolCall", false},
		{&s.wrapStreamable, "WrapStreamableToolCall", false},
		{&s.wrapEnhancedInvokable, "WrapEnhancedInvokableToolCall", false},
		{&s.wrapEnhancedStreamable, "WrapEnhancedStreamableToolCall", false},
	} {
		if hook.also || override.Of(t, base, hook.method) {
			*hook.list = append(*hook.list, h)
		}
	}
	if wrapsTools {
		s.wrapTool = append(s.wrapTool, h)
	}
	if sender, ok := m.(eventSender); ok {
		models, tools := sender.sendsEvents()
		s.modelSender, s.toolSender = s.modelSender || models, s.toolSender || tools
	}
}

// eventSender is a middleware that sends the events of models, or of tools, from its place among the middlewares.
type eventSender interface{ sendsEvents() (models, tools bool) }

// everyToolCallOf finds the function that the hooks for tool calls of a middleware are made of; nil if one of them is
// its own.
func everyToolCallOf[M MessageType](m TypedChatModelAgentMiddleware[M]) func() ToolCallWrapper {
	hooks, ok := m.(interface{ everyToolCall() ToolCallWrapper })
	if !ok {
		return nil
	}
	for _, method := range []string{"WrapInvokableToolCall", "WrapStreamableToolCall",
		"WrapEnhancedInvokableToolCall", "WrapEnhancedStreamableToolCall"} {
		if override.Of(reflect.TypeOf(m), reflect.TypeFor[TypedToolCallHooks[M]](), method) {
			return nil
		}
	}
	return hooks.everyToolCall
}

// wrapsToolCalls reports whether there are hooks for tool calls.
func (s *handlerSet[M]) wrapsToolCalls() bool {
	return len(s.wrapInvokable)+len(s.wrapStreamable)+len(s.wrapEnhancedInvokable)+len(s.wrapEnhancedStreamable) > 0
}

// beforeTurn reports whether anything runs before a turn of the model.
func (s *handlerSet[M]) beforeTurn() bool { return len(s.structs)+len(s.beforeModel) > 0 }

// afterTurn reports whether anything runs after a turn of the model.
func (s *handlerSet[M]) afterTurn() bool { return len(s.structs)+len(s.afterModel) > 0 }

// aroundModel reports whether a turn runs anything around the model.
func (s *handlerSet[M]) aroundModel() bool {
	return s.beforeTurn() || s.afterTurn() || len(s.wrapModel) > 0
}

// judgesAnswers reports whether anything runs between the last message and the end of the run.
func (s *handlerSet[M]) judgesAnswers() bool { return len(s.finalAnswer)+len(s.afterAgent) > 0 }

// blame is the function blame for a hook of the middleware.
func (h *handler[M]) blame(hook string, err *error) {
	if v := recover(); v != nil {
		*err = safe.NewPanicError(v, debug.Stack())
	}
	if *err != nil {
		*err = h.failed(hook, *err)
	}
}
