package validhistory

import (
	"context"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// Config configures [New]. nil stands for one without settings.
type Config struct {
	// Options are rules that not all providers have.
	Options
	// Strict has a history that is not valid end the run with an [*InvalidError], instead of a repair.
	Strict bool
	// OnRepair, if set, is called after each repair. It is called in the run's goroutine.
	OnRepair func(ctx context.Context, problems []Problem)
	// Placeholder makes the result of a call that has none. Default: a sentence that says so.
	Placeholder func(ctx context.Context, toolName, callID string) string
}

type middleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	conf Config
}

// New makes the middleware for agents on ordinary messages.
func New(ctx context.Context, config *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, config)
}

// NewTyped makes the middleware. It does not fail. One middleware may serve any number of agents and runs at once.
func NewTyped[M adk.MessageType](_ context.Context, config *Config) (adk.TypedChatModelAgentMiddleware[M], error) {
	m := &middleware[M]{}
	if config != nil {
		m.conf = *config
	}
	return m, nil
}

// BeforeModelRewriteState repairs the history, so that it stays repaired.
func (m *middleware[M]) BeforeModelRewriteState(
	ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if state == nil {
		return ctx, nil, nil
	}
	messages, changed, err := m.valid(ctx, state.Messages)
	if err != nil || !changed {
		return ctx, state, err
	}
	repaired := *state
	repaired.Messages = messages
	return ctx, &repaired, nil
}

// valid returns a valid history.
func (m *middleware[M]) valid(ctx context.Context, messages []M) (repaired []M, changed bool, err error) {
	if sound(messages, m.conf.Options) {
		return messages, false, nil
	}
	var placeholder func(toolName, callID string) string
	if m.conf.Placeholder != nil {
		placeholder = func(toolName, callID string) string { return m.conf.Placeholder(ctx, toolName, callID) }
	}
	repaired, problems := Repair(messages, m.conf.Options, placeholder)
	if m.conf.Strict {
		return messages, false, &InvalidError{Problems: problems}
	}
	if m.conf.OnRepair != nil {
		m.conf.OnRepair(ctx, problems)
	}
	return repaired, true, nil
}

// WrapModel looks at what is really sent: wrappers outside and retries may have changed it.
func (m *middleware[M]) WrapModel(
	_ context.Context, inner model.BaseModel[M], _ *adk.TypedModelContext[M],
) (model.BaseModel[M], error) {
	return &checkedModel[M]{m, inner}, nil
}

type checkedModel[M adk.MessageType] struct {
	middleware *middleware[M]
	inner      model.BaseModel[M]
}

func (c *checkedModel[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (none M, err error) {
	input, _, err = c.middleware.valid(ctx, input)
	if err != nil {
		return none, err
	}
	return c.inner.Generate(ctx, input, opts...)
}

func (c *checkedModel[M]) Stream(
	ctx context.Context, input []M, opts ...model.Option,
) (*schema.StreamReader[M], error) {
	input, _, err := c.middleware.valid(ctx, input)
	if err != nil {
		return nil, err
	}
	return c.inner.Stream(ctx, input, opts...)
}
