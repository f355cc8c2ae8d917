package plantask

import (
	"context"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

type middleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	tools []tool.BaseTool
}

// New makes the middleware for agents on ordinary messages.
func New(ctx context.Context, config *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, config)
}

// NewTyped makes the middleware, which adds the tools TaskCreate, TaskGet, TaskUpdate and TaskList to each run. It
// fails if the configuration is not complete; the backend is not used before a tool is called. One middleware may serve
// any number of agents and runs at once: they share the list.
func NewTyped[M adk.MessageType](_ context.Context, config *Config) (adk.TypedChatModelAgentMiddleware[M], error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	return &middleware[M]{tools: newTools(newList(config))}, nil
}

// BeforeAgent adds the tools.
func (m *middleware[M]) BeforeAgent(
	ctx context.Context, runCtx *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	if runCtx == nil {
		return ctx, nil, nil
	}
	changed := *runCtx
	changed.Tools = slices.Concat(runCtx.Tools, m.tools)
	return ctx, &changed, nil
}
