package aisdk

import (
	"net/http"
	"testing"

	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/servetest"
)

// Rules serving/SV16, serving/SV18.
func TestHandler_LeaksNothing(t *testing.T) {
	handler := func(s *serve.Server) http.Handler { return Handler(s, "desk", Config{}) }
	servetest.RequireNoLeaks(t, handler, "/", again(submit, asks(servetest.CanaryText)), again(regenerate, asks(servetest.CanaryText)),
		`{"id":"canary-text`)
}
