package agentsmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/schema"
)

const (
	// contentKey marks the message with the files.
	contentKey = "__agentsmd_content__"
	// cacheKey is the run-local value with its text.
	cacheKey = "__agentsmd_content_cache__"
)

type middleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	conf  Config
	files *fileCache
}

// New makes the middleware for agents on ordinary messages.
func New(ctx context.Context, cfg *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, cfg)
}

// NewTyped makes the middleware. It fails if the configuration is not valid; files are first read when an agent runs,
// and one that cannot be read ends the run. One middleware may serve any number of agents and runs at once.
func NewTyped[M adk.MessageType](_ context.Context, cfg *Config) (adk.TypedChatModelAgentMiddleware[M], error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	m := &middleware[M]{conf: *cfg, files: newFileCache(cfg.Backend)}
	m.conf.AgentsMDFiles = slices.Clone(cfg.AgentsMDFiles)
	if m.conf.OnLoadWarning == nil {
		m.conf.OnLoadWarning = logWarning
	}
	return m, nil
}

// BeforeModelRewriteState puts the files before the first message of the user, if they are not in the history.
func (m *middleware[M]) BeforeModelRewriteState(
	ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if state == nil || slices.ContainsFunc(state.Messages, isContent[M]) {
		return ctx, state, nil
	}
	text, err := m.text(ctx)
	if err != nil {
		return ctx, nil, fmt.Errorf("[agentsmd]: failed to load agent files: %w", err)
	}
	if text == "" {
		return ctx, state, nil
	}
	at := slices.IndexFunc(state.Messages, isOfUser[M])
	if at < 0 {
		at = len(state.Messages)
	}
	content := message.WithExtra(message.NewUser[M](text), contentKey, true)
	next := *state
	next.Messages = slices.Concat(state.Messages[:at], []M{content}, state.Messages[at:])
	return ctx, &next, nil
}

// text returns what the run shows of the files: the text that it has shown already, or the files as they are now.
func (m *middleware[M]) text(ctx context.Context) (string, error) {
	value, _, err := adk.GetRunLocalValue(ctx, cacheKey)
	if text, _ := value.(string); err == nil && text != "" {
		return text, nil
	}
	l := &loader{conf: &m.conf, files: m.files, seen: map[string]bool{}}
	if err := l.loadAll(ctx); err != nil {
		return "", err
	}
	text := render(l.sections, l.omitted...)
	if text != "" {
		// Outside a run there is nothing to keep it in.
		_ = adk.SetRunLocalValue(ctx, cacheKey, text)
	}
	return text, nil
}

func isContent[M adk.MessageType](m M) bool {
	_, ok := message.Extra(m)[contentKey]
	return ok
}

// isOfUser goes by the role, which agentic results of tools have as well.
func isOfUser[M adk.MessageType](m M) bool {
	switch m := any(m).(type) {
	case *schema.Message:
		return m != nil && m.Role == schema.User
	case *schema.AgenticMessage:
		return m != nil && m.Role == schema.AgenticRoleTypeUser
	}
	return false
}
