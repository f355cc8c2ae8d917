package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// The key of another server is sent to that server, and to no other.
func TestEmbedder_SendsTheKeyToItsServerOnly(t *testing.T) {
	got := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.Path + " " + r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[{"index":0,"embedding":[1,2]}],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}`))
	}))
	defer server.Close()
	t.Setenv("OPENAI_API_KEY", "of-another-host")
	t.Setenv("OPENAI_BASE_URL", server.URL+"/v1")
	t.Setenv("OPENAI_EMBEDDING_MODEL", "")
	e, err := newEmbedder(t.Context())
	require.NoError(t, err)
	require.IsType(t, words{}, e, "nobody knows whether the server has embeddings")
	t.Setenv("OPENAI_EMBEDDING_MODEL", "m")
	e, err = newEmbedder(t.Context())
	require.NoError(t, err)
	_, err = e.EmbedStrings(t.Context(), []string{"x"})
	require.NoError(t, err)
	require.Equal(t, "/v1/embeddings Bearer of-another-host", got)
}
