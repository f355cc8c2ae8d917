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
	adopted, err := r.speculation.adoptInto(ctx, input.ToolCalls)
	if err != nil {
		return nil, err
	}
	if r.stopsInTools {
		for i := range adopted {
			if adopted[i] == nil {
				adopted[i] = giveUp
			}
		}
	}
	return adopted, r.speculation.publish()
}

// giveUp stands for a call that is not to run now.
func giveUp(context.Context) (*schema.StreamReader[string], *schema.StreamReader[*schema.ToolResult], error) {
	return nil, nil, compose.ErrToolCallGivenUp
}

// keepSpeculation gives up the calls that run already if the message that the run goes on with makes none.
func (r *agentRun[M]) keepSpeculation(last M) {
	if r.speculation != nil && !opsOf[M]().hasToolCalls(last) {
		r.speculation.close()
		r.speculation = nil
	}
}
