// Package openai is a chat model that speaks the Chat Completions API of OpenAI, and the dialects of it that Azure,
// OpenRouter, Groq, xAI, DeepSeek, Ollama, llama.cpp, vLLM and other servers speak.
//
//	m, err := openai.NewChatModel(ctx, &openai.Config{APIKey: os.Getenv("OPENAI_API_KEY"), Model: "gpt-5-mini"})
//	…
//	answer, err := m.Generate(ctx, []*schema.Message{schema.UserMessage("Why is the sky blue?")})
//
// HTTP (authentication, retries, deadlines) is the work of the official SDK, github.com/openai/openai-go. What is sent
// and received is made and read here, because the dialects differ from the API in what the SDK takes for granted.
//
// Settings for all calls are in the [Config]; those of one call are options, common ones of package model
// (model.WithTemperature, model.WithTools, …) and the With functions of this package.
package openai

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	sdk "github.com/openai/openai-go/v3"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// A ChatModel is a model.ToolCallingChatModel on the Chat Completions API. It is safe for concurrent use. It fires its
// own callbacks, with model.CallbackInput and model.CallbackOutput. Printing it shows no secrets.
type ChatModel struct {
	conf     Config
	official bool
	tools    []*schema.ToolInfo
	service  sdk.ChatCompletionService
	hide     redactor
}

var _ model.ToolCallingChatModel = (*ChatModel)(nil)

// NewChatModel makes a model. The error lists everything that is wrong with the configuration; no request is made. The
// environment (OPENAI_API_KEY and the like) is not looked at.
func NewChatModel(_ context.Context, config *Config) (*ChatModel, error) {
	if config == nil {
		return nil, errors.New("openai: config is nil")
	}
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("openai: config: %w", err)
	}
	m := &ChatModel{conf: *config, official: config.isOfficial(), service: newService(config), hide: newRedactor(config)}
	if m.conf.Model == "" {
		m.conf.Model = config.Azure.Deployment
	}
	return m, nil
}

// WithTools returns a model that offers these tools in calls that name no others (model.WithTools). The receiver stays
// as it is.
func (m *ChatModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	if _, err := toolDefinitions(tools); err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	with := *m
	with.tools = slices.Clone(tools)
	return &with, nil
}

// GetType returns "OpenAI".
func (m *ChatModel) GetType() string { return "OpenAI" }

// IsCallbacksEnabled returns true.
func (m *ChatModel) IsCallbacksEnabled() bool { return true }

// Generate sends the conversation and waits for the whole answer. Errors are an [*APIError] if the server refused, and
// otherwise wrap what went wrong; a context that ended or a timeout is visible through errors.Is.
func (m *ChatModel) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	c := m.newCall(false, opts)
	ctx = callbacks.EnsureRunInfo(ctx, m.GetType(), components.ComponentOfChatModel)
	ctx = callbacks.OnStart(ctx, c.callbackInput(in))
	out, err := m.generate(ctx, c, in)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	callbacks.OnEnd(ctx, out)
	return out.Message, nil
}

func (m *ChatModel) generate(
	ctx context.Context, c *call, in []*schema.Message,
) (out *model.CallbackOutput, err error) {
	defer m.hide.recoverTo(&err)
	s, err := m.open(ctx, c, in)
	if err != nil {
		return nil, err
	}
	defer s.from.close()
	msg, err := s.whole()
	if err != nil {
		return nil, err
	}
	return s.output(msg), nil
}

// Stream sends the conversation and returns the answer in chunks. Errors before the first chunk are returned as
// Generate returns them; later ones are the last item of the stream. A stream that ends before the server says that it
// is done is such an error, with io.ErrUnexpectedEOF. The request ends when the reader is closed or ctx ends.
func (m *ChatModel) Stream(
	ctx context.Context, in []*schema.Message, opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	c := m.newCall(true, opts)
	ctx = callbacks.EnsureRunInfo(ctx, m.GetType(), components.ComponentOfChatModel)
	ctx = callbacks.OnStart(ctx, c.callbackInput(in))
	outputs, err := m.stream(ctx, c, in)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	_, outputs = callbacks.OnEndWithStreamOutput(ctx, outputs)
	return schema.StreamReaderWithConvert(outputs, func(out *model.CallbackOutput) (*schema.Message, error) {
		return out.Message, nil
	}), nil
}

func (m *ChatModel) stream(
	ctx context.Context, c *call, in []*schema.Message,
) (_ *schema.StreamReader[*model.CallbackOutput], err error) {
	ctx, stop := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			stop()
		}
	}()
	defer m.hide.recoverTo(&err)
	s, err := m.open(ctx, c, in)
	if err != nil {
		return nil, err
	}
	return s.start(stop), nil
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (m ChatModel) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "openai.ChatModel{Model:%q}", m.conf.Model)
}

// LogValue implements [slog.LogValuer].
func (m ChatModel) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(m)) }
