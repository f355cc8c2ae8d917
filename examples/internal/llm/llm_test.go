package llm

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demo"
)

func TestMain(m *testing.M) {
	for _, p := range Providers { // the tests choose the model
		for _, name := range []string{"_API_KEY", "_BASE_URL", "_MODEL"} {
			os.Unsetenv(p.Prefix + name)
		}
	}
	goleak.VerifyTestMain(m)
}

func TestOpen_WithoutAKeyTheModelIsTheDemo(t *testing.T) {
	want := &demo.Model{}
	t.Setenv("ANTHROPIC_BASE_URL", "http://localhost:1") // alone it is no choice: Claude needs a key
	have, which, err := Open(context.Background(), want)
	require.NoError(t, err)
	require.Same(t, want, have)
	require.Contains(t, which, "built-in demo model")
}

func TestOpen_TheFirstKeyCounts(t *testing.T) {
	t.Setenv("MISTRAL_API_KEY", "k")
	_, which, err := Open(context.Background(), nil)
	require.NoError(t, err)
	require.Equal(t, "Using model mistral-small-latest at https://api.mistral.ai/v1.", which)
	t.Setenv("GEMINI_API_KEY", "k")
	t.Setenv("GEMINI_MODEL", "gemini-9")
	_, which, err = Open(context.Background(), nil)
	require.NoError(t, err)
	require.Equal(t, "Using model gemini-9 at https://generativelanguage.googleapis.com/v1beta.", which)
	t.Setenv("OPENAI_BASE_URL", "http://user:secret@localhost:8080/v1/")
	t.Setenv("OPENAI_MODEL", "qwen3")
	_, which, err = Open(context.Background(), nil)
	require.NoError(t, err)
	require.Equal(t, "Using model qwen3 at http://localhost:8080/v1.", which)
}

func TestOpen_WrongAddressesAreErrorsWithoutSecrets(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for address, want := range map[string]string{
		"http://user:secret@localhost:x/v1": "invalid port", "localhost:11434/secret": "unsupported protocol scheme",
		server.URL: "404 Not Found", "http://user:secret@127.0.0.1:1": "connection refused",
	} {
		t.Setenv("OPENAI_BASE_URL", address)
		_, _, err := Open(context.Background(), nil)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "OPENAI_MODEL is not set")
		require.NotContains(t, err.Error(), "secret")
	}
	t.Setenv("OPENAI_BASE_URL", "not an address")
	t.Setenv("OPENAI_MODEL", "qwen3")
	_, _, err := Open(context.Background(), nil)
	require.ErrorContains(t, err, "OPENAI_BASE_URL")
}
