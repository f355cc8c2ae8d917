package gemini

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/model/kit/kittest"
)

func onVertex(name string) func(*Config) {
	return func(c *Config) {
		c.APIKey, c.Project, c.Location, c.Model = "", "p", "europe-west1", name
		c.TokenSource = func(context.Context) (string, error) { return "token", nil }
	}
}

// predictions answers a request of predict with as many vectors as it has instances.
func predictions(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	one := `{"embeddings":{"values":[3,4],"statistics":{"token_count":7,"truncated":false}}}`
	n := strings.Count(string(body), `"content"`)
	fmt.Fprintf(w, `{"predictions":[%s]}`, strings.Join(slices.Repeat([]string{one}, n), ","))
}

// usageOf returns the vectors of a call and what callback handlers see of its usage.
func usageOf(t *testing.T, e *Embedder, texts []string, opts ...embedding.Option) ([][]float64, *embedding.TokenUsage) {
	t.Helper()
	var usage *embedding.TokenUsage
	handler := callbacks.NewHandlerBuilder().
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			usage = embedding.ConvCallbackOutput(out).TokenUsage
			return ctx
		}).Build()
	got, err := e.EmbedStrings(callbacks.InitCallbacks(t.Context(), nil, handler), texts, opts...)
	require.NoError(t, err)
	return got, usage
}

// Rules providers/E4, providers/E6.
func TestVertex_ModelsThatTakeOneTextGetOneARequest(t *testing.T) {
	for _, batch := range []int{0, 10} {
		server := kittest.Server(t, kittest.GeminiEmbeddings(), kittest.Always(http.HandlerFunc(predictions)))
		e := embedderAt(t, server.URL, onVertex("gemini-embedding-001"), func(c *Config) { c.BatchSize = batch })
		got, usage := usageOf(t, e, []string{"a", "b", "c"})
		require.Len(t, got, 3)
		require.Len(t, server.Requests(), 3)
		require.Equal(t, &embedding.TokenUsage{PromptTokens: 21, TotalTokens: 21}, usage)
	}
}

// Rule providers/E4.
func TestVertex_OlderModelsTakeSeveralTexts(t *testing.T) {
	server := kittest.Server(t, kittest.GeminiEmbeddings(), kittest.Always(http.HandlerFunc(predictions)))
	texts := slices.Repeat([]string{"a"}, 12)
	e := embedderAt(t, server.URL, onVertex("text-embedding-005"))
	got, err := e.EmbedStrings(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, got, 12)
	require.Len(t, server.Requests(), 3, "five in a request")
	_, err = e.EmbedStrings(t.Context(), texts[:5], embedding.WithModel("gemini-embedding-001"))
	require.NoError(t, err)
	require.Len(t, server.Requests(), 8, "another model of a call takes one")

	everywhere := onVertex("text-embedding-005")
	e = embedderAt(t, server.URL, everywhere, func(c *Config) { c.Location = "us-central1" })
	_, err = e.EmbedStrings(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, server.Requests(), 9)
}

// Rules providers/E4, providers/E5.
func TestVertex_NewerModelsHaveAMethodOfTheirOwn(t *testing.T) {
	answer := kittest.JSON(`{"embedding":{"values":[3,4]},"usageMetadata":{"promptTokenCount":5},"truncated":false}`)
	server := kittest.Server(t, kittest.GeminiEmbeddings(), kittest.Always(answer))
	e := embedderAt(t, server.URL, onVertex("gemini-embedding-2"), func(c *Config) {
		c.OutputDimensionality, c.TaskType, c.Title = new(int32(2)), "RETRIEVAL_DOCUMENT", "T"
	})
	got, usage := usageOf(t, e, []string{"a", "b"})
	require.InDeltaSlice(t, []float64{0.6, 0.8}, got[1], 1e-12)
	require.Equal(t, 10, usage.PromptTokens)
	sent := server.Requests()[0]
	require.Equal(t, "/v1beta/projects/p/locations/europe-west1/publishers/google/models/gemini-embedding-2:embedContent", sent.URL)
	require.JSONEq(t, `{"content":{"role":"user","parts":[{"text":"a"}]},"embedContentConfig":{"taskType":"RETRIEVAL_DOCUMENT",
		"title":"T","autoTruncate":false,"outputDimensionality":2}}`, string(sent.Body))
}

func TestVertex_AddressOfALocation(t *testing.T) {
	for location, want := range map[string]string{
		"global": "https://aiplatform.googleapis.com/v1", "eu": "https://aiplatform.eu.rep.googleapis.com/v1",
		"asia-east1": "https://asia-east1-aiplatform.googleapis.com/v1", "": DefaultBaseURL,
	} {
		require.Equal(t, want, (&Config{Location: location}).baseURL())
	}
}

func TestVertex_MIMEType(t *testing.T) {
	server := kittest.Server(t, kittest.GeminiEmbeddings(), kittest.Always(http.HandlerFunc(predictions)))
	html := func(c *Config) { c.MIMEType = "text/html" }
	_, err := embedderAt(t, server.URL, onVertex("text-embedding-005"), html).EmbedStrings(t.Context(), []string{"a"})
	require.NoError(t, err)
	require.Contains(t, string(server.Requests()[0].Body), `"mimeType":"text/html"`)
	_, err = embedderAt(t, server.URL, onVertex("gemini-embedding-2"), html).EmbedStrings(t.Context(), []string{"a"})
	require.ErrorContains(t, err, "MIMEType")
	_, err = NewEmbedder(t.Context(), &Config{APIKey: "k", Model: "m", MIMEType: "text/html"})
	require.ErrorContains(t, err, "MIMEType")
}

// Documents and questions are embedded for other tasks, by one embedder.
func TestOptions_TaskOfACall(t *testing.T) {
	server := kittest.Server(t, kittest.GeminiEmbeddings(), kittest.Always(kittest.JSON(`{"embeddings":[{"values":[1]}]}`)))
	e := embedderAt(t, server.URL, func(c *Config) { c.TaskType, c.Title = "RETRIEVAL_DOCUMENT", "T" })
	for _, opts := range [][]embedding.Option{{WithTaskType("RETRIEVAL_QUERY")}, {WithTitle("U")}, nil} {
		_, err := e.EmbedStrings(t.Context(), []string{"a"}, opts...)
		require.NoError(t, err)
	}
	sent := server.Requests()
	require.Contains(t, string(sent[0].Body), `"taskType":"RETRIEVAL_QUERY"}`, "a question has no title")
	require.Contains(t, string(sent[1].Body), `"title":"U"`)
	require.Contains(t, string(sent[2].Body), `"taskType":"RETRIEVAL_DOCUMENT","title":"T"`)
}
