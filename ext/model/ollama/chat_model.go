// Package ollama has models that speak Ollama's own API.
//
//	m, err := ollama.NewChatModel(ctx, &ollama.Config{Model: "qwen3:8b", Options: ollama.Options{NumCtx: 16384}})
//
// Ollama also speaks OpenAI's API, and package openai speaks that with it; but there it ignores the size of the context,
// whether to think, and how long the model stays loaded. This package is for these three.
package ollama

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// provider is the name in errors and in the origin of answers.
const provider = "ollama"

// A ChatModel is a model.ToolCallingChatModel on a server of Ollama. It is safe for concurrent use, fires its own
// callbacks, and shows no secrets when it is printed.
type ChatModel struct {
	*kit.Model[*schema.Message]
	engine *engine
}

var _ model.ToolCallingChatModel = (*ChatModel)(nil)

// NewChatModel makes a model. The error lists everything that is wrong with the configuration; no request is made. The
// environment (OLLAMA_HOST and the like) is not looked at.
func NewChatModel(_ context.Context, config *Config) (*ChatModel, error) {
	e, err := newEngine(config)
	if err != nil {
		return nil, err
	}
	return &ChatModel{kit.NewModel[*schema.Message](e), e}, nil
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

// Describe asks the server about the model of the Config. The size of the context is the one that calls get:
// Options.NumCtx, or what the model's own parameters say; where neither says anything it is the largest that the model
// can, which the server does not give a call unasked. It implements kit.Describer.
func (m *ChatModel) Describe(ctx context.Context) (catalogue.ModelInfo, error) {
	return m.engine.describe(ctx)
}

// An AgenticModel is a model.AgenticModel on a server of Ollama.
type AgenticModel struct {
	*kit.Model[*schema.AgenticMessage]
	engine *engine
}

var _ model.AgenticModel = (*AgenticModel)(nil)

// NewAgenticModel is [NewChatModel] for agentic messages.
func NewAgenticModel(_ context.Context, config *Config) (*AgenticModel, error) {
	e, err := newEngine(config)
	if err != nil {
		return nil, err
	}
	return &AgenticModel{kit.NewModel(kit.BlocksOf(e)), e}, nil
}

// Describe is [ChatModel.Describe].
func (m *AgenticModel) Describe(ctx context.Context) (catalogue.ModelInfo, error) {
	return m.engine.describe(ctx)
}

// An engine is the API of one server.
type engine struct {
	conf   Config
	client *kit.Client
	origin kit.Origin
	info   kit.Info
}

func newEngine(config *Config) (*engine, error) {
	if config == nil {
		return nil, errors.New("ollama: config is nil")
	}
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("ollama: config: %w", err)
	}
	e := &engine{conf: *config, client: kit.NewClient(config.client())}
	host, port := e.client.Endpoint()
	e.origin = kit.Origin{Provider: provider, Host: host, API: "chat"}
	e.info = kit.Info{
		Type: "Ollama", Provider: provider, System: provider, Host: host, Port: port, Model: config.Model,
		Redactor: e.client.Redactor(), RawHook: e.conf.RawHook,
	}
	return e, nil
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (e *engine) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "ollama.engine{%q}", e.conf.Model) }

// Info implements [kit.Engine].
func (e *engine) Info() kit.Info { return e.info }

// Settings implements [kit.Engine].
func (e *engine) Settings(opts []model.Option) *kit.Settings {
	return &kit.Settings{Options: e.newCall(false, opts).common}
}

// Open implements [kit.Engine].
func (e *engine) Open(
	ctx context.Context, in []*schema.Message, opts []model.Option, stream bool,
) (kit.Chunks[*schema.Message], error) {
	c := e.newCall(stream, opts)
	body, err := c.body(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("ollama: %w", err)
	}
	resp, err := e.client.Do(ctx, kit.Request{Path: "api/chat", Body: body, Stream: stream, Headers: c.conf.ExtraHeaders()})
	if err != nil {
		return nil, err
	}
	return &chunks{call: c, resp: resp, events: resp.Events(), empty: true}, nil
}
