package reduction

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/toolresult"
	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

const (
	defaultClearThreshold = 20000
	defaultKeepRecent     = 40000
	defaultOffloadTokens  = 20000
	defaultOffloadDir     = "/large_tool_result"
	previewBytes          = 2000
)

// ClearToolResultConfig configures [NewClearToolResult]. nil stands for one without settings.
type ClearToolResultConfig struct {
	// ToolResultTokenThreshold is the number of tokens that results may have together. Default 20000.
	ToolResultTokenThreshold int
	// KeepRecentTokens is the number of tokens at the end of the history that stay as they are. Default 40000.
	KeepRecentTokens int
	// ClearToolResultPlaceholder takes the place of results. Default: [Old tool result content cleared].
	ClearToolResultPlaceholder string
	// TokenCounter counts the tokens of a message. Default: a fourth of the bytes of content and arguments.
	TokenCounter func(msg *schema.Message) int
	// ExcludeTools are never cleared.
	ExcludeTools []string
}

// ToolResultConfig configures [NewToolResultMiddleware].
type ToolResultConfig struct {
	// ClearingTokenThreshold and the four fields behind it are as in [ClearToolResultConfig].
	ClearingTokenThreshold     int
	KeepRecentTokens           int
	ClearToolResultPlaceholder string
	TokenCounter               func(msg *schema.Message) int
	ExcludeTools               []string

	// Backend takes large results. Required.
	Backend Backend
	// OffloadingTokenLimit is the size from which on a result goes into a file, in tokens of four bytes. Default 20000.
	OffloadingTokenLimit int
	// ReadFileToolName is the tool with which the model is asked to read files. Default read_file.
	ReadFileToolName string
	// PathGenerator says into which file. Default: /large_tool_result/<ID of the call>.
	PathGenerator func(ctx context.Context, input *compose.ToolInput) (string, error)
}

// NewClearToolResult makes a middleware that replaces old results by a placeholder before the model is called.
//
// Deprecated: use [New].
var NewClearToolResult = func(_ context.Context, config *ClearToolResultConfig) (adk.AgentMiddleware, error) {
	return adk.AgentMiddleware{BeforeChatModel: newOldClearing(config).beforeChatModel}, nil
}

// NewToolResultMiddleware makes a middleware that does the same and also moves large results into files, as they come.
// It fails if config is nil or has no Backend.
//
// Deprecated: use [New].
var NewToolResultMiddleware = func(_ context.Context, cfg *ToolResultConfig) (adk.AgentMiddleware, error) {
	if cfg == nil {
		return adk.AgentMiddleware{}, errors.New("config must not be nil")
	}
	if typednil.Is(cfg.Backend) {
		return adk.AgentMiddleware{}, errors.New("backend must be set")
	}
	clearing := newOldClearing(&ClearToolResultConfig{
		ToolResultTokenThreshold:   cfg.ClearingTokenThreshold,
		KeepRecentTokens:           cfg.KeepRecentTokens,
		ClearToolResultPlaceholder: cfg.ClearToolResultPlaceholder,
		TokenCounter:               cfg.TokenCounter,
		ExcludeTools:               cfg.ExcludeTools,
	})
	o := newOldOffloading(cfg)
	return adk.AgentMiddleware{
		BeforeChatModel: clearing.beforeChatModel,
		WrapToolCall:    toolresult.Rewrite(o.moved),
	}, nil
}

// oldClearing clears results by their age alone.
type oldClearing struct{ ClearToolResultConfig }

func newOldClearing(config *ClearToolResultConfig) *oldClearing {
	c := &oldClearing{}
	if config != nil {
		c.ClearToolResultConfig = *config
		c.ExcludeTools = slices.Clone(config.ExcludeTools)
	}
	orDefault(&c.ToolResultTokenThreshold, defaultClearThreshold)
	orDefault(&c.KeepRecentTokens, defaultKeepRecent)
	orDefault(&c.ClearToolResultPlaceholder, cleared)
	if c.TokenCounter == nil {
		c.TokenCounter = countTokens
	}
	return c
}

func countTokens(m *schema.Message) int {
	size := len(m.Content)
	for i := range m.ToolCalls {
		size += len(m.ToolCalls[i].Function.Arguments)
	}
	return (size + bytesPerToken - 1) / bytesPerToken
}

func (c *oldClearing) isResult(m *schema.Message) bool {
	return m != nil && m.Role == schema.Tool && m.Content != c.ClearToolResultPlaceholder
}

func (c *oldClearing) beforeChatModel(_ context.Context, state *adk.ChatModelAgentState) error {
	total := 0
	for _, m := range state.Messages {
		if c.isResult(m) {
			total += c.TokenCounter(m)
		}
	}
	if total <= c.ToolResultTokenThreshold {
		return nil
	}
	messages := slices.Clone(state.Messages)
	for i, m := range messages[:c.recent(messages)] {
		if c.isResult(m) && !slices.Contains(c.ExcludeTools, m.ToolName) {
			changed := *m
			changed.Content = c.ClearToolResultPlaceholder
			messages[i] = &changed
		}
	}
	state.Messages = messages
	return nil
}

// recent is the place where the messages begin that stay.
func (c *oldClearing) recent(messages []*schema.Message) int {
	kept := 0
	for i, m := range slices.Backward(messages) {
		if m == nil {
			continue
		}
		if kept += c.TokenCounter(m); kept > c.KeepRecentTokens {
			return i + 1
		}
	}
	return 0
}

const (
	movedNotice = `The result of tool call {id} was too large: it was saved in the file {path}
Read it with {tool} piece by piece. It begins with:

{first}`
	movedNoticeChinese = `工具调用 {id} 的结果过大，已保存到文件 {path}
请使用 {tool} 分段读取。开头内容如下：

{first}`
)

// oldOffloading moves large results into files.
type oldOffloading struct {
	backend  Backend
	maxBytes int
	tool     string
	path     func(ctx context.Context, input *compose.ToolInput) (string, error)
}

func newOldOffloading(cfg *ToolResultConfig) *oldOffloading {
	limit := cfg.OffloadingTokenLimit
	orDefault(&limit, defaultOffloadTokens)
	o := &oldOffloading{backend: cfg.Backend, maxBytes: limit * bytesPerToken, tool: cfg.ReadFileToolName,
		path: cfg.PathGenerator}
	orDefault(&o.tool, defaultReadFileToolName)
	if o.path == nil {
		o.path = func(_ context.Context, input *compose.ToolInput) (string, error) {
			return path.Join(defaultOffloadDir, fileName(input.CallID)), nil
		}
	}
	return o
}

// moved returns what the model gets of a result.
func (o *oldOffloading) moved(ctx context.Context, input *compose.ToolInput, result string) (string, error) {
	if len(result) <= o.maxBytes {
		return result, nil
	}
	file, err := o.path(ctx, input)
	if err != nil {
		return "", err
	}
	if err := o.backend.Write(ctx, &filesystem.WriteRequest{FilePath: file, Content: result}); err != nil {
		return "", err
	}
	return fill(language.Select(movedNotice, movedNoticeChinese),
		"{id}", input.CallID, "{path}", file, "{tool}", o.tool, "{first}", prefix(result, previewBytes)), nil
}
