package patchtoolcalls

import (
	"context"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

const (
	cancelled        = "The call of tool %s with id %s was cancelled: another message arrived before it finished."
	cancelledChinese = "工具 %s（id 为 %s）的调用已被取消：在它完成之前收到了另一条消息。"
)

// Config configures [New]. nil stands for one without settings.
type Config struct {
	// PatchedContentGenerator makes the text of the result of a call that has none. Its error ends the run. Default: a
	// sentence that the call was cancelled, in the language of [adk.SetLanguage].
	PatchedContentGenerator func(ctx context.Context, toolName, toolCallID string) (string, error)
}

type middleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	content func(ctx context.Context, toolName, toolCallID string) (string, error)
}

// New makes the middleware for agents on ordinary messages.
func New(ctx context.Context, cfg *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, cfg)
}

// NewTyped makes the middleware. It does not fail. One middleware may serve any number of agents and runs at once.
func NewTyped[M adk.MessageType](_ context.Context, cfg *Config) (adk.TypedChatModelAgentMiddleware[M], error) {
	m := &middleware[M]{content: defaultContent}
	if cfg != nil && cfg.PatchedContentGenerator != nil {
		m.content = cfg.PatchedContentGenerator
	}
	return m, nil
}

func defaultContent(_ context.Context, toolName, toolCallID string) (string, error) {
	return fmt.Sprintf(language.Select(cancelled, cancelledChinese), toolName, toolCallID), nil
}

// BeforeModelRewriteState puts a result behind every call that has none: right behind the message that makes the call,
// before the results that are there. A history without gaps is left as it is.
func (m *middleware[M]) BeforeModelRewriteState(ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if state == nil {
		return ctx, nil, nil
	}
	var patched []M
	copied := 0 // how many messages are in patched already
	var scan scan[M]
	for i := range state.Messages {
		for _, call := range scan.unanswered(state.Messages, i) {
			text, err := m.content(ctx, call.Name, call.ID)
			if err != nil {
				return ctx, state, err
			}
			patched = append(patched, state.Messages[copied:i+1]...)
			copied = i + 1
			patched = append(patched, message.NewResult[M](call, text))
		}
	}
	if patched == nil {
		return ctx, state, nil
	}
	changed := *state
	changed.Messages = append(patched, state.Messages[copied:]...)
	return ctx, &changed, nil
}

// scan has the room for a pass over a history.
type scan[M adk.MessageType] struct {
	calls, results []message.Call
	answered       map[string]bool
}

// unanswered are the calls of a message that no message among the results right behind it answers. They are valid
// until the next call.
func (s *scan[M]) unanswered(messages []M, at int) []message.Call {
	s.calls = message.AppendCalls(s.calls[:0], messages[at])
	if len(s.calls) == 0 {
		return nil
	}
	s.results = s.results[:0]
	for _, m := range messages[at+1:] {
		if message.KindOf(m) != message.Result {
			break
		}
		s.results = message.AppendResults(s.results, m)
	}
	return slices.DeleteFunc(s.calls, s.answers())
}

// few is up to how many results it is cheaper to look through all of them than to make a set.
const few = 8

// answers tells which calls have a result.
func (s *scan[M]) answers() func(message.Call) bool {
	if len(s.results) <= few {
		return func(call message.Call) bool {
			return slices.ContainsFunc(s.results, func(r message.Call) bool { return r.ID == call.ID })
		}
	}
	if s.answered == nil {
		s.answered = make(map[string]bool, len(s.results))
	}
	clear(s.answered)
	for _, r := range s.results {
		s.answered[r.ID] = true
	}
	return func(call message.Call) bool { return s.answered[call.ID] }
}
