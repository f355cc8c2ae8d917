package openai

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
)

const testKey = "the-key-of-the-test"

func embedderAt(t *testing.T, url string, change ...func(*Config)) *Embedder {
	t.Helper()
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	conf := &Config{APIKey: testKey, BaseURL: url + "/v1", Model: "m", HTTPClient: &http.Client{Transport: transport}}
	for _, c := range change {
		c(conf)
	}
	e, err := NewEmbedder(t.Context(), conf)
	require.NoError(t, err)
	return e
}

// lengths answers with a vector of the length of each text, in reverse order.
func lengths(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var req struct {
		Input  []string `json:"input"`
		Format string   `json:"encoding_format"`
	}
	_ = json.Unmarshal(body, &req)
	var data []string
	for i := range req.Input {
		i = len(req.Input) - 1 - i
		n := len(req.Input[i])
		vector := fmt.Sprintf("[%d,0.5]", n)
		if req.Format == "base64" {
			raw := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(n)))
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(0.5))
			vector = `"` + base64.StdEncoding.EncodeToString(raw) + `"`
		}
		data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, i, vector))
	}
	fmt.Fprintf(w, `{"data":[%s],"usage":{"prompt_tokens":%d,"total_tokens":%d}}`, strings.Join(data, ","),
		len(req.Input), len(req.Input))
}

// Rules providers/E1, providers/E2, providers/E6.
func TestEmbed_VectorsAreInOrderOverAllRequests(t *testing.T) {
	texts := make([]string, 25)
	var want [][]float64
	for i := range texts {
		texts[i] = strings.Repeat("x", i+1)
		want = append(want, []float64{float64(i + 1), 0.5})
	}
	for name, change := range map[string]func(*Config){
		"one by one":         func(c *Config) { c.BatchSize = 10 },
		"at once, in base64": func(c *Config) { c.BatchSize, c.Concurrency, c.EncodingFormat = 4, 3, EncodingFormatBase64 },
	} {
		t.Run(name, func(t *testing.T) {
			server := kittest.Server(t, kittest.Embeddings(10), kittest.Always(http.HandlerFunc(lengths)))
			e := embedderAt(t, server.URL, change)
			starts, ends := 0, 0
			var usage *embedding.TokenUsage
			handler := callbacks.NewHandlerBuilder().
				OnStartFn(func(ctx context.Context, _ *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
					starts++
					require.Len(t, embedding.ConvCallbackInput(in).Texts, 25)
					return ctx
				}).
				OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
					ends++
					usage = embedding.ConvCallbackOutput(out).TokenUsage
					require.Equal(t, "OpenAI", info.Type)
					return ctx
				}).Build()
			ctx := callbacks.InitCallbacks(t.Context(), nil, handler)
			got, err := e.EmbedStrings(ctx, texts)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, 1, starts)
			require.Equal(t, 1, ends)
			require.Equal(t, 25, usage.PromptTokens)
			require.Equal(t, "Bearer "+testKey, server.Requests()[0].Header.Get("Authorization"))
		})
	}
}

// Rules providers/E1, providers/E3.
func TestEmbed_WhatIsNoRequest(t *testing.T) {
	e := embedderAt(t, "http://127.0.0.1:1")
	for _, none := range [][]string{nil, {}} {
		got, err := e.EmbedStrings(t.Context(), none)
		require.NoError(t, err)
		require.Empty(t, got)
	}
	_, err := e.EmbedStrings(t.Context(), []string{"a", " ", ""})
	require.EqualError(t, err, "openai: text 2 is empty: leave it out")
}

