package main

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestSse(t *testing.T) {
	url, _ := demotest.Serve(t)
	response, err := http.Get(url + "/ask?q=weather")
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "event: call\ndata: {\"name\":\"weather\",\"arguments\":\"{\\\"name\\\":\\\"Lisbon\\\"}\"}\n\n")
	require.Contains(t, string(body), "event: text\ndata: \"It \"\n\n")
	require.Contains(t, string(body), "event: end\ndata: {")
}

// TestSse_AClientThatGoesAwayEndsTheRun: the server says so, and still stops at once.
func TestSse_AClientThatGoesAwayEndsTheRun(t *testing.T) {
	url, stop := demotest.Serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/ask?q=weather", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	_, err = response.Body.Read(make([]byte, 1))
	require.NoError(t, err)
	cancel()
	response.Body.Close()
	stop()
}
