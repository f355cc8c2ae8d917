package reduction

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/sizecache"
	"github.com/weftgo/weft/schema"
)

type middleware[M adk.MessageType] struct {
	adk.TypedToolCallHooks[M]
	conf *TypedConfig[M]
	// clears: there is something that could clear.
	clears bool
	tools  sizecache.Tools
	blocks sizecache.Cache[schema.ContentBlock]
}

// New makes the middleware for agents on ordinary messages.
func New(ctx context.Context, config *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped(ctx, config)
}

// NewTyped makes the middleware. It fails if config is nil, or has no Backend without SkipTruncation. config may be
// changed afterwards. One middleware may serve any number of agents and runs at once.
func NewTyped[M adk.MessageType](
	_ context.Context, config *TypedConfig[M],
) (adk.TypedChatModelAgentMiddleware[M], error) {
	own, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &middleware[M]{conf: own, clears: !own.SkipClear}
	if own.TokenCounter == nil {
		own.TokenCounter = m.estimate
	}
	for _, tool := range own.ToolConfig {
		m.clears = m.clears || tool.ClearHandler != nil && !tool.SkipClear
	}
	m.Wrap = m.cutResult
	return m, nil
}

// truncation says how the results of one tool are cut.
type truncation struct {
	backend Backend
	// handler is nil for the default.
	handler func(ctx context.Context, detail *ToolDetail) (*TruncResult, error)
}

// truncationOf returns how the results of a tool are cut, nil if they are not.
func (m *middleware[M]) truncationOf(tool string) *truncation {
	if slices.Contains(m.conf.TruncExcludeTools, tool) {
		return nil
	}
	own := m.conf.ToolConfig[tool]
	switch {
	case own != nil && own.SkipTruncation:
		return nil
	case own != nil && own.TruncHandler != nil:
		return &truncation{backend: own.Backend, handler: own.TruncHandler}
	case m.conf.SkipTruncation:
		return nil
	case own != nil && own.Backend != nil:
		return &truncation{backend: own.Backend}
	}
	return &truncation{backend: m.conf.Backend}
}

// clearing says how the results of one tool are cleared.
type clearing struct {
	backend Backend
	handler func(ctx context.Context, detail *ToolDetail) (*ClearResult, error)
}

// clearingOf returns how the results of a tool are cleared, without a handler if they are not.
func (m *middleware[M]) clearingOf(tool string) clearing {
	if slices.Contains(m.conf.ClearExcludeTools, tool) {
		return clearing{}
	}
	own := m.conf.ToolConfig[tool]
	switch {
	case own != nil && own.SkipClear:
		return clearing{}
	case own != nil && own.ClearHandler != nil:
		return clearing{own.Backend, own.ClearHandler}
	case m.conf.SkipClear:
		return clearing{}
	}
	c := clearing{backend: m.conf.Backend}
	if own != nil && own.Backend != nil {
		c.backend = own.Backend
	}
	c.handler = func(ctx context.Context, detail *ToolDetail) (*ClearResult, error) {
		return m.clearDefault(ctx, detail, c.backend != nil)
	}
	return c
}

// filePaths names files after calls.
func filePaths(root, kind string) func(context.Context, *ToolDetail) (string, error) {
	return func(_ context.Context, detail *ToolDetail) (string, error) {
		return path.Join(root, kind, fileName(detail.ToolContext.CallID)), nil
	}
}

// fileName is an ID as the name of a file. The ID comes from a model: it must not lead anywhere else.
func fileName(id string) string {
	if id == "" {
		return uuid.NewString()
	}
	id = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, id)
	if strings.Trim(id, ".") == "" {
		return strings.Repeat("_", len(id))
	}
	return id
}