func TestEmbed_AnswersThatDoNotFit(t *testing.T) {
	for body, want := range map[string]string{
		`{"data":[{"index":0,"embedding":[1]}]}`:                                   "1 vectors for 2 texts",
		`{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`:       "has index 1",
		`{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`:       "has index 7",
		`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[1]}]}`:        "vector 0 is empty",
		`{"data":[{"index":0,"embedding":"AAA="},{"index":1,"embedding":"AAA="}]}`: "base64",
		`{"error":{"message":"down","code":503}}`:                                  "status 503: down",
		`{`: "decode the response",
	} {
		server := kittest.Server(t, nil, kittest.JSON(body))
		_, err := embedderAt(t, server.URL).EmbedStrings(t.Context(), []string{"a", "b"})
		require.ErrorContains(t, err, want, body)
	}
	server := kittest.Server(t, nil, kittest.JSON(`{"data":[{"embedding":[1]},{"embedding":[2]}]}`))
	got, err := embedderAt(t, server.URL).EmbedStrings(t.Context(), []string{"a", "b"})
	require.NoError(t, err, "a server without indexes has them in order")
	require.Equal(t, [][]float64{{1}, {2}}, got)
}

func TestEmbed_AFailedRequestFailsTheCall(t *testing.T) {
	server := kittest.Server(t, nil, http.HandlerFunc(lengths), kittest.Status(400, `{"error":{"message":"too long"}}`),
		kittest.Always(http.HandlerFunc(lengths)))
	e := embedderAt(t, server.URL, func(c *Config) { c.BatchSize = 1 })
	_, err := e.EmbedStrings(t.Context(), []string{"a", "b", "c", "d"})
	require.ErrorIs(t, err, kit.ErrInvalid)
	require.ErrorContains(t, err, "too long")
	require.Len(t, server.Requests(), 2, "nothing is sent behind it")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	silent := kittest.Server(t, nil, kittest.Always(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})))
	_, err = embedderAt(t, silent.URL).EmbedStrings(ctx, []string{"a"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// Rules providers/Z1, providers/E2, providers/E6.
func TestEmbed_Targets(t *testing.T) {
	server := kittest.Server(t, nil, kittest.Always(http.HandlerFunc(lengths)))
	azure := embedderAt(t, server.URL, func(c *Config) {
		c.BaseURL, c.ByAzure, c.APIVersion, c.Dimensions, c.User = server.URL, true, "2024-10-21", new(256), "u"
	})
	_, err := azure.EmbedStrings(t.Context(), []string{"a"}, embedding.WithModel("other"))
	require.NoError(t, err)
	sent := server.Requests()[0]
	require.Equal(t, "/openai/deployments/other/embeddings?api-version=2024-10-21", sent.URL)
	require.Equal(t, testKey, sent.Header.Get("Api-Key"))
	require.JSONEq(t, `{"model":"other","input":["a"],"dimensions":256,"encoding_format":"base64","user":"u"}`, string(sent.Body))
}

// Rules providers/K1, providers/K2, providers/K5.
func TestConfig_FaultsEnvironmentAndSecrets(t *testing.T) {
	_, err := NewEmbedder(t.Context(), nil)
	require.EqualError(t, err, "openai: config is nil")
	_, err = NewEmbedder(t.Context(), &Config{ByAzure: true, Dimensions: new(0), BatchSize: -1, EncodingFormat: "x", Timeout: -1})
	for _, want := range []string{"Model", "APIKey", "BaseURL", "APIVersion", "Dimensions", "BatchSize", "EncodingFormat", "Timeout"} {
		require.ErrorContains(t, err, want)
	}
	kittest.PoisonEnv(t)
	kittest.NoLog(t)
	server := kittest.Server(t, nil, kittest.Status(401, `{"error":{"message":"bad key `+testKey+`"}}`))
	e := embedderAt(t, server.URL)
	_, err = e.EmbedStrings(t.Context(), []string{"a"})
	require.ErrorIs(t, err, kit.ErrAuth)
	conf := Config{APIKey: testKey, Model: "m", Headers: map[string]string{"X-Auth": testKey}}
	kittest.NoSecrets(t, testKey, err, conf, &conf, e, *e)
	require.Equal(t, "OpenAI", e.GetType())
	require.Equal(t, "openai", e.Provider())
}
