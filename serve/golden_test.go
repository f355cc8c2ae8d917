package serve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/serve/internal/servetest"
)

// What the native API streams, byte for byte: a run with a tool, and one that asks.
func TestServer_StreamsAsInTheGoldenFiles(t *testing.T) {
	servetest.EachKind(t, func(t *testing.T, makeDesk func(replies ...adktest.Answer) servetest.Desk) {
		for name, replies := range map[string][]adktest.Answer{
			"tools": {adktest.Streams("Let me ", "see.").Calling(adktest.Call("look", `{}`)), adktest.Streams("It is ", "sunny.")},
			"asks":  {adktest.Calls(adktest.Call("pay", `{"n":1}`))},
		} {
			d := makeDesk(replies...)
			web := httptest.NewServer(d)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/agents/desk/runs", strings.NewReader(`{"input":"Hi"}`))
			require.NoError(t, err)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "text/event-stream")
			answer, err := web.Client().Do(r)
			require.NoError(t, err)
			data, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			answer.Body.Close()
			web.Close()
			kind := "ordinary"
			if d.Agentic {
				kind = "agentic"
			}
			servetest.RequireGolden(t, name+"."+kind+".golden", string(data))
		}
	})
}
