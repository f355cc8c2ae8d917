package adk

import (
	"context"
	"fmt"
	"math"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// The nodes of the ReAct graph. Callback handlers see them as RunInfo.Name.
const (
	modelNode = "ChatModel"
	toolsNode = "ToolNode"
)

// historyRoom is how many messages fit into the history of a run before it grows.
const historyRoom = 4

// agentPlan is an agent made ready to run: its graph, compiled once. It is immutable and shared by all runs; what
// belongs to a run is in agentRun and agentState.
type agentPlan[M MessageType] struct {
	graph     compose.Runnable[[]M, M]
	toolInfos []*schema.ToolInfo
}

// newAgentPlan builds the graph
//
//	START → ChatModel → (tool calls?) → ToolNode → ChatModel …
//	                  → END
//
// and without tools only START → ChatModel → END: then the first answer is the last, whatever it calls.
func newAgentPlan[M MessageType](ctx context.Context, conf *TypedChatModelAgentConfig[M]) (*agentPlan[M], error) {
	ops := opsOf[M]()
	p := &agentPlan[M]{}
	var err error
	if p.toolInfos, err = toolInfos(ctx, conf.ToolsConfig.Tools); err != nil {
		return nil, err
	}
	withTools := len(p.toolInfos) > 0
	g := compose.NewGraph[[]M, M](compose.WithGenLocalState(func(ctx context.Context) *agentState[M] {
		r := agentRunFrom[M](ctx)
		// The history is copied with room for the answers to come: what GenModelInput returned may be shared.
		history := append(make([]M, 0, len(r.messages)+historyRoom), r.messages...)
		return &agentState[M]{Messages: history, RemainingIterations: r.agent.conf.MaxIterations}
	}))
	chain := newModelChain(conf.Model, p.toolInfos, withTools)
	if err := ops.addModelNode(g, modelNode, chain, compose.WithNodeName(modelNode)); err != nil {
		return nil, err
	}
	if err := g.AddEdge(compose.START, modelNode); err != nil {
		return nil, err
	}
	if withTools {
		err = p.addTools(ctx, g, conf)
	} else {
		err = g.AddEdge(modelNode, compose.END)
	}
	if err != nil {
		return nil, err
	}
	p.graph, err = g.Compile(ctx, compose.WithGraphName(conf.Name), compose.WithMaxRunSteps(math.MaxInt))
	return p, err
}

func (p *agentPlan[M]) addTools(ctx context.Context, g *compose.Graph[[]M, M], conf *TypedChatModelAgentConfig[M]) error {
	ops := opsOf[M]()
	tools := conf.ToolsConfig.ToolsNodeConfig
	tools.UnknownToolsHandler = unknownToolEventSender[M](tools.UnknownToolsHandler)
	tools.ToolCallMiddlewares = append([]compose.ToolMiddleware{toolEventSender[M]()}, tools.ToolCallMiddlewares...)
	err := ops.addToolsNode(ctx, g, toolsNode, &tools,
		compose.WithNodeName(toolsNode), compose.WithStatePostHandler(appendToolResults[M]))
	if err != nil {
		return err
	}
	branch := compose.NewGraphBranch(func(_ context.Context, answer M) (string, error) {
		if ops.hasToolCalls(answer) {
			return toolsNode, nil
		}
		return compose.END, nil
	}, map[string]bool{toolsNode: true, compose.END: true})
	if err := g.AddBranch(modelNode, branch); err != nil {
		return err
	}
	return g.AddEdge(toolsNode, modelNode)
}

// appendToolResults puts the results of a round into the history, with the IDs that their events had.
func appendToolResults[M MessageType](_ context.Context, results []M, state *agentState[M]) ([]M, error) {
	ops := opsOf[M]()
	for _, m := range results { // made by the tools node for this run alone
		if ops.isNil(m) || GetMessageID(m) != "" {
			continue
		}
		toolName, callID := ops.toolCallOf(m)
		ops.replaceExtra(m, ops.extraWith(m, messageIDKey, state.takeToolMessageID(toolName, callID)))
	}
	state.Messages = append(state.Messages, results...)
	return results, nil
}

func toolInfos(ctx context.Context, tools []tool.BaseTool) ([]*schema.ToolInfo, error) {
	infos := make([]*schema.ToolInfo, 0, len(tools))
	for i, t := range tools {
		if t == nil {
			return nil, fmt.Errorf("tool at index %d is nil", i)
		}
		info, err := t.Info(ctx)
		if err != nil {
			return nil, fmt.Errorf("info of the tool at index %d: %w", i, err)
		}
		if info == nil {
			return nil, fmt.Errorf("the tool at index %d returned neither an info nor an error", i)
		}
		infos = append(infos, info)
	}
	return infos, nil
}
