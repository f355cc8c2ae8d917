package openai

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/ext/model/kit"
)

// Describe asks the server about the model of the Config: OpenRouter says the context and the prices, vLLM, Groq and
// others the context, llama.cpp the context that it was started with. It implements kit.Describer.
func (m *ChatModel) Describe(ctx context.Context) (catalogue.ModelInfo, error) {
	return m.Engine().(*engine).describe(ctx)
}

// Describe is [ChatModel.Describe].
func (m *AgenticModel) Describe(ctx context.Context) (catalogue.ModelInfo, error) {
	return m.engine.describe(ctx)
}

// listedModel has the fields in which servers describe a model; each server uses some of them.
type listedModel struct {
	ID                  string   `json:"id"`
	ContextLength       int      `json:"context_length"`        // OpenRouter, Together
	ContextWindow       int      `json:"context_window"`        // Groq
	MaxModelLen         int      `json:"max_model_len"`         // vLLM, SGLang
	MaxContextLength    int      `json:"max_context_length"`    // Mistral
	MaxCompletionTokens int      `json:"max_completion_tokens"` // Groq
	SupportedParameters []string `json:"supported_parameters"`  // OpenRouter
	Architecture        struct {
		InputModalities []string `json:"input_modalities"`
	} `json:"architecture"`
	TopProvider struct {
		MaxCompletionTokens int `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Pricing *struct { // for a token
		Prompt          string `json:"prompt"`
		Completion      string `json:"completion"`
		InputCacheRead  string `json:"input_cache_read"`
		InputCacheWrite string `json:"input_cache_write"`
	} `json:"pricing"`
}

func (e *engine) describe(ctx context.Context) (_ catalogue.ModelInfo, err error) {
	defer e.info.Redactor.Recover(&err)
	if e.conf.Azure != nil {
		return catalogue.ModelInfo{}, kit.ErrNoDescription("openai")
	}
	if e.profile.Provider == ProfileLlamaCpp.Provider {
		return e.describeServer(ctx)
	}
	var list struct {
		Data []listedModel `json:"data"`
	}
	if err := e.client.Exchange(ctx, kit.Request{Method: http.MethodGet, Path: "models"}, &list); err != nil {
		return catalogue.ModelInfo{}, err
	}
	for _, m := range list.Data {
		if m.ID == e.conf.Model {
			return m.info(), nil
		}
	}
	return catalogue.ModelInfo{}, fmt.Errorf("openai: the server lists no model %q: %w", e.conf.Model, kit.ErrNotFound)
}

// describeServer asks llama.cpp, which has one model and a context of the size that it was started with.
func (e *engine) describeServer(ctx context.Context) (catalogue.ModelInfo, error) {
	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Modalities struct {
			Vision bool `json:"vision"`
		} `json:"modalities"`
	}
	address := strings.TrimSuffix(strings.TrimSuffix(e.conf.baseURL(), "/"), "/v1") + "/props"
	if err := e.client.Exchange(ctx, kit.Request{Method: http.MethodGet, Path: address}, &props); err != nil {
		return catalogue.ModelInfo{}, err
	}
	return catalogue.ModelInfo{
		ContextWindow: props.Settings.Context, Capabilities: catalogue.Capabilities{Images: props.Modalities.Vision},
	}, nil
}

func (m *listedModel) info() catalogue.ModelInfo {
	info := catalogue.ModelInfo{
		ContextWindow: cmp.Or(m.ContextLength, m.ContextWindow, m.MaxModelLen, m.MaxContextLength),
		MaxOutput:     cmp.Or(m.TopProvider.MaxCompletionTokens, m.MaxCompletionTokens),
	}
	for _, p := range m.SupportedParameters {
		info.Capabilities.Reasoning = info.Capabilities.Reasoning || p == "reasoning"
	}
	for _, modality := range m.Architecture.InputModalities {
		info.Capabilities.Images = info.Capabilities.Images || modality == "image"
	}
	if p := m.Pricing; p != nil {
		input, ok1 := perMillion(p.Prompt)
		output, ok2 := perMillion(p.Completion)
		if ok1 && ok2 {
			info.Price = &catalogue.Price{Input: input, Output: output}
			info.Price.CacheRead, _ = perMillion(p.InputCacheRead)
			info.Price.CacheWrite, _ = perMillion(p.InputCacheWrite)
		}
	}
	return info
}

// perMillion returns the price of a million tokens. A negative one is the price of a router, which depends on its
// choice.
func perMillion(price string) (float64, bool) {
	n, err := strconv.ParseFloat(price, 64)
	return n * 1e6, err == nil && n >= 0
}
