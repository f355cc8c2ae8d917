// Package openai has models that speak OpenAI's APIs: Chat Completions with the dialects of it that Azure, OpenRouter,
// Groq, xAI, DeepSeek, Mistral, Ollama, llama.cpp, vLLM and other servers speak, and Responses.
//
//	m, err := openai.NewChatModel(ctx, &openai.Config{APIKey: os.Getenv("OPENAI_API_KEY"), Model: "gpt-5-mini"})
//	…
//	answer, err := m.Generate(ctx, []*schema.Message{schema.UserMessage("Why is the sky blue?")})
//
// What a server wants said differently than OpenAI does is its [Profile], which is chosen by its host.
//
// Settings for all calls are in the [Config]; settings for one call are options, common ones of package model
// (model.WithTemperature, model.WithTools, …) and the With functions of this package.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// APIError is the answer of a server instead of a message.
type APIError = kit.APIError

// A ChatModel is a model.ToolCallingChatModel on the Chat Completions API. It is safe for concurrent use. It fires its
// own callbacks, with model.CallbackInput and model.CallbackOutput. Printing it shows no secrets.
type ChatModel struct {
	*kit.Model[*schema.Message]
}

var _ model.ToolCallingChatModel = (*ChatModel)(nil)

// NewChatModel makes a model. The error lists everything that is wrong with the configuration; no request is made. The
// environment (OPENAI_API_KEY and the like) is not looked at.
func NewChatModel(_ context.Context, config *Config) (*ChatModel, error) {
	e, err := newEngine(config)
	if err != nil {
		return nil, err
	}
	return &ChatModel{kit.NewModel[*schema.Message](e)}, nil
}

// WithTools returns a model that offers these tools in calls that name no others (model.WithTools). The receiver stays
// as it is.
func (m *ChatModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	with, err := m.Model.WithTools(tools)
	if err != nil {
		return nil, err
	}
	return &ChatModel{with}, nil
}

// An AgenticModel is a model.AgenticModel on the Chat Completions API, for programs that have agentic messages and a
// server that has no other API.
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

// An engine is the Chat Completions API of one server.
type engine struct {
	conf    Config
	profile Profile
	client  *kit.Client
	origin  kit.Origin
	info    kit.Info
}

func newEngine(config *Config) (*engine, error) {
	if config == nil {
		return nil, errors.New("openai: config is nil")
	}
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("openai: config: %w", err)
	}
	e := &engine{conf: *config, profile: config.profile(), client: kit.NewClient(config.client())}
	if e.conf.Azure != nil {
		azure := *config.Azure
		e.conf.Azure = &azure
		if e.conf.Model == "" {
			e.conf.Model = azure.Deployment
		}
	}
	host, port := e.client.Endpoint()
	e.origin = kit.Origin{Provider: "openai", Host: host, API: "chat"}
	e.info = kit.Info{
		Type: "OpenAI", Provider: "openai", System: cmp.Or(e.profile.Provider, "openai"), Host: host, Port: port,
		Model: e.conf.Model, Redactor: e.client.Redactor(), RawHook: e.conf.RawHook,
	}
	return e, nil
}

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
		return nil, fmt.Errorf("openai: %w", err)
	}
	resp, err := e.client.Do(ctx, kit.Request{
		Path: e.conf.path(*c.common.Model), Body: body, Stream: c.stream, Headers: c.conf.ExtraHeaders(),
	})
	if err != nil {
		return nil, err
	}
	return newChunks(c, resp), nil
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (e *engine) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "openai.engine{%q}", e.conf.Model) }
