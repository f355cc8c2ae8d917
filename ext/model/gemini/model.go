package gemini

import (
	"context"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// An AgenticModel is a model.AgenticModel on the Gemini API. It is safe for concurrent use, fires its own callbacks, and
// shows no secrets when it is printed.
type AgenticModel struct {
	*kit.Model[*schema.AgenticMessage]
	*resources
}

var _ model.AgenticModel = (*AgenticModel)(nil)

// NewAgenticModel makes a model for messages of blocks. The error lists everything that is wrong with the
// configuration; no request is made.
func NewAgenticModel(_ context.Context, config *Config) (*AgenticModel, error) {
	e, err := newEngine(config)
	if err != nil {
		return nil, err
	}
	return &AgenticModel{kit.NewModel[*schema.AgenticMessage](e), &resources{e}}, nil
}

// WithTools returns a model that offers these tools in calls that name no others (model.WithTools). The receiver stays
// as it is.
func (m *AgenticModel) WithTools(tools []*schema.ToolInfo) (*AgenticModel, error) {
	with, err := m.Model.WithTools(tools)
	if err != nil {
		return nil, err
	}
	return &AgenticModel{with, m.resources}, nil
}

// CountTokens asks the server how many tokens the prompt of a call has.
func (m *AgenticModel) CountTokens(
	ctx context.Context, in []*schema.AgenticMessage, opts ...model.Option,
) (int, error) {
	return m.engine.countTokens(ctx, in, opts)
}

// CreatePrefixCache has the service keep the beginning of conversations: system messages, others, and the tools among the
// options. Calls with [WithCachedContentName] then send only what follows. How long is said by Config.Cache.
func (m *AgenticModel) CreatePrefixCache(
	ctx context.Context, prefix []*schema.AgenticMessage, opts ...model.Option,
) (*CachedContent, error) {
	return m.engine.createPrefixCache(ctx, prefix, opts)
}

// A ChatModel is a model.ToolCallingChatModel on the Gemini API. It is safe for concurrent use, fires its own callbacks,
// and shows no secrets when it is printed.
type ChatModel struct {
	*kit.Model[*schema.Message]
	*resources
}

var _ model.ToolCallingChatModel = (*ChatModel)(nil)

// NewChatModel makes a model for plain messages. The error lists everything that is wrong with the configuration; no
// request is made.
func NewChatModel(_ context.Context, config *Config) (*ChatModel, error) {
	e, err := newEngine(config)
	if err != nil {
		return nil, err
	}
	return &ChatModel{kit.NewModel(kit.ChatOf(e)), &resources{e}}, nil
}

// WithTools returns a model that offers these tools in calls that name no others (model.WithTools). The receiver stays
// as it is.
func (m *ChatModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	with, err := m.Model.WithTools(tools)
	if err != nil {
		return nil, err
	}
	return &ChatModel{with, m.resources}, nil
}

// CountTokens asks the server how many tokens the prompt of a call has.
func (m *ChatModel) CountTokens(ctx context.Context, in []*schema.Message, opts ...model.Option) (int, error) {
	blocks, err := kit.MessagesToBlocks(in)
	if err != nil {
		return 0, m.engine.failure(err)
	}
	return m.engine.countTokens(ctx, blocks, opts)
}

// CreatePrefixCache has the service keep the beginning of conversations: system messages, others, and the tools among the
// options. Calls with [WithCachedContentName] then send only what follows. How long is said by Config.Cache.
func (m *ChatModel) CreatePrefixCache(
	ctx context.Context, prefix []*schema.Message, opts ...model.Option,
) (*CachedContent, error) {
	blocks, err := kit.MessagesToBlocks(prefix)
	if err != nil {
		return nil, m.engine.failure(err)
	}
	return m.engine.createPrefixCache(ctx, blocks, opts)
}

// resources are the methods that both models have apart from those for answers: files, cached prefixes, and the
// description of the model.
type resources struct{ engine *engine }
