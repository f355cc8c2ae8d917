package summarization

import (
	"context"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/adk/middlewares/internal/sizecache"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

// contentTypeKey marks messages that a summarization made, with what they hold.
const (
	contentTypeKey     = "_eino_summarization_content_type"
	contentTypeSummary = "summary"
	contentTypeSkills  = "skills"
)

// TypedMiddleware is the middleware that [NewTyped] makes.
type TypedMiddleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	conf  TypedConfig[M]
	tools sizecache.Tools
}

// New makes the middleware for agents on ordinary messages.
func New(ctx context.Context, cfg *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped(ctx, cfg)
}

// NewTyped makes the middleware, a *[TypedMiddleware]. It fails if cfg is nil or has no Model, if a limit in it is
// negative, and if there is a Trigger without a limit. One middleware may serve any number of agents and runs at once.
func NewTyped[M adk.MessageType](_ context.Context, cfg *TypedConfig[M]) (adk.TypedChatModelAgentMiddleware[M], error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	m := &TypedMiddleware[M]{conf: *cfg}
	m.conf.ModelOptions = slices.Clone(cfg.ModelOptions)
	if m.conf.TokenCounter == nil {
		m.conf.TokenCounter = m.countTokens
	}
	if m.conf.Trigger == nil {
		m.conf.Trigger = &TriggerCondition{ContextTokens: defaultContextTokens}
	} else {
		own := *cfg.Trigger
		m.conf.Trigger = &own
	}
	if m.conf.Finalize == nil {
		m.conf.Finalize = func(ctx context.Context, original []M, summary M) ([]M, error) {
			return finalize(ctx, original, summary, nil, m.conf.TranscriptFilePath)
		}
	}
	return m, nil
}

// BeforeModelRewriteState summarizes a history that exceeds the trigger.
func (m *TypedMiddleware[M]) BeforeModelRewriteState(
	ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if state == nil {
		return ctx, nil, nil
	}
	triggered, err := m.triggered(ctx, state)
	if err != nil || !triggered {
		return ctx, state, err
	}
	messages, err := m.Summarize(ctx, state)
	if err != nil {
		return ctx, state, err
	}
	changed := *state
	changed.Messages = messages
	return ctx, &changed, nil
}

// triggered reports whether a history is too long. One that is nothing but a summary is not: another would not help.
func (m *TypedMiddleware[M]) triggered(ctx context.Context, state *adk.TypedChatModelAgentState[M]) (bool, error) {
	t := m.conf.Trigger
	tooLong := t.ContextMessages > 0 && len(state.Messages) > t.ContextMessages
	if !tooLong && t.ContextTokens > 0 {
		tokens, err := m.conf.TokenCounter(ctx, &TypedTokenCounterInput[M]{Messages: state.Messages, Tools: state.ToolInfos})
		if err != nil {
			return false, fmt.Errorf("failed to count tokens: %w", err)
		}
		tooLong = tokens > t.ContextTokens
	}
	if !tooLong {
		return false, nil
	}
	_, rest := splitSystem(state.Messages)
	return slices.ContainsFunc(rest, func(x M) bool { return contentType(x) == "" }), nil
}

// Summarize summarizes the history of a state, however long it is, and returns the new one. The state stays as it is.
// It calls the model, Finalize and Callback, and waits for them.
func (m *TypedMiddleware[M]) Summarize(ctx context.Context, state *adk.TypedChatModelAgentState[M]) ([]M, error) {
	err := m.emit(ctx, &TypedCustomizedAction[M]{Type: ActionTypeBeforeSummarize,
		Before: &TypedBeforeSummarizeAction[M]{Messages: state.Messages}})
	if err != nil {
		return nil, err
	}
	g := &generation[M]{
		m:        m,
		system:   message.NewSystem[M](language.Select(systemPrompt, systemPromptChinese)),
		user:     message.NewUser[M](m.instruction()),
		original: state.Messages,
	}
	summary, input, err := g.run(ctx)
	if err != nil {
		return nil, err
	}
	messages, err := m.conf.Finalize(context.WithValue(ctx, modelInputKey{}, input), state.Messages, summary)
	if err != nil {
		return nil, err
	}
	if m.conf.Callback != nil {
		after := *state
		after.Messages = messages
		if err := m.conf.Callback(ctx, *state, after); err != nil {
			return nil, err
		}
	}
	return messages, m.emit(ctx, &TypedCustomizedAction[M]{Type: ActionTypeAfterSummarize,
		After: &TypedAfterSummarizeAction[M]{Messages: messages}})
}

func (m *TypedMiddleware[M]) instruction() string {
	if m.conf.UserInstruction != "" {
		return m.conf.UserInstruction
	}
	return language.Select(userPrompt, userPromptChinese)
}

// modelInputKey is the key under which finalizers find what the model got.
type modelInputKey struct{}

// splitSystem splits the leading system messages off.
func splitSystem[M adk.MessageType](messages []M) (system, rest []M) {
	n := slices.IndexFunc(messages, func(m M) bool { return message.KindOf(m) != message.System })
	if n < 0 {
		n = len(messages)
	}
	return messages[:n:n], messages[n:]
}

// contentType says what a message of a summarization holds, "" for any other message.
func contentType[M adk.MessageType](m M) string {
	kind, _ := message.Extra(m)[contentTypeKey].(string)
	return kind
}

var _ adk.ChatModelAgentMiddleware = (*TypedMiddleware[*schema.Message])(nil)
