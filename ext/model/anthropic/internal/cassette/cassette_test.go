package cassette

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const recording = `
version: 2
interactions:
- id: 0
  request: {method: POST, url: "http://host/a", body: first}
  response: {code: 200, body: "1", headers: {Content-Type: [text/plain]}}
- id: 1
  request: {method: POST, url: "http://host/a"}
  response: {code: 429, body: "2"}
`

func load(t *testing.T) *Cassette {
	file := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(file, []byte(recording), 0o600))
	c, err := Load(file)
	require.NoError(t, err)
	return c
}

func TestCassette_AnswersInOrder(t *testing.T) {
	c := load(t)
	client := &http.Client{Transport: c}
	for n, want := range []struct {
		code int
		body string
	}{{200, "1"}, {429, "2"}} {
		require.Error(t, c.Finished(), n)
		resp, err := client.Post("http://host/a", "text/plain", strings.NewReader("sent"))
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, want.code, resp.StatusCode)
		require.Equal(t, want.body, string(body))
	}
	require.NoError(t, c.Finished())
	require.Equal(t, [][]byte{[]byte("sent"), []byte("sent")}, c.Sent())
	require.Equal(t, "first", c.Interactions[0].Request.Body)
}

func TestCassette_KnowsNothingElse(t *testing.T) {
	for name, send := range map[string]func(*http.Client) (*http.Response, error){
		"method": func(c *http.Client) (*http.Response, error) { return c.Get("http://host/a") },
		"url":    func(c *http.Client) (*http.Response, error) { return c.Post("http://host/b", "", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := send(&http.Client{Transport: load(t)})
			if err == nil {
				resp.Body.Close()
			}
			require.ErrorContains(t, err, "nothing is recorded for request 1")
		})
	}
}

func TestLoad_Errors(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, text := range []string{"interactions: []", "interactions: 3"} {
		file := filepath.Join(t.TempDir(), "c.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err = Load(file)
		require.ErrorContains(t, err, file)
	}
}

func TestDir(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(EnvDir, dir)
	got, err := Dir()
	require.NoError(t, err)
	require.Equal(t, dir, got)

	t.Setenv(EnvDir, filepath.Join(dir, "none"))
	_, err = Dir()
	require.ErrorContains(t, err, "set WEFT_CASSETTES")

	t.Setenv(EnvDir, "")
	t.Chdir(dir)
	_, err = Dir()
	require.ErrorContains(t, err, "set WEFT_CASSETTES")
}
