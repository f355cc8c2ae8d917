package adk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/same"
	"github.com/weftgo/weft/schema"
)

// agentPlan is an agent made ready to run, at its first run. It is shared by all runs.
type agentPlan[M MessageType] struct {
	agent          *chatModelAgent[M]
	instruction    string
	tools          []tool.BaseTool
	returnDirectly map[string]bool
	// middlewares wrap every tool call, the first one outermost.
	middlewares []compose.ToolMiddleware
	// graph is for the tools above; derived is the last one that was made for other tools.
	graph   *reactGraph[M]
	derived atomic.Pointer[reactGraph[M]]
}

func newAgentPlan[M MessageType](ctx context.Context, a *chatModelAgent[M]) (*agentPlan[M], error) {
	conf := &a.conf
	p := &agentPlan[M]{
		agent:          a,
		tools:          slices.Clip(conf.ToolsConfig.Tools),
		returnDirectly: maps.Clone(conf.ToolsConfig.ReturnDirectly),
		middlewares:    toolMiddlewares(conf, a.handlers),
	}
	if p.returnDirectly == nil {
		p.returnDirectly = map[string]bool{}
	}
	instructions := []string{conf.Instruction}
	if targets := a.family.freeze(); len(targets) > 0 {
		p.tools = append(p.tools, &transferTool[M]{a, targets})
		p.returnDirectly[TransferToAgentToolName] = true
		instructions = append(instructions, transferInstruction(ctx, targets))
	}
	if conf.Exit != nil {
		info, err := toolInfo(ctx, conf.Exit)
		if err != nil {
			return nil, fmt.Errorf("exit tool: %w", err)
		}
		p.tools = append(p.tools, conf.Exit)
		p.returnDirectly[info.Name] = true
	}
	for _, m := range conf.Middlewares {
		p.tools = append(p.tools, m.AdditionalTools...)
		instructions = append(instructions, m.AdditionalInstruction)
	}
	instructions = slices.DeleteFunc(instructions, func(s string) bool { return s == "" })
	p.instruction = strings.Join(instructions, "\n\n")
	var err error
	p.graph, err = newReactGraph(ctx, p, p.tools)
	return p, err
}

// toolMiddlewares are all that wrap tool calls, from the outside in.
func toolMiddlewares[M MessageType](conf *TypedChatModelAgentConfig[M], handlers *handlerSet[M]) []compose.ToolMiddleware {
	all := []compose.ToolMiddleware{durableTools[M](), watchedTools[M]()}
	if !handlers.toolSender {
		all = append(all, toolEventSender[M]())
	}
	all = append(all, conf.ToolsConfig.ToolCallMiddlewares...)
	for _, m := range conf.Middlewares {
		if w := m.WrapToolCall; w.Invokable != nil || w.Streamable != nil || w.EnhancedInvokable != nil || w.EnhancedStreamable != nil {
			all = append(all, w)
		}
	}
	all = append(all, abortableTools[M]())
	all = append(all, handlerToolMiddlewares(handlers)...)
	return append(all, mistakenTools[M]())
}

// graphFor returns the graph for the tools of a run. Runs that change the tools in the same way share one.
func (p *agentPlan[M]) graphFor(ctx context.Context, tools []tool.BaseTool) (*reactGraph[M], error) {
	if sameTools(tools, p.graph.tools) {
		return p.graph, nil
	}
	if d := p.derived.Load(); d != nil && sameTools(tools, d.tools) {
		return d, nil
	}
	g, err := newReactGraph(ctx, p, tools)
	if err != nil {
		return nil, err
	}
	p.derived.Store(g)
	return g, nil
}

// sameTools reports whether both lists hold the same instances. Tools that cannot be compared never count as the same.
func sameTools(a, b []tool.BaseTool) bool {
	return slices.EqualFunc(a, b, func(x, y tool.BaseTool) bool { return same.Value(x, y) })
}

func toolInfos(ctx context.Context, tools []tool.BaseTool) ([]*schema.ToolInfo, error) {
	infos := make([]*schema.ToolInfo, 0, len(tools))
	for i, t := range tools {
		info, err := toolInfo(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("tool at index %d: %w", i, err)
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// lastOfEachName returns what the model is shown: of several tools with one name the last one is called, and providers
// refuse to be shown two. shadowed has the last one for each of the others, by their places.
func lastOfEachName(infos []*schema.ToolInfo) (shown []*schema.ToolInfo, shadowed map[int]int) {
	last := make(map[string]int, len(infos))
	for i, info := range infos {
		last[info.Name] = i
	}
	if len(last) == len(infos) {
		return infos, nil
	}
	shadowed = map[int]int{}
	for i, info := range infos {
		if j := last[info.Name]; j == i {
			shown = append(shown, info)
		} else {
			shadowed[i] = j
		}
	}
	return shown, shadowed
}

func toolInfo(ctx context.Context, t tool.BaseTool) (info *schema.ToolInfo, err error) {
	if t == nil {
		return nil, errors.New("the tool is nil")
	}
	defer blame("Info", &err)
	info, err = t.Info(ctx)
	if err == nil && info == nil {
		err = errors.New("it returned neither an info nor an error")
	}
	return info, err
}
