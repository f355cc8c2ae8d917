package openai

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
)

// Rule providers/E2.
func TestServices_TakeDifferentBatches(t *testing.T) {
	for url, want := range map[string]kit.Batches{
		"":                                     {Texts: 2048, Bytes: 600_000},
		"https://eu.api.openai.com/v1":         {Texts: 2048, Bytes: 600_000},
		"https://r.openai.azure.com/openai/v1": {Texts: 2048, Bytes: 600_000},
		"https://dashscope-intl.aliyuncs.com/compatible-mode/v1":   {Texts: 10, Bytes: 600_000},
		"https://dashscope-us.aliyuncs.com/compatible-mode/v1":     {Texts: 10, Bytes: 600_000},
		"https://api.siliconflow.cn/v1":                            {Texts: 64, Bytes: 600_000},
		"https://api.mistral.ai/v1":                                {Texts: 2048, Bytes: 32_000},
		"https://open.bigmodel.cn/api/paas/v4":                     {Texts: 64, Bytes: 600_000},
		"https://generativelanguage.googleapis.com/v1beta/openai/": {Texts: 100, Bytes: 600_000},
		"http://localhost:8080/v1":                                 {Texts: 32, Bytes: 600_000},
		"https://notapi.mistral.ai.evil/v1":                        {Texts: 32, Bytes: 600_000},
	} {
		require.Equal(t, want, (&Config{BaseURL: url}).batches(), url)
	}
	require.Equal(t, kit.Batches{Texts: 7, Bytes: 600_000, Concurrency: 3},
		(&Config{BaseURL: "http://localhost:8080/v1", BatchSize: 7, Concurrency: 3}).batches())
	require.Equal(t, 2048, (&Config{BaseURL: "https://proxy.example.com", ByAzure: true}).batches().Texts)
}

// Rule providers/E2.
func TestServices_SmallBatchesAreWhatAStrictServerTakes(t *testing.T) {
	server := kittest.Server(t, kittest.Embeddings(32), kittest.Always(http.HandlerFunc(lengths)))
	got, err := embedderAt(t, server.URL).EmbedStrings(t.Context(), slices.Repeat([]string{"a"}, 100))
	require.NoError(t, err)
	require.Len(t, got, 100)
	require.Len(t, server.Requests(), 4)
}

// Rule providers/E2.
func TestServices_DimensionsByTheirNames(t *testing.T) {
	for host, want := range map[string]string{"api.mistral.ai": "output_dimension", "api.openai.com": "dimensions"} {
		var sent map[string]any
		e, err := NewEmbedder(t.Context(), &Config{
			APIKey: testKey, BaseURL: "https://" + host + "/v1", Model: "m", Dimensions: new(8),
			HTTPClient: &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
				if err := json.NewDecoder(req.Body).Decode(&sent); err != nil {
					return nil, err
				}
				return answering(`{"data":[{"index":0,"embedding":[1]}]}`).RoundTrip(req)
			})},
		})
		require.NoError(t, err)
		_, err = e.EmbedStrings(t.Context(), []string{"a"})
		require.NoError(t, err)
		require.EqualValues(t, 8, sent[want], host)
	}
}

// Rules providers/K6, providers/K31.
func TestTokenSource_IsAskedForEveryAttempt(t *testing.T) {
	server := kittest.Server(t, nil, kittest.Status(401, `{"error":{"message":"expired"}}`), http.HandlerFunc(lengths))
	asked := 0
	e := embedderAt(t, server.URL, func(c *Config) {
		c.APIKey = ""
		c.TokenSource = func(context.Context) (string, error) {
			asked++
			return fmt.Sprintf("token-%d", asked), nil
		}
	})
	_, err := e.EmbedStrings(t.Context(), []string{"a"})
	require.NoError(t, err)
	require.Equal(t, "Bearer token-2", server.Requests()[1].Header.Get("Authorization"))
}

func TestEmbed_SurvivesEveryMisbehaviour(t *testing.T) {
	good := kittest.NDJSON(`{"data":[{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":1,"total_tokens":1}}`)
	good.Text = "ok"
	for _, c := range kittest.Misbehaviours(good) {
		if c.Name == "an unknown event" {
			continue // the answer is one document
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel() // they wait
			require.NoError(t, c.Run(t.Context(), good, func(ctx context.Context, url string) (string, error) {
				transport := new(http.Transport)
				defer transport.CloseIdleConnections()
				e, err := NewEmbedder(ctx, &Config{
					APIKey: testKey, BaseURL: url, Model: "m", HTTPClient: &http.Client{Transport: transport},
				})
				if err != nil {
					return "", err
				}
				got, err := e.EmbedStrings(ctx, []string{"a"})
				if err == nil && len(got[0]) != 2 {
					err = errors.New("another vector")
				}
				if err != nil {
					return "", err
				}
				return "ok", nil
			}))
		})
	}
}

func base64Of(bits uint32) string {
	return base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint32(nil, bits))
}

func TestEmbed_NumbersThatAreNone(t *testing.T) {
	for name, bits := range map[string]uint32{"NaN": math.Float32bits(float32(math.NaN())), "Inf": math.Float32bits(float32(math.Inf(-1)))} {
		var v vector
		raw := fmt.Sprintf("%q", base64Of(bits))
		require.ErrorContains(t, v.UnmarshalJSON([]byte(raw)), "no number", name)
	}
}

// FuzzAnswer reads anything as an answer: it is vectors for all texts, or an error.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"data":[{"index":1,"embedding":[1]},{"index":0,"embedding":"AACAPw=="}]}`, `{"data":[{"embedding":[1]},{"embedding":[]}]}`,
		`{"data":[{"index":-1},{"index":9}]}`, `{"error":"x"}`, `{"data":[{"index":0,"embedding":"AADAfw=="},{"index":1,"embedding":[1]}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		e, err := NewEmbedder(t.Context(), &Config{
			APIKey: testKey, Model: "m", MaxRetries: new(0), HTTPClient: &http.Client{Transport: answering(body)},
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.EmbedStrings(t.Context(), []string{"a", "b"})
		if err == nil {
			if len(got) != 2 || len(got[0]) == 0 || len(got[1]) == 0 {
				t.Fatal(got)
			}
			if _, err := json.Marshal(got); err != nil {
				t.Fatal(err)
			}
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answering is a transport whose responses have this body.
type answering string

func (body answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(string(body))), ContentLength: -1,
	}, nil
}

// TestLive asks the service: WEFT_LIVE_OPENAI is an API key.
func TestLive(t *testing.T) {
	key := os.Getenv("WEFT_LIVE_OPENAI")
	if key == "" {
		t.Skip("set WEFT_LIVE_OPENAI to an API key to talk to OpenAI")
	}
	for _, format := range []EncodingFormat{EncodingFormatBase64, EncodingFormatFloat} {
		e, err := NewEmbedder(t.Context(), &Config{
			APIKey: key, Model: "text-embedding-3-small", Dimensions: new(256), EncodingFormat: format, BatchSize: 2,
			HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		})
		require.NoError(t, err)
		got, err := e.EmbedStrings(t.Context(), []string{"a cat", "a kitten", "a tax form"})
		require.NoError(t, err)
		require.Len(t, got[2], 256)
		_, err = e.EmbedStrings(t.Context(), []string{"a"}, embedding.WithModel("no-such-model"))
		require.ErrorIs(t, err, kit.ErrNotFound)
	}
}
