package kit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/embedding"
)

// embeddings is an engine whose vectors have the length of the text.
type embeddings struct {
	fail     func(texts []string) error
	requests atomic.Int32
	running  atomic.Int32
	most     atomic.Int32
}

func (e *embeddings) Info() Info {
	return Info{Type: "Test", Provider: "test", System: "test", Host: "host", Redactor: NewRedactor("test", testKey)}
}

func (e *embeddings) Config([]embedding.Option) *embedding.Config {
	return &embedding.Config{Model: "m"}
}

func (e *embeddings) Embed(
	_ context.Context, texts []string, _ []embedding.Option,
) ([][]float64, *embedding.TokenUsage, error) {
	e.requests.Add(1)
	now := e.running.Add(1)
	defer e.running.Add(-1)
	for most := e.most.Load(); now > most && !e.most.CompareAndSwap(most, now); most = e.most.Load() {
	}
	if e.fail != nil {
		if err := e.fail(texts); err != nil {
			return nil, nil, err
		}
	}
	var vectors [][]float64
	for _, text := range texts {
		vectors = append(vectors, []float64{float64(len(text))})
	}
	return vectors, &embedding.TokenUsage{PromptTokens: len(texts), TotalTokens: len(texts)}, nil
}

// Rules providers/E1, providers/E2.
func TestEmbedder_DividesByCountAndBytes(t *testing.T) {
	texts := []string{"1", "22", strings.Repeat("3", 100), "4", "5", "6"}
	for _, c := range []struct {
		batches Batches
		want    int32
	}{
		{Batches{}, 1}, {Batches{Texts: 2}, 3}, {Batches{Bytes: 10}, 3}, {Batches{Texts: 1, Concurrency: 3}, 6},
		{Batches{Texts: 100, Bytes: 1}, 6},
	} {
		engine := new(embeddings)
		got, err := NewEmbedder(engine, c.batches).EmbedStrings(t.Context(), texts)
		require.NoError(t, err)
		require.Equal(t, [][]float64{{1}, {2}, {100}, {1}, {1}, {1}}, got)
		require.Equal(t, c.want, engine.requests.Load(), c.batches)
		require.LessOrEqual(t, engine.most.Load(), int32(max(1, c.batches.Concurrency)))
	}
}

func TestEmbedder_FailuresAndPanicsAreErrors(t *testing.T) {
	wrong := errors.New("wrong")
	for name, fail := range map[string]func([]string) error{
		"error": func(texts []string) error {
			if texts[0] == "c" {
				return wrong
			}
			return nil
		},
		"panic": func(texts []string) error {
			if texts[0] == "c" {
				panic(fmt.Errorf("%w %s", wrong, testKey))
			}
			return nil
		},
	} {
		e := NewEmbedder(&embeddings{fail: fail}, Batches{Texts: 1, Concurrency: 4})
		_, err := e.EmbedStrings(t.Context(), []string{"a", "b", "c", "d", "e", "f"})
		require.ErrorIs(t, err, wrong, name)
		require.NotContains(t, err.Error(), testKey)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err := NewEmbedder(new(embeddings), Batches{}).EmbedStrings(ctx, []string{"a"})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "test: context canceled: enough")
	require.Equal(t, `Test embedder "" at host`, fmt.Sprintf("%#v", NewEmbedder(new(embeddings), Batches{})))
}

// Rule providers/E1.
func TestEmbedder_NoTextsAreNoRequestAndNoVectors(t *testing.T) {
	engine := new(embeddings)
	for _, none := range [][]string{nil, {}} {
		got, err := NewEmbedder(engine, Batches{}).EmbedStrings(t.Context(), none)
		require.NoError(t, err)
		require.Equal(t, [][]float64{}, got)
	}
	require.Zero(t, engine.requests.Load())
}

// hollow is an engine that gives a vector without numbers for the text "b".
type hollow struct{ embeddings }

func (e *hollow) Embed(
	ctx context.Context, texts []string, opts []embedding.Option,
) ([][]float64, *embedding.TokenUsage, error) {
	vectors, usage, err := e.embeddings.Embed(ctx, texts, opts)
	for i, text := range texts {
		if text == "b" {
			vectors[i] = nil
		}
	}
	return vectors, usage, err
}

// Rule providers/E1.
func TestEmbedder_AMissingVectorIsAnErrorThatNamesTheText(t *testing.T) {
	_, err := NewEmbedder(new(hollow), Batches{Texts: 2}).EmbedStrings(t.Context(), []string{"a", "c", "c", "b"})
	require.EqualError(t, err, "test: the server has given no vector for text 3")
}

func TestEmbedder_SaysWhereItsRequestsGo(t *testing.T) {
	host, port := NewEmbedder(new(embeddings), Batches{}).Endpoint()
	require.Equal(t, "host", host)
	require.Zero(t, port)
}
