package gemini

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
)

func TestEmbed_AnswersThatDoNotFit(t *testing.T) {
	for body, want := range map[string]string{
		`{"embeddings":[{"values":[1]}]}`:                                              "1 vectors for 2 texts",
		`{"embeddings":[{"values":[1]},{}]}`:                                           "no vector for text 1",
		`{"error":{"code":503,"message":"down","status":"UNAVAILABLE"}}`:               "status 503: down",
		`{"embeddings":[{"values":["a"]},{"values":[1]}]}`:                             "decode the response",
		`{"predictions":[{"embeddings":{"values":[1]}},{"embeddings":{"values":[]}}]}`: "no vector for text 1",
	} {
		server := kittest.Server(t, nil, kittest.JSON(body))
		_, err := embedderAt(t, server.URL).EmbedStrings(t.Context(), []string{"a", "b"})
		require.ErrorContains(t, err, want, body)
	}
}

// Rule providers/E6.
func TestEmbed_UsageWhereTheServiceSaysIt(t *testing.T) {
	server := kittest.Server(t, kittest.GeminiEmbeddings(),
		kittest.JSON(`{"embeddings":[{"values":[1]}],"usageMetadata":{"promptTokenCount":3}}`),
		kittest.JSON(`{"embeddings":[{"values":[1]}]}`))
	e := embedderAt(t, server.URL)
	_, usage := usageOf(t, e, []string{"a"})
	require.Equal(t, &embedding.TokenUsage{PromptTokens: 3, TotalTokens: 3}, usage)
	_, usage = usageOf(t, e, []string{"a"})
	require.Nil(t, usage)
}

func TestEmbed_SurvivesEveryMisbehaviour(t *testing.T) {
	good := kittest.NDJSON(`{"embeddings":[{"values":[1,2]}]}`)
	good.Text, good.Fail = "ok", kittest.Event{}
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

// FuzzAnswer reads anything as an answer: it is vectors for all texts, or an error.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"embeddings":[{"values":[1]},{"values":[1e999]}]}`, `{"embedding":{"values":[1]}}`, `{"error":[{"message":1}]}`,
		`{"predictions":[{"embeddings":{"values":[1],"statistics":{"token_count":1e99}}},{}]}`, `null`,
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
		switch {
		case err != nil && strings.Contains(err.Error(), testKey):
			t.Fatal(err)
		case err == nil && (len(got) != 2 || len(got[0]) == 0 || len(got[1]) == 0):
			t.Fatal(got)
		}
	})
}

// answering is a transport whose responses have this body.
type answering string

func (body answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(string(body))), ContentLength: -1,
	}, nil
}

// TestLive asks the service: WEFT_LIVE_GEMINI is an API key.
func TestLive(t *testing.T) {
	key := os.Getenv("WEFT_LIVE_GEMINI")
	if key == "" {
		t.Skip("set WEFT_LIVE_GEMINI to an API key to talk to Gemini")
	}
	e, err := NewEmbedder(t.Context(), &Config{
		APIKey: key, Model: "gemini-embedding-001", OutputDimensionality: new(int32(256)),
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
	require.NoError(t, err)
	got, err := e.EmbedStrings(t.Context(), []string{"a cat", "a kitten", "a tax form"})
	require.NoError(t, err)
	require.Len(t, got[0], 256)
	require.Greater(t, dot(got[0], got[1]), dot(got[0], got[2]))
	_, err = e.EmbedStrings(t.Context(), []string{"a"}, embedding.WithModel("no-such-model"))
	require.ErrorIs(t, err, kit.ErrNotFound)
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
