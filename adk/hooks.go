package adk

import (
	"context"
	"fmt"
	"slices"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
)

// runBeforeAgent runs the hooks of that name. The contexts that they return chain.
func (s *handlerSet[M]) runBeforeAgent(ctx context.Context, rc *ChatModelAgentContext) (_ context.Context, _ *ChatModelAgentContext, err error) {
	for i := range s.beforeAgent {
		if ctx, rc, err = s.beforeAgent[i].doBeforeAgent(ctx, rc); err != nil {
			return nil, nil, err
		}
	}
	return ctx, rc, nil
}

// runBeforeModel runs what comes before a turn of the model.
func (s *handlerSet[M]) runBeforeModel(ctx context.Context, state *TypedChatModelAgentState[M], mc *TypedModelContext[M]) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
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
func (s *handlerSet[M]) runAfterModel(ctx context.Context, state *TypedChatModelAgentState[M], mc *TypedModelContext[M]) (_ *TypedChatModelAgentState[M], err error) {
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
func (s *handlerSet[M]) runAfterToolCalls(ctx context.Context, state *TypedChatModelAgentState[M], tc *ToolCallsContext) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
	for i := range s.afterToolCalls {
		if ctx, state, err = s.afterToolCalls[i].doAfterToolCalls(ctx, state, tc); err != nil {
			return ctx, state, err
		}
	}
	return ctx, state, nil
}

// runFinalAnswer has the answer judged, until one rejects it.
func (s *handlerSet[M]) runFinalAnswer(ctx context.Context, state *TypedChatModelAgentState[M]) (decision FinalAnswerDecision, _ *TypedChatModelAgentState[M], err error) {
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

// runAfterAgent tells that the run has succeeded.
func (s *handlerSet[M]) runAfterAgent(ctx context.Context, state *TypedChatModelAgentState[M]) (err error) {
	for i := range s.afterAgent {
		if ctx, err = s.afterAgent[i].doAfterAgent(ctx, state); err != nil {
			return err
		}
	}
	return nil
}

// Each hook of one middleware: nil leaves what there is unchanged, and an error tells whose it is.

func (h *handler[M]) doBeforeAgent(ctx context.Context, rc *ChatModelAgentContext) (_ context.Context, _ *ChatModelAgentContext, err error) {
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

func (h *handler[M]) doBeforeModelHistory(ctx context.Context, state *TypedChatModelAgentState[M]) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
	r, ok := h.TypedChatModelAgentMiddleware.(beforeModelHistoryRewriter[M])
	if !ok {
		return ctx, state, nil
	}
	defer h.blame("BeforeModelRewriteHistory", &err)
	nextCtx, messages, err := r.BeforeModelRewriteHistory(ctx, state.Messages)
	return orElse(nextCtx, ctx), state.withMessages(messages), err
}

func (h *handler[M]) doBeforeModel(ctx context.Context, state *TypedChatModelAgentState[M], mc *TypedModelContext[M]) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
	defer h.blame("BeforeModelRewriteState", &err)
	nextCtx, next, err := h.BeforeModelRewriteState(ctx, state, mc)
	return orElse(nextCtx, ctx), orElsePtr(next, state), err
}

func (h *handler[M]) doWrapModel(ctx context.Context, m model.BaseModel[M], mc *TypedModelContext[M]) (_ model.BaseModel[M], err error) {
	defer h.blame("WrapModel", &err)
	wrapped, err := h.WrapModel(ctx, m, mc)
	if wrapped == nil {
		wrapped = m
	}
	return wrapped, err
}

func (h *handler[M]) doAfterModelHistory(ctx context.Context, state *TypedChatModelAgentState[M]) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
	r, ok := h.TypedChatModelAgentMiddleware.(afterModelHistoryRewriter[M])
	if !ok {
		return ctx, state, nil
	}
	defer h.blame("AfterModelRewriteHistory", &err)
	nextCtx, messages, err := r.AfterModelRewriteHistory(ctx, state.Messages)
	return orElse(nextCtx, ctx), state.withMessages(messages), err
}

func (h *handler[M]) doAfterModel(ctx context.Context, state *TypedChatModelAgentState[M], mc *TypedModelContext[M]) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
	defer h.blame("AfterModelRewriteState", &err)
	nextCtx, next, err := h.AfterModelRewriteState(ctx, state, mc)
	return orElse(nextCtx, ctx), orElsePtr(next, state), err
}

func (h *handler[M]) doAfterToolCalls(ctx context.Context, state *TypedChatModelAgentState[M], tc *ToolCallsContext) (_ context.Context, _ *TypedChatModelAgentState[M], err error) {
	defer h.blame("AfterToolCallsRewriteState", &err)
	nextCtx, next, err := h.AfterToolCallsRewriteState(ctx, state, tc)
	return orElse(nextCtx, ctx), orElsePtr(next, state), err
}

func (h *handler[M]) doFinalAnswer(ctx context.Context, state *TypedChatModelAgentState[M]) (_ context.Context, decision FinalAnswerDecision, _ *TypedChatModelAgentState[M], err error) {
	defer h.blame("BeforeFinalAnswer", &err)
	nextCtx, decision, next, err := h.BeforeFinalAnswer(ctx, state)
	return orElse(nextCtx, ctx), decision, orElsePtr(next, state), err
}

func (h *handler[M]) doAfterAgent(ctx context.Context, state *TypedChatModelAgentState[M]) (_ context.Context, err error) {
	defer h.blame("AfterAgent", &err)
	next, err := h.AfterAgent(ctx, state)
	return orElse(next, ctx), err
}

// runStructHook runs a function of the [AgentMiddleware] at a place in the configuration. They exist for ordinary
// messages only.
func runStructHook[M MessageType](ctx context.Context, place int, name string, hook func(context.Context, *ChatModelAgentState) error, state *TypedChatModelAgentState[M]) error {
	s, ok := any(state).(*ChatModelAgentState)
	if hook == nil || !ok {
		return nil
	}
	if err := guardStructHook(ctx, name, hook, s); err != nil {
		return fmt.Errorf("middleware[%d] %w", place, err)
	}
	return nil
}

func guardStructHook(ctx context.Context, name string, hook func(context.Context, *ChatModelAgentState) error, state *ChatModelAgentState) (err error) {
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
