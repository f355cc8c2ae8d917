package patchtoolcalls

import (
	"context"
	"errors"
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

// PatchedToolResult is the result of a call that had none. It has one of the fields.
type PatchedToolResult struct {
	// Content is a result of text.
	Content string
	// ToolResult is a result with parts, such as the result of an enhanced tool.
	ToolResult *schema.ToolResult
}

// Config configures [New]. nil stands for one without settings.
type Config struct {
	// PatchedContentGenerator makes the text of the result of a call that has none. Its error ends the run. Default: a
	// sentence that the call was cancelled, in the language of [adk.SetLanguage]. It does not count if
	// PatchedToolResultGenerator is set.
	PatchedContentGenerator func(ctx context.Context, toolName, toolCallID string) (string, error)
	// PatchedToolResultGenerator makes the result of a call that has none; the argument is what the model called the tool
	// with. nil is an empty result. Its error ends the run. Default: a sentence that the call was cancelled, in the
	// language of [adk.SetLanguage].
	PatchedToolResultGenerator func(ctx context.Context, toolName, toolCallID string, toolArgument *schema.ToolArgument,
	) (*PatchedToolResult, error)
	// RemoveOrphanResults leaves out results that answer no call of the message before them.
	RemoveOrphanResults bool
	// RemoveDuplicateResults leaves out all results of a call but the first.
	RemoveDuplicateResults bool
	// MarkSynthetic marks the results that are put in, for [IsSynthetic].
	MarkSynthetic bool
	// Strict repairs nothing: a call without a result, a result without a call and a second result end the run with an
	// [*InvalidError]. The other settings do not count then.
	Strict bool
}

type middleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	conf Config
}

// syntheticKey marks a result that was put in.
const syntheticKey = "_weft_synthetic_result"

// IsSynthetic reports whether a message is a result that was put in with MarkSynthetic set.
func IsSynthetic[M adk.MessageType](m M) bool {
	synthetic, _ := message.Extra(m)[syntheticKey].(bool)
	return synthetic
}

// New makes the middleware for agents on ordinary messages.
func New(ctx context.Context, cfg *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, cfg)
}

// NewTyped makes the middleware. It does not fail. One middleware may serve any number of agents and runs at once.
func NewTyped[M adk.MessageType](_ context.Context, cfg *Config) (adk.TypedChatModelAgentMiddleware[M], error) {
	m := &middleware[M]{}
	if cfg != nil {
		m.conf = *cfg
	}
	return m, nil
}

// result is the result that a call gets.
func (m *middleware[M]) result(ctx context.Context, call message.Call) (result M, err error) {
	switch {
	case m.conf.PatchedToolResultGenerator != nil:
		made, err := m.conf.PatchedToolResultGenerator(ctx, call.Name, call.ID, &schema.ToolArgument{Text: call.Arguments})
		if err != nil {
			return result, err
		}
		return resultOf[M](call, made)
	case m.conf.PatchedContentGenerator != nil:
		text, err := m.conf.PatchedContentGenerator(ctx, call.Name, call.ID)
		return message.NewResult[M](call, text), err
	}
	return message.NewResult[M](call, fmt.Sprintf(language.Select(cancelled, cancelledChinese), call.Name, call.ID)), nil
}

func resultOf[M adk.MessageType](call message.Call, made *PatchedToolResult) (result M, err error) {
	switch {
	case made == nil:
		return message.NewResult[M](call, ""), nil
	case made.Content != "" && made.ToolResult != nil:
		err = errors.New("it has Content and ToolResult: set one of them")
	case made.ToolResult != nil:
		result, err = message.NewToolResult[M](call, made.ToolResult)
	default:
		return message.NewResult[M](call, made.Content), nil
	}
	if err != nil {
		err = fmt.Errorf("patchtoolcalls: the PatchedToolResult for tool %s with id %s: %w", call.Name, call.ID, err)
	}
	return result, err
}

// BeforeModelRewriteState puts a result behind every call that has none: right behind the message that makes the call,
// before the results that are there. Results that have to go are left out first. A history without anything to repair
// is left as it is.
func (m *middleware[M]) BeforeModelRewriteState(
	ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if state == nil {
		return ctx, nil, nil
	}
	messages := state.Messages
	if m.conf.Strict {
		return ctx, state, check(messages)
	}
	if m.conf.RemoveOrphanResults || m.conf.RemoveDuplicateResults {
		messages = removeResults(messages, &m.conf)
	}
	patched, err := m.patch(ctx, messages)
	if err != nil || len(patched) == len(state.Messages) && (len(patched) == 0 || &patched[0] == &state.Messages[0]) {
		return ctx, state, err
	}
	changed := *state
	changed.Messages = patched
	return ctx, &changed, nil
}

// patch fills the gaps. A history without any comes back itself.
func (m *middleware[M]) patch(ctx context.Context, messages []M) ([]M, error) {
	var patched []M
	copied := 0 // how many messages are in patched already
	var scan scan[M]
	for i := range messages {
		for _, call := range scan.unanswered(messages, i) {
			result, err := m.result(ctx, call)
			if err != nil {
				return nil, err
			}
			if m.conf.MarkSynthetic {
				result = message.WithExtra(result, syntheticKey, true)
			}
			patched = append(patched, messages[copied:i+1]...)
			copied = i + 1
			patched = append(patched, result)
		}
	}
	if patched == nil {
		return messages, nil
	}
	return append(patched, messages[copied:]...), nil
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

// answers reports which calls have a result.
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
