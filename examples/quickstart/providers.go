package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/openai"
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

// newModel opens the model of the first provider whose key is in the environment, and says which.
func newModel(ctx context.Context) (model.BaseChatModel, error) {
	for _, p := range providers {
		if key := os.Getenv(p.prefix + "_API_KEY"); key != "" {
			name := cmp.Or(os.Getenv(p.prefix+"_MODEL"), p.model)
			fmt.Printf("Using model %s.\n\n", name)
			return p.open(ctx, key, cmp.Or(os.Getenv(p.prefix+"_BASE_URL"), p.baseURL), name)
		}
	}
	fmt.Print("No OPENAI_API_KEY, nor the key of another provider, is set: using the built-in demo model, " +
		"which follows rules instead of thinking.\n\n")
	return &demoModel{}, nil
}
