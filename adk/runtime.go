package adk

import (
	"context"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// engine is the runtime behind the exported generic types and functions, for one kind of message.
//
// A package that uses generic code compiles it for itself, with everything that can be reached from there: each package
// of a user would compile the whole runtime. An interface ends that. So what is exported does nothing but call the
// engine, and the runtime is compiled with this package alone. See docs/decisions/0009.
type engine[M MessageType] interface {
	newAgent(conf *TypedChatModelAgentConfig[M]) (chatAgent[M], error)
	newAgentTool(agent TypedAgent[M], options []AgentToolOption) tool.BaseTool
	newModelEventSender() TypedChatModelAgentMiddleware[M]
	newToolEventSender() TypedChatModelAgentMiddleware[M]

	run(ctx context.Context, r *TypedRunner[M], messages []M, opts []AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]]
	resume(ctx context.Context, r *TypedRunner[M], checkPointID string, params *ResumeParams, opts []AgentRunOption) (*AsyncIterator[*TypedAgentEvent[M]], error)
	sendEvent(ctx context.Context, event *TypedAgentEvent[M]) error

	userMessage(text string) M
	messageID(m M) string
	ensureMessageID(m M)
	concat(ctx context.Context, s *schema.StreamReader[M]) (M, error)
	encodeVariant(v *TypedMessageVariant[M]) ([]byte, error)
	decodeVariant(v *TypedMessageVariant[M], data []byte) error
}

// compiled is the engine for M.
type compiled[M MessageType] struct{}

// They are any, so that no other package learns what is behind them.
var (
	chatEngine    any = engine[*schema.Message](compiled[*schema.Message]{})
	agenticEngine any = engine[*schema.AgenticMessage](compiled[*schema.AgenticMessage]{})
)

// engineOf returns the engine for M.
func engineOf[M MessageType]() engine[M] {
	if e, ok := chatEngine.(engine[M]); ok {
		return e
	}
	return agenticEngine.(engine[M])
}
