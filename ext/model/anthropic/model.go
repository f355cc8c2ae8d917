package anthropic

import (
	"context"

	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// An AgenticModel is a model.AgenticModel on the Messages API. It is safe for concurrent use, fires its own callbacks,
// and shows no secrets when it is printed.
type AgenticModel struct {
	*kit.Model[*schema.AgenticMessage]
	engine *engine
}

var _ model.AgenticModel = (*AgenticModel)(nil)

// NewAgenticModel makes a model for messages of blocks. The error lists everything that is wrong with the
// configuration; no request is made.
func NewAgenticModel(_ context.Context, config *Config) (*AgenticModel, error) {
	e, err := newEngine(config)
	if err != nil {
		return nil, err
	}
	return &AgenticModel{kit.NewModel[*schema.AgenticMessage](e), e}, nil
}

// WithTools returns a model that offers these tools in calls that name no others (model.WithTools). The receiver stays
// as it is.
func (m *AgenticModel) WithTools(tools []*schema.ToolInfo) (*AgenticModel, error) {
	with, err := m.Model.WithTools(tools)
	if err != nil {
		return nil, err
	}
	return &AgenticModel{with, m.engine}, nil
}

// CountTokens asks the server how many tokens the prompt of a call has. Services that cannot say return an error that
// wraps errors.ErrUnsupported.
func (m *AgenticModel) CountTokens(
	ctx context.Context, in []*schema.AgenticMessage, opts ...model.Option,
) (int, error) {
	return m.engine.countTokens(ctx, in, opts)
}

// Describe asks the service about the model of the Config. It implements kit.Describer.
func (m *AgenticModel) Describe(ctx context.Context) (catalogue.ModelInfo, error) {
	return m.engine.describe(ctx)
}

// A ChatModel is a model.ToolCallingChatModel on the Messages API. It is safe for concurrent use, fires its own
// callbacks, and shows no secrets when it is printed.
type ChatModel struct {
	*kit.Model[*schema.Message]
	engine *engine
}

var _ model.ToolCallingChatModel = (*ChatModel)(nil)

// NewChatModel makes a model for plain messages. The error lists everything that is wrong with the configuration; no
// request is made.
func NewChatModel(_ context.Context, config *Config) (*ChatModel, error) {
	e, err := newEngine(config)
	if err != nil {
		return nil, err
	}
	return &ChatModel{kit.NewModel(kit.ChatOf(e)), e}, nil
}

// WithTools returns a model that offers these tools in calls that name no others (model.WithTools). The receiver stays
// as it is.
func (m *ChatModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	with, err := m.Model.WithTools(tools)
	if err != nil {
		return nil, err
	}
	return &ChatModel{with, m.engine}, nil
}

// CountTokens asks the server how many tokens the prompt of a call has. Services that cannot say return an error that
// wraps errors.ErrUnsupported.
func (m *ChatModel) CountTokens(ctx context.Context, in []*schema.Message, opts ...model.Option) (int, error) {
	blocks, err := kit.MessagesToBlocks(in)
	if err != nil {
		return 0, m.engine.failure(err)
	}
	return m.engine.countTokens(ctx, blocks, opts)
}

// Describe asks the service about the model of the Config. It implements kit.Describer.
func (m *ChatModel) Describe(ctx context.Context) (catalogue.ModelInfo, error) {
	return m.engine.describe(ctx)
}
