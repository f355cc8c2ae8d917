package adktest

import (
	"context"

	"github.com/weftgo/weft/adk"
)

// Middleware makes an agent report its hooks to the probe, so that runs are stopped in them, too. Which hooks are
// called again after that depends on the way to stop: the agent's own middlewares must bear it.
func (p *Probe[M]) Middleware() adk.TypedChatModelAgentMiddleware[M] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &probedHooks[M]{probe: p, life: p.lives}
}

// probedHooks is the middleware.
type probedHooks[M adk.MessageType] struct {
	adk.TypedBaseChatModelAgentMiddleware[M]
	probe *Probe[M]
	life  int
}

func (h *probedHooks[M]) at(ctx context.Context) error { return h.probe.at(ctx, h.life, atHook) }

func (h *probedHooks[M]) BeforeAgent(
	ctx context.Context, rc *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	return ctx, rc, h.at(ctx)
}

func (h *probedHooks[M]) BeforeModelRewriteState(
	ctx context.Context, s *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	return ctx, s, h.at(ctx)
}

func (h *probedHooks[M]) AfterModelRewriteState(
	ctx context.Context, s *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	return ctx, s, h.at(ctx)
}

func (h *probedHooks[M]) AfterToolCallsRewriteState(
	ctx context.Context, s *adk.TypedChatModelAgentState[M], _ *adk.ToolCallsContext,
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	return ctx, s, h.at(ctx)
}

func (h *probedHooks[M]) BeforeFinalAnswer(
	ctx context.Context, s *adk.TypedChatModelAgentState[M],
) (context.Context, adk.FinalAnswerDecision, *adk.TypedChatModelAgentState[M], error) {
	return ctx, adk.AcceptFinalAnswer, s, h.at(ctx)
}

func (h *probedHooks[M]) AfterAgent(ctx context.Context, _ *adk.TypedChatModelAgentState[M]) (context.Context, error) {
	return ctx, h.at(ctx)
}
