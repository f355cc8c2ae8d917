package openai

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

// Rule providers/P4.
func TestDescribe(t *testing.T) {
	for name, c := range map[string]struct {
		profile    Profile
		path, body string
		want       catalogue.ModelInfo
	}{
		"OpenRouter": {ProfileOpenRouter, "/v1/models",
			`{"data":[{"id":"other","context_length":5},{"id":"m","context_length":200000,"supported_parameters":["tools","reasoning"],
			"architecture":{"input_modalities":["text","image"]},"top_provider":{"max_completion_tokens":64000},
			"pricing":{"prompt":"0.000003","completion":"0.000015","input_cache_read":"0.0000003"}}]}`,
			catalogue.ModelInfo{
				ContextWindow: 200000, MaxOutput: 64000, Capabilities: catalogue.Capabilities{Reasoning: true, Images: true},
				Price: &catalogue.Price{Input: 3, Output: 15, CacheRead: 0.3},
			}},
		"a router without a price": {ProfileOpenRouter, "/v1/models",
			`{"data":[{"id":"m","context_length":9,"pricing":{"prompt":"-1","completion":"-1"}}]}`,
			catalogue.ModelInfo{ContextWindow: 9}},
		"vLLM": {ProfileVLLM, "/v1/models", `{"data":[{"id":"m","max_model_len":32768}]}`,
			catalogue.ModelInfo{ContextWindow: 32768}},
		"Groq": {ProfileGroq, "/v1/models", `{"data":[{"id":"m","context_window":131072,"max_completion_tokens":8192}]}`,
			catalogue.ModelInfo{ContextWindow: 131072, MaxOutput: 8192}},
		"OpenAI says nothing": {ProfileOpenAI, "/v1/models", `{"data":[{"id":"m"}]}`, catalogue.ModelInfo{}},
		"llama.cpp": {ProfileLlamaCpp, "/props",
			`{"default_generation_settings":{"n_ctx":4096},"modalities":{"vision":true}}`,
			catalogue.ModelInfo{ContextWindow: 4096, Capabilities: catalogue.Capabilities{Images: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			server := kittest.Server(t, nil, kittest.Always(kittest.JSON(c.body)))
			m := ofServer(t, server.URL, c.profile)
			var d kit.Describer = m
			got, err := d.Describe(t.Context())
			require.NoError(t, err)
			if c.want.Price != nil {
				require.InDelta(t, c.want.Price.CacheRead, got.Price.CacheRead, 1e-9)
				got.Price.CacheRead = c.want.Price.CacheRead
			}
			require.Equal(t, c.want, got)
			require.Equal(t, c.path, server.Requests()[0].URL)
			require.Equal(t, http.MethodGet, server.Requests()[0].Method)
		})
	}
	server := kittest.Server(t, nil, kittest.JSON(`{"data":[]}`), kittest.Status(401, `{"error":{"message":"no `+testKey+`"}}`))
	m := ofServer(t, server.URL, ProfileUnknown)
	_, err := m.Describe(t.Context())
	require.ErrorIs(t, err, kit.ErrNotFound)
	_, err = m.Describe(t.Context())
	require.ErrorIs(t, err, kit.ErrAuth)
	require.NotContains(t, err.Error(), testKey)

	azure := &AzureConfig{Endpoint: "https://a.openai.azure.com", APIVersion: "v", Deployment: "d"}
	agentic, err := NewAgenticModel(t.Context(), &Config{APIKey: testKey, Azure: azure})
	require.NoError(t, err)
	_, err = agentic.Describe(t.Context())
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestAgenticModel_AnswersInBlocks(t *testing.T) {
	server := kittest.Server(t, kittest.ChatCompletions(kittest.ChatUnknown), kittest.Always(okStream))
	profile := ProfileUnknown
	m, err := NewAgenticModel(context.Background(), &Config{
		APIKey: testKey, BaseURL: server.URL + "/v1", Model: "m", Profile: &profile,
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
	require.NoError(t, err)
	got, err := m.Generate(t.Context(), []*schema.AgenticMessage{schema.UserAgenticMessage("q")})
	require.NoError(t, err)
	require.Len(t, got.ContentBlocks, 1)
	require.Equal(t, "ok", got.ContentBlocks[0].AssistantGenText.Text)
	require.Equal(t, kit.FinishStop, kit.FinishOf(got))
}
