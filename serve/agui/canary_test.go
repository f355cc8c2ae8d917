package agui

import (
	"net/http"
	"testing"

	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/servetest"
)

// Rules serving/SV16, serving/SV18.
func TestHandler_LeaksNothing(t *testing.T) {
	handler := func(s *serve.Server) http.Handler { return Handler(s, Config{Agent: "desk"}) }
	servetest.RequireNoLeaks(t, handler, "/", body("r1", user("u1", servetest.CanaryText), ""),
		body("r2", user("u2", servetest.CanaryText), `,"resume":[{"interruptId":"x"}]`), `{"threadId":"canary-text`)
}
