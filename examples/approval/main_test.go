package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestApproval(t *testing.T) {
	data := t.TempDir()
	post := func(url string, form url.Values) (out struct {
		Text    string
		Pending []struct{ ID, Text string }
	}) {
		response, err := http.PostForm(url, form)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
		require.NoError(t, json.Unmarshal(body, &out))
		return out
	}
	first, stop := demotest.Serve(t, "-data", data)
	asked := post(first+"/ask", url.Values{"chat": {"ana"}, "q": {"I want my money back."}})
	require.Len(t, asked.Pending, 1)
	stop()
	second, _ := demotest.Serve(t, "-data", data)
	done := post(second+"/reply", url.Values{"chat": {"ana"}, "id": {asked.Pending[0].ID}, "approve": {"yes"}})
	require.Equal(t, "Done: 40 euros are on their way.", done.Text)
	response, err := http.PostForm(second+"/reply", url.Values{"chat": {"ana"}, "id": {asked.Pending[0].ID}})
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, http.StatusConflict, response.StatusCode)
}
