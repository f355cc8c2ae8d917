package adk

import (
	"context"

	"github.com/weftgo/weft/adk/internal/eager"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// newEagerTools starts tool calls while the model still streams the message that makes them.
func newEagerTools(node *compose.ToolsNode, config *compose.ToolsNodeConfig) *eager.Tools {
	limit := config.MaxParallelCalls
	if config.ExecuteSequentially {
		limit = 1
	}
	call := func(ctx context.Context, call schema.ToolCall, opts []tool.Option) (text *schema.StreamReader[string], result *schema.StreamReader[*schema.ToolResult], err error) {
		defer safe.Recover(&err)
		text, result, _, err = compose.InternalStreamSingleToolCall(node, ctx, call, opts...)
		return text, result, err
	}
	return &eager.Tools{Call: call, Limit: limit, IsFinal: isFinal, Stopped: errStopped}
}

// startSpeculation returns nil if the agent does not run tools early. Methods of a nil speculation do nothing.
func startSpeculation[M MessageType](t *modelTurn[M]) *eager.Speculation {
	tools := t.chain.eager
	if tools == nil {
		return nil
	}
	// The calls belong to the tools node: to its address, and to the context of the run rather than the context of the
	// turn.
	s := &eager.Speculation{
		Run: t.run, Tools: tools, Options: t.run.options.tools,
		Context: core.Beside(t.nodeCtx, compose.AddressSegmentNode, toolsNode),
	}
	if t.run.durable != nil {
		// Should the process die before the answer is saved, the model would be asked again, and nothing would tell
		// that a call of its next answer has been made already.
		s.Allowed = t.run.Repeatable
	}
	if t.run.agent.family.isOfFlow() { // which transfer of an answer is carried out is known when the answer is whole
		allowed := s.Allowed
		s.Allowed = func(name string) bool { return name != TransferToAgentToolName && (allowed == nil || allowed(name)) }
	}
	return s
}

// adoptEarlyCalls gives the tools node the calls of the message that run already. From now on their events are out.
func adoptEarlyCalls[M MessageType](ctx context.Context, input *schema.Message) ([]compose.EarlyToolCall, error) {
	r := agentRunFrom[M](ctx)
	if r == nil || r.speculation == nil {
		return nil, nil
	}
	calls, err := r.speculation.AdoptInto(ctx, input.ToolCalls)
	if err != nil {
		return nil, err
	}
	return calls, r.speculation.Publish()
}

// keepSpeculation gives up the calls that run already if the message that the run continues with makes none.
func (r *agentRun[M]) keepSpeculation(last M) {
	if r.speculation != nil && !opsOf[M]().hasToolCalls(last) {
		r.speculation.Close()
		r.speculation = nil
	}
}

// earlyCall returns the early call of the run that ctx belongs to, nil in an ordinary one.
func (r *agentRun[M]) earlyCall(ctx context.Context) *eager.Call {
	if !r.agent.conf.ToolsConfig.EagerExecution {
		return nil
	}
	return eager.CallIn(ctx, r)
}
