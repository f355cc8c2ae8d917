package toolsearch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// initializedKey is the run-local value that says that the tools of the run were hidden.
const initializedKey = "__toolsearch_initialized__"

// Config configures [New].
type Config struct {
	// DynamicTools are the tools to hide. They can be called at all times. Required.
	DynamicTools []tool.BaseTool
	// UseModelToolSearch is for models that search for deferred tools by themselves.
	UseModelToolSearch bool
}

type middleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	byModel bool
	index   *index
	// tools has the tools that are added to a run: tool_search and the dynamic tools.
	tools    []tool.BaseTool
	reminder string
}

// New makes the middleware for agents on ordinary messages.
func New(ctx context.Context, config *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, config)
}

// NewTyped makes the middleware. It asks the dynamic tools for their Info, once, and fails if there are none, if one
// fails, or if two have the same name. One middleware may serve any number of agents and runs at once.
func NewTyped[M adk.MessageType](ctx context.Context, config *Config) (adk.TypedChatModelAgentMiddleware[M], error) {
	switch {
	case config == nil:
		return nil, errors.New("config is required")
	case len(config.DynamicTools) == 0:
		return nil, errors.New("tools is required")
	}
	infos := make([]*schema.ToolInfo, len(config.DynamicTools))
	names := map[string]bool{toolName: true}
	for i, t := range config.DynamicTools {
		info, err := infoOf(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("failed to get dynamic tool info: %w", err)
		}
		if names[info.Name] {
			return nil, fmt.Errorf("duplicate dynamic tool name: %s", info.Name)
		}
		names[info.Name] = true
		infos[i] = info
	}
	m := &middleware[M]{byModel: config.UseModelToolSearch, index: newIndex(infos)}
	m.tools = append([]tool.BaseTool{newSearchTool(m.index, m.byModel)}, config.DynamicTools...)
	m.reminder = reminderText(infos)
	return m, nil
}

func infoOf(ctx context.Context, t tool.BaseTool) (info *schema.ToolInfo, err error) {
	if t == nil {
		return nil, errors.New("the tool is nil")
	}
	defer safe.Recover(&err)
	if info, err = t.Info(ctx); err == nil && info == nil {
		err = errors.New("its Info returned neither an info nor an error")
	}
	return info, err
}

// BeforeAgent adds the tools. The context that it returns remembers how much of the history was looked through.
func (m *middleware[M]) BeforeAgent(
	ctx context.Context, runCtx *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	if runCtx == nil {
		return ctx, nil, nil
	}
	changed := *runCtx
	changed.Tools = slices.Concat(runCtx.Tools, m.tools)
	if m.byModel {
		changed.ToolSearchTool = searchInfo()
		return ctx, &changed, nil
	}
	return context.WithValue(ctx, selectionKey[M]{m}, newSelection[M](m.index)), &changed, nil
}

// BeforeModelRewriteState sees to the reminder and to which tools the model is offered.
func (m *middleware[M]) BeforeModelRewriteState(
	ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if state == nil {
		return ctx, nil, nil
	}
	initialized := isInitialized(ctx)
	if initialized && reminded(state.Messages) && (m.byModel || len(m.missing(ctx, state)) == 0) {
		return ctx, state, nil
	}
	next := *state
	m.remind(&next)
	if !initialized {
		if m.byModel {
			m.index.defers(&next.ToolInfos, &next.DeferredToolInfos)
		} else {
			next.ToolInfos = m.index.without(next.ToolInfos, false)
		}
		// Outside a run there is nothing to remember it by: it is done again, with the same outcome.
		_ = adk.SetRunLocalValue(ctx, initializedKey, true)
	}
	if !m.byModel {
		next.ToolInfos = append(slices.Clip(next.ToolInfos), m.missing(ctx, &next)...)
	}
	return ctx, &next, nil
}

func isInitialized(ctx context.Context) bool {
	value, _, err := adk.GetRunLocalValue(ctx, initializedKey)
	done, _ := value.(bool)
	return err == nil && done
}
