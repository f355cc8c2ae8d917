package adk

import (
	"context"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

func newEagerTools(node *compose.ToolsNode, config *compose.ToolsNodeConfig) *eagerTools {
	limit := config.MaxParallelCalls
	if config.ExecuteSequentially {
		limit = 1
	}
	return &eagerTools{node: node, limit: limit}
}

// adoptEarlyCalls tells the tools node which calls of the message run already. From now on their events are out.
func adoptEarlyCalls[M MessageType](ctx context.Context, input *schema.Message) ([]compose.EarlyToolCall, error) {
	r := agentRunFrom[M](ctx)
	if r == nil || r.speculation == nil {
		return nil, nil
	}
	adopted := r.speculation.adoptInto(input.ToolCalls)
	return adopted, r.speculation.publish()
}
