// Package llm opens the model that the environment names, for the examples: real ones by the key of any provider, or
// the demo model of the example.
package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/openai"
)

// A Provider is where a key in the environment leads to. PREFIX_API_KEY is the key; PREFIX_MODEL and PREFIX_BASE_URL
// choose another model or server.
type Provider struct {
	Prefix, BaseURL, Model string
	open                   func(ctx context.Context, key, baseURL, name string) (model.ToolCallingChatModel, error)
}

// Providers are asked for their keys in this order.
var Providers = []Provider{
	{"OPENAI", openai.DefaultBaseURL, "gpt-4o-mini", openAI},
	{"ANTHROPIC", anthropic.DefaultBaseURL, "claude-haiku-4-5", claude},
	{"GEMINI", gemini.DefaultBaseURL, "gemini-2.5-flash", google},
	{"OPENROUTER", "https://openrouter.ai/api/v1", "openai/gpt-4o-mini", openAI},
	{"GROQ", "https://api.groq.com/openai/v1", "openai/gpt-oss-20b", openAI},
	{"XAI", "https://api.x.ai/v1", "grok-4-fast", openAI},
	{"DEEPSEEK", "https://api.deepseek.com", "deepseek-chat", openAI},
	{"MISTRAL", "https://api.mistral.ai/v1", "mistral-small-latest", openAI},
}

func openAI(ctx context.Context, key, baseURL, name string) (model.ToolCallingChatModel, error) {
	return openai.NewChatModel(ctx, &openai.Config{APIKey: key, BaseURL: baseURL, Model: name})
}

func claude(ctx context.Context, key, baseURL, name string) (model.ToolCallingChatModel, error) {
	return anthropic.NewChatModel(ctx, &anthropic.Config{APIKey: key, BaseURL: baseURL, Model: name})
}

func google(ctx context.Context, key, baseURL, name string) (model.ToolCallingChatModel, error) {
	return gemini.NewChatModel(ctx, &gemini.Config{APIKey: key, BaseURL: baseURL, Model: name})
}

// Environment describes the variables that Open reads, for the usage text of a program.
const Environment = `OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, GROQ_API_KEY,
XAI_API_KEY, DEEPSEEK_API_KEY or MISTRAL_API_KEY chooses the provider; the first one in
this order counts. OPENAI_MODEL and OPENAI_BASE_URL (ANTHROPIC_MODEL and so on) choose
another model or server. A server on your own machine needs no key:

    OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_MODEL=qwen3
`

// Open returns the model of the first provider whose key is in the environment, and a line that says which one it is.
// OPENAI_BASE_URL alone stands for a server that needs no key; without OPENAI_MODEL it is asked what models it has.
// Where nothing is set, the model is demo.
func Open(ctx context.Context, demo model.BaseChatModel) (_ model.BaseChatModel, which string, err error) {
	for _, p := range Providers {
		key, address := os.Getenv(p.Prefix+"_API_KEY"), os.Getenv(p.Prefix+"_BASE_URL")
		local := p.Prefix == "OPENAI" && key == "" && address != ""
		if key == "" && !local {
			continue
		}
		name := os.Getenv(p.Prefix + "_MODEL")
		if local && name == "" {
			if name, err = firstModel(ctx, address); err != nil {
				return nil, "", fmt.Errorf("OPENAI_MODEL is not set, and the server at OPENAI_BASE_URL does not say what "+
					"models it has: %w", err)
			}
		}
		name, address = cmp.Or(name, p.Model), cmp.Or(address, p.BaseURL)
		chat, err := p.open(ctx, key, address, name)
		if err != nil {
			return nil, "", fmt.Errorf("%s_API_KEY, %[1]s_MODEL and %[1]s_BASE_URL lead to no model: %w", p.Prefix, err)
		}
		return chat, fmt.Sprintf("Using model %s at %s.", name, withoutSecrets(address)), nil
	}
	return demo, "No OPENAI_API_KEY, nor the key of another provider, is set: using the built-in demo model, " +
		"which follows rules instead of thinking.", nil
}

// withoutSecrets is an address as it may be shown: without user and parameters.
func withoutSecrets(address string) string {
	address, _, _ = strings.Cut(address, "?")
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		address = strings.TrimSuffix(scheme+"://"+host[strings.LastIndexByte(host, '@')+1:]+"/"+path, "/")
	}
	return address
}

const (
	listTimeout  = 10 * time.Second
	maxListBytes = 8 << 20
)

// firstModel returns the first model that a server with OpenAI's API lists.
func firstModel(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, errors.New("no answer within 10 seconds"))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/models", nil)
	if err != nil {
		return "", errors.Unwrap(err) // without the address, which may hold a password
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", errors.New(response.Status)
	}
	var list struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(io.LimitReader(response.Body, maxListBytes)).Decode(&list); err != nil {
		return "", err
	}
	if len(list.Data) == 0 || list.Data[0].ID == "" {
		return "", errors.New("it lists none")
	}
	return list.Data[0].ID, nil
}
