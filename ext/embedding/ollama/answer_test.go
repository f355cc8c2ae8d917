package ollama

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
)

// Rule providers/E5.
func TestEmbed_ATextThatIsTooLongIsAnErrorUnlessItMayBeCut(t *testing.T) {
	for want, change := range map[string]func(*Config){
		`"truncate":false`: func(*Config) {}, `"truncate":true`: func(c *Config) { c.Truncate = new(true) },
	} {
		server := kittest.Server(t, kittest.Ollama(), kittest.JSON(`{"embeddings":[[1]]}`))
		_, err := embedderAt(t, server.URL, change).EmbedStrings(t.Context(), []string{"a"})
		require.NoError(t, err)
		require.Contains(t, string(server.Requests()[0].Body), want)
	}
	server := kittest.Server(t, nil, kittest.Status(400, `{"error":"the input length exceeds the context length"}`))
	_, err := embedderAt(t, server.URL).EmbedStrings(t.Context(), []string{"a"})
	require.ErrorIs(t, err, kit.ErrContextLength)
}

// Rules providers/K6, providers/K31.
func TestTokenSource_IsAskedForEveryAttempt(t *testing.T) {
	server := kittest.Server(t, nil, kittest.Status(401, `{"error":"expired"}`), kittest.JSON(`{"embeddings":[[1]]}`))
	asked := 0
	e := embedderAt(t, server.URL, func(c *Config) {
		c.APIKey, c.ExtraFields = "", map[string]any{"new": true}
		c.TokenSource = func(context.Context) (string, error) {
			asked++
			return fmt.Sprintf("token-%d", asked), nil
		}
	})
	_, err := e.EmbedStrings(t.Context(), []string{"a"})
	require.NoError(t, err)
	require.Equal(t, "Bearer token-2", server.Requests()[1].Header.Get("Authorization"))
	require.JSONEq(t, `{"model":"m","input":["a"],"truncate":false,"new":true}`, string(server.Requests()[1].Body))
}

func TestEmbed_AnswersThatDoNotFit(t *testing.T) {
	for body, want := range map[string]string{
		`{"embeddings":[[1],[]]}`:                                      "no vector for text 1",
		`{"error":{"message":"overloaded","type":"overloaded_error"}}`: "status 529: overloaded",
		`{"embedding":[1]}`:                                            "0 vectors for 2 texts",
		`{"embeddings":[[1],["a"]]}`:                                   "decode the response",
		`{"embeddings":[[1],[1e999]]}`:                                 "decode the response",
	} {
		server := kittest.Server(t, nil, kittest.JSON(body))
		_, err := embedderAt(t, server.URL).EmbedStrings(t.Context(), []string{"a", "b"})
		require.ErrorContains(t, err, want, body)
	}
}

// Rule providers/K1.
func TestConfig_Faults(t *testing.T) {
	_, err := NewEmbedder(t.Context(), &Config{
		Model: "m", BaseURL: "http://localhost:11434/v1", APIKey: "a",
		TokenSource: func(context.Context) (string, error) { return "", nil },
		ExtraFields: map[string]any{"a": func() {}},
	})
	for _, want := range []string{"BaseURL must not end in /v1", "APIKey and TokenSource", "ExtraFields"} {
		require.ErrorContains(t, err, want)
	}
}

func TestEmbed_SurvivesEveryMisbehaviour(t *testing.T) {
	good := kittest.NDJSON(`{"model":"m","embeddings":[[1,2]],"prompt_eval_count":1}`)
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
				e, err := NewEmbedder(ctx, &Config{BaseURL: url, Model: "m", HTTPClient: &http.Client{Transport: transport}})
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

// TestLive asks a real server: WEFT_LIVE_OLLAMA_EMBED is the name of a model for vectors, WEFT_LIVE_OLLAMA_URL its
// address.
func TestLive(t *testing.T) {
	name := os.Getenv("WEFT_LIVE_OLLAMA_EMBED")
	if name == "" {
		t.Skip("set WEFT_LIVE_OLLAMA_EMBED to the name of a model for vectors to talk to Ollama")
	}
	e := embedderAt(t, os.Getenv("WEFT_LIVE_OLLAMA_URL"), func(c *Config) { c.Model, c.BatchSize = name, 2 })
	got, err := e.EmbedStrings(t.Context(), []string{"a cat", "a kitten", "a tax form"})
	require.NoError(t, err)
	require.Len(t, got, 3)
	require.Len(t, got[2], len(got[0]))
}
