package approval

import (
	"context"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
)

// runTools are the tools of a run; a name that is not among them may be an alias.
type runTools struct {
	// atBeforeAgent has the tools that were there when BeforeAgent of this middleware was called. Middlewares after it
	// may add and remove some.
	atBeforeAgent []tool.BaseTool
	// final has the tools that the run works with, nil outside a run.
	final []tool.BaseTool
}

type runToolsKey struct{}

// toolsOf are the tools of the run, nil if nothing is known of them.
func toolsOf(ctx context.Context) *runTools {
	tools, _ := ctx.Value(runToolsKey{}).(*runTools)
	return tools
}

// BeforeAgent gives the run a place for its tools.
func (m *middleware[M]) BeforeAgent(
	ctx context.Context, runCtx *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	if runCtx != nil && m.conf.Ask == nil {
		ctx = context.WithValue(ctx, runToolsKey{}, &runTools{atBeforeAgent: runCtx.Tools})
	}
	return ctx, runCtx, nil
}

// WrapTool sees every tool of the run after all BeforeAgent hooks, and leaves it as it is.
func (m *middleware[M]) WrapTool(ctx context.Context, t tool.BaseTool) (tool.BaseTool, error) {
	if tools := toolsOf(ctx); tools != nil {
		tools.final = append(tools.final, t)
	}
	return t, nil
}

// has reports whether a tool has the name.
func (r *runTools) has(ctx context.Context, name string) bool {
	if r == nil {
		return false
	}
	tools := r.final
	if tools == nil {
		tools = r.atBeforeAgent
	}
	for _, t := range tools {
		if t == nil {
			continue
		}
		if info, err := t.Info(ctx); err == nil && info != nil && info.Name == name {
			return true
		}
	}
	return false
}
