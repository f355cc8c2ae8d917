package adk

import (
	"context"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// agentRuntime implements the exported generic types and functions, for one kind of message.
//
// A package that uses generic code compiles it for itself, with everything that can be reached from there: each package
// of a user would compile the whole runtime. An interface ends that. So what is exported does nothing but call the
// interface, and the runtime is compiled with this package alone. [messageRuntime] is the same for messages. See
// docs/decisions/0009.
type agentRuntime[M MessageType] interface {
	newAgent(conf *TypedChatModelAgentConfig[M]) (chatAgent[M], error)
	newAgentTool(agent TypedAgent[M], options []AgentToolOption) tool.BaseTool
	newModelEventSender() TypedChatModelAgentMiddleware[M]
	newToolEventSender() TypedChatModelAgentMiddleware[M]

	run(ctx context.Context, r *TypedRunner[M], messages []M, opts []AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]]
	resume(ctx context.Context, r *TypedRunner[M], checkPointID string, params *ResumeParams, opts []AgentRunOption) (*AsyncIterator[*TypedAgentEvent[M]], error)
	sendEvent(ctx context.Context, event *TypedAgentEvent[M]) error
}

// compiled is the runtime for M.
type compiled[M MessageType] struct{}

// They are any, so that no other package learns what is behind them.
var (
	chatRuntime    any = agentRuntime[*schema.Message](compiled[*schema.Message]{})
	agenticRuntime any = agentRuntime[*schema.AgenticMessage](compiled[*schema.AgenticMessage]{})
)

// runtimeOf returns the runtime for M.
func runtimeOf[M MessageType]() agentRuntime[M] {
	if e, ok := chatRuntime.(agentRuntime[M]); ok {
		return e
	}
	return agenticRuntime.(agentRuntime[M])
}
