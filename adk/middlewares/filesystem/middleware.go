package filesystem

import (
	"context"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

type middleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	instruction string
	tools       []tool.BaseTool
}

// New makes the middleware for agents on ordinary messages.
func New(ctx context.Context, config *MiddlewareConfig) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, config)
}

// NewTyped makes the middleware. It adds the tools ls, read_file, write_file, edit_file, glob, grep and, with a shell,
// execute to each run. It fails if [MiddlewareConfig.Validate] does, if two tools would have one name, and for
// UseMultiModalRead if the backend is not able to. One middleware may serve any number of agents and runs at once, if
// its backend is safe for that.
func NewTyped[M adk.MessageType](
	_ context.Context, config *MiddlewareConfig,
) (adk.TypedChatModelAgentMiddleware[M], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	own := *config // the caller's may change
	tools, err := newTools(&own)
	if err != nil {
		return nil, err
	}
	m := &middleware[M]{tools: tools}
	if config.CustomSystemPrompt != nil {
		m.instruction = *config.CustomSystemPrompt
	}
	return m, nil
}

// BeforeAgent adds the tools and the prompt.
func (m *middleware[M]) BeforeAgent(
	ctx context.Context, runCtx *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	if runCtx == nil {
		return ctx, nil, nil
	}
	changed := *runCtx
	if m.instruction != "" {
		changed.Instruction += "\n" + m.instruction
	}
	changed.Tools = slices.Concat(runCtx.Tools, m.tools)
	return ctx, &changed, nil
}
