// Package llm opens the model that the examples talk to: that of the provider whose key is in the environment, or a demo
// model without one.
package llm

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

// A provider is where a key in the environment leads to. PREFIX_API_KEY is the key; PREFIX_MODEL and PREFIX_BASE_URL
// choose another model or server.
type provider struct {
	prefix, baseURL, model string
	open                   func(ctx context.Context, key, baseURL, name string) (model.BaseChatModel, error)
}

// providers are asked for their keys in this order.
var providers = []provider{
	{"OPENAI", "", "gpt-4o-mini", openAI},
	{"ANTHROPIC", "", "claude-haiku-4-5", claude},
	{"GEMINI", "", "gemini-2.5-flash", google},
	{"OPENROUTER", "https://openrouter.ai/api/v1", "openai/gpt-4o-mini", openAI},
	{"GROQ", "https://api.groq.com/openai/v1", "openai/gpt-oss-20b", openAI},
	{"XAI", "https://api.x.ai/v1", "grok-4-fast", openAI},
	{"DEEPSEEK", "https://api.deepseek.com", "deepseek-chat", openAI},
	{"MISTRAL", "https://api.mistral.ai/v1", "mistral-small-latest", openAI},
}

func openAI(ctx context.Context, key, baseURL, name string) (model.BaseChatModel, error) {
	return openai.NewChatModel(ctx, &openai.Config{APIKey: key, BaseURL: baseURL, Model: name})
}

func claude(ctx context.Context, key, baseURL, name string) (model.BaseChatModel, error) {
	return anthropic.NewChatModel(ctx, &anthropic.Config{APIKey: key, BaseURL: baseURL, Model: name})
}

func google(ctx context.Context, key, baseURL, name string) (model.BaseChatModel, error) {
	return gemini.NewChatModel(ctx, &gemini.Config{APIKey: key, BaseURL: baseURL, Model: name})
}

// FromEnv opens the model of the first provider whose key is in the environment, and says what it is called; nil without
// a key. OPENAI_BASE_URL is enough for a server that needs none, such as a local one.
func FromEnv(ctx context.Context) (m model.BaseChatModel, name string, err error) {
	for _, p := range providers {
		key, baseURL := os.Getenv(p.prefix+"_API_KEY"), os.Getenv(p.prefix+"_BASE_URL")
		if key == "" && (p.prefix != "OPENAI" || baseURL == "") {
			continue
		}
		name = cmp.Or(os.Getenv(p.prefix+"_MODEL"), p.model)
		if m, err = p.open(ctx, key, cmp.Or(baseURL, p.baseURL), name); err != nil {
			return nil, name, fmt.Errorf("opening model %s: %w", name, err)
		}
		return m, name, nil
	}
	return nil, "", nil
}

// Model is the model of FromEnv, or a demo model with these lines. It says on standard error which one it is. What keeps
// it from being opened is the error of its calls.
func Model(lines ...demo.Line) model.BaseChatModel {
	m, name, err := FromEnv(context.Background())
	switch {
	case err != nil:
		return &demo.Model{Answer: func(context.Context, []*schema.Message) (*schema.Message, error) { return nil, err }}
	case m != nil:
		fmt.Fprintf(os.Stderr, "Using model %s.\n", name)
		return m
	}
	fmt.Fprintln(os.Stderr, "No OPENAI_API_KEY, nor the key of another provider, is set: a demo model answers, by rules.")
	return &demo.Model{Answer: demo.Script(lines...), Pace: 20 * time.Millisecond}
}
