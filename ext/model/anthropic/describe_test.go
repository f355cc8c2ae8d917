package anthropic

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
)

// Holds providers/P4.
func TestDescribe_AsksForTheWindow(t *testing.T) {
	server := kittest.Server(t, nil, kittest.Always(kittest.JSON(
		`{"type":"model","id":"claude-x","max_input_tokens":200000,"max_tokens":64000}`)))
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	conf := &Config{APIKey: "the-key", BaseURL: server.URL, Model: "claude-x", HTTPClient: &http.Client{Transport: transport}}
	chat, err := NewChatModel(t.Context(), conf)
	require.NoError(t, err)
	agentic, err := NewAgenticModel(t.Context(), conf)
	require.NoError(t, err)
	for _, d := range []kit.Describer{chat, agentic} {
		info, err := d.Describe(t.Context())
		require.NoError(t, err)
		require.Equal(t, catalogue.ModelInfo{ContextWindow: 200000, MaxOutput: 64000}, info)
	}
	sent := server.Requests()[0]
	require.Equal(t, "/v1/models/claude-x", sent.URL)
	require.Equal(t, "the-key", sent.Header.Get("X-Api-Key"))
	require.NotEmpty(t, sent.Header.Get("Anthropic-Version"))
}
