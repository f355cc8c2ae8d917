package adk

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// eventSenderModelWrapper is the sender of model events at a place of the user's choice.
type eventSenderModelWrapper[M MessageType] struct {
	TypedBaseChatModelAgentMiddleware[M]
}

// NewEventSenderModelWrapper returns a middleware that sends the events of the model's answers from its place among
// the middlewares, with the answer as it is there. An agent with one has no other sender. As the last middleware it
// sends what the model itself gave.
func NewEventSenderModelWrapper() ChatModelAgentMiddleware {
	return NewTypedEventSenderModelWrapper[*schema.Message]()
}

// NewTypedEventSenderModelWrapper is [NewEventSenderModelWrapper] for any kind of message.
func NewTypedEventSenderModelWrapper[M MessageType]() TypedChatModelAgentMiddleware[M] {
	return engineOf[M]().newModelEventSender()
}

func (compiled[M]) newModelEventSender() TypedChatModelAgentMiddleware[M] {
	return &eventSenderModelWrapper[M]{}
}

func (*eventSenderModelWrapper[M]) WrapModel(_ context.Context, m model.BaseModel[M], _ *TypedModelContext[M]) (model.BaseModel[M], error) {
	return sendingModel[M]{m}, nil
}

// sendingModel sends what a model answers as an event.
type sendingModel[M MessageType] struct{ inner model.BaseModel[M] }

type attemptKey[M MessageType] struct{}

// attemptIn returns the attempt that a call belongs to.
func attemptIn[M MessageType](ctx context.Context, method string) (*modelAttempt[M], error) {
	a, _ := ctx.Value(attemptKey[M]{}).(*modelAttempt[M])
	if a == nil {
		return nil, fmt.Errorf("generator is nil when sending event in %s: ensure agent state is properly initialized", method)
	}
	return a, nil
}

func (m sendingModel[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (answer M, err error) {
	a, err := attemptIn[M](ctx, "Generate")
	if err != nil {
		return answer, err
	}
	answer, err = m.inner.Generate(ctx, input, opts...)
	if ops := opsOf[M](); err == nil && !ops.isNil(answer) {
		answer = ops.identified(answer, newMark())
		a.sendMessage(answer)
	}
	return answer, err
}

func (m sendingModel[M]) Stream(ctx context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	a, err := attemptIn[M](ctx, "Stream")
	if err != nil {
		return nil, err
	}
	s, err := m.inner.Stream(ctx, input, opts...)
	if err != nil || s == nil {
		return s, err
	}
	return a.sendStream(schema.StreamReaderWithConvert(s, opsOf[M]().identifyOnce(newMark())), nil), nil
}
