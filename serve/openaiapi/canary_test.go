package openaiapi

import (
	"net/http"
	"testing"

	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/servetest"
)

// Rules serving/SV16, serving/SV18.
func TestHandler_LeaksNothing(t *testing.T) {
	handler := func(s *serve.Server) http.Handler { return Handler(s, Config{ShowWork: true}) }
	message := `{"model":"desk","messages":[{"role":"user","content":"` + servetest.CanaryText + `"}]`
	servetest.RequireNoLeaks(t, handler, "/v1/chat/completions", message+`}`, message+`,"stream":true}`, message+`,"n":2}`)
	input := `{"model":"desk","input":"` + servetest.CanaryText + `"`
	servetest.RequireNoLeaks(t, handler, "/v1/responses", input+`}`, input+`,"stream":true}`, input+`,"previous_response_id":"x"}`)
}
