package adk

import (
	"context"
	"slices"

	"github.com/weftgo/weft/internal/safe"
)

// guardHook runs user code of a hook and turns a panic into an error, so that it can be told whose it was.
func guardHook(hook func() error) (err error) {
	defer safe.Recover(&err)
	return hook()
}

// beforeAgent runs the hooks of that name. The contexts that they return chain.
func (s *handlerSet[M]) runBeforeAgent(ctx context.Context, rc *ChatModelAgentContext) (context.Context, *ChatModelAgentContext, error) {
	for i := range s.beforeAgent {
		h := &s.beforeAgent[i]
		err := guardHook(func() error {
			nextCtx, next, err := h.BeforeAgent(ctx, rc)
			if err == nil {
				ctx, rc = orElse(nextCtx, ctx), orElsePtr(next, rc)
			}
			return err
		})
		if err != nil {
			return nil, nil, h.failed("BeforeAgent", err)
		}
	}
	return ctx, rc, nil
}

// runBeforeModel runs what comes before a turn of the model.
func (s *handlerSet[M]) runBeforeModel(ctx context.Context, state *TypedChatModelAgentState[M], mc *TypedModelContext[M]) (context.Context, *TypedChatModelAgentState[M], error) {
	for i := range s.structs {
		if err := runStructHook(ctx, s.structs[i].BeforeChatModel, state); err != nil {
			return ctx, state, err
		}
	}
	for i := range s.beforeModel {
		h := &s.beforeModel[i]
		if r, ok := h.TypedChatModelAgentMiddleware.(beforeModelHistoryRewriter[M]); ok {
			nextCtx, messages, err := r.BeforeModelRewriteHistory(ctx, state.Messages)
			if err != nil {
				return ctx, state, err
			}
			ctx, state = orElse(nextCtx, ctx), state.withMessages(messages)
		}
		nextCtx, next, err := h.BeforeModelRewriteState(ctx, state, mc)
		if err != nil {
			return ctx, state, err
		}
		ctx, state = orElse(nextCtx, ctx), orElsePtr(next, state)
	}
	return ctx, state, nil
}

// runAfterModel runs what comes after a turn of the model.
func (s *handlerSet[M]) runAfterModel(ctx context.Context, state *TypedChatModelAgentState[M], mc *TypedModelContext[M]) (*TypedChatModelAgentState[M], error) {
	for i := range s.afterModel {
		h := &s.afterModel[i]
		if r, ok := h.TypedChatModelAgentMiddleware.(afterModelHistoryRewriter[M]); ok {
			nextCtx, messages, err := r.AfterModelRewriteHistory(ctx, state.Messages)
			if err != nil {
				return state, err
			}
			ctx, state = orElse(nextCtx, ctx), state.withMessages(messages)
		}
		nextCtx, next, err := h.AfterModelRewriteState(ctx, state, mc)
		if err != nil {
			return state, err
		}
		ctx, state = orElse(nextCtx, ctx), orElsePtr(next, state)
	}
	for i := range s.structs {
		if err := runStructHook(ctx, s.structs[i].AfterChatModel, state); err != nil {
			return state, err
		}
	}
	return state, nil
}

// runAfterToolCalls runs the hooks between the results of a round and whatever comes next. The context is for the
// run's own hook.
func (s *handlerSet[M]) runAfterToolCalls(ctx context.Context, state *TypedChatModelAgentState[M], tc *ToolCallsContext) (context.Context, *TypedChatModelAgentState[M], error) {
	for i := range s.afterToolCalls {
		nextCtx, next, err := s.afterToolCalls[i].AfterToolCallsRewriteState(ctx, state, tc)
		if err != nil {
			return ctx, state, err
		}
		ctx, state = orElse(nextCtx, ctx), orElsePtr(next, state)
	}
	return ctx, state, nil
}

// runFinalAnswer has the answer judged, until one rejects it.
func (s *handlerSet[M]) runFinalAnswer(ctx context.Context, state *TypedChatModelAgentState[M]) (FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
	for i := range s.finalAnswer {
		nextCtx, decision, next, err := s.finalAnswer[i].BeforeFinalAnswer(ctx, state)
		if err != nil {
			return decision, state, err
		}
		ctx, state = orElse(nextCtx, ctx), orElsePtr(next, state)
		if decision == RejectFinalAnswer {
			return RejectFinalAnswer, state, nil
		}
	}
	return AcceptFinalAnswer, state, nil
}

// runAfterAgent tells that the run has succeeded.
func (s *handlerSet[M]) runAfterAgent(ctx context.Context, state *TypedChatModelAgentState[M]) error {
	for i := range s.afterAgent {
		h := &s.afterAgent[i]
		err := guardHook(func() error {
			next, err := h.AfterAgent(ctx, state)
			ctx = orElse(next, ctx)
			return err
		})
		if err != nil {
			return h.failed("AfterAgent", err)
		}
	}
	return nil
}

// runStructHook runs a function of an [AgentMiddleware], which exists for ordinary messages only.
func runStructHook[M MessageType](ctx context.Context, hook func(context.Context, *ChatModelAgentState) error, state *TypedChatModelAgentState[M]) error {
	s, ok := any(state).(*ChatModelAgentState)
	if hook == nil || !ok {
		return nil
	}
	return hook(ctx, s)
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
