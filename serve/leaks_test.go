package serve_test

import (
	"net/http"
	"testing"

	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/servetest"
)

// Rules serving/SV16, serving/SV18.
func TestServer_LeaksNothing(t *testing.T) {
	handler := func(s *serve.Server) http.Handler { return s }
	servetest.RequireNoLeaks(t, handler, "/agents/desk/runs", `{"input":"`+servetest.CanaryText+`"}`,
		`{"input":"`+servetest.CanaryText+`","thread":"t"}`, `{"input":"`+servetest.CanaryText+`","nothing":1}`)
}
