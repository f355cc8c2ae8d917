package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func post(t *testing.T, url, body string) string {
	t.Helper()
	answer, err := http.Post(url, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(data)
}

// The page itself is tested in a browser, in interop.
func TestWebchat_AnswersAndAsks(t *testing.T) {
	url, _ := demotest.Serve(t, "-data", t.TempDir())
	page, err := http.Get(url)
	require.NoError(t, err)
	defer page.Body.Close()
	require.Contains(t, page.Header.Get("Content-Security-Policy"), "default-src 'none'")
	events := post(t, url+"/agui/desk", `{"threadId":"t","runId":"r1","protocolVersion":"1.0","messages":[{"id":"u","role":"user","content":"weather"}]}`)
	require.Contains(t, events, `"content":"23 degrees and sunny in Lisbon"`)
	require.Contains(t, events, `"outcome":{"type":"success"}`)
	events = post(t, url+"/agui/desk", `{"threadId":"t","runId":"r2","protocolVersion":"1.0","messages":[{"id":"u2","role":"user","content":"refund"}]}`)
	require.Contains(t, events, `"reason":"tool_call"`)
}
