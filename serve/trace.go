package serve

import (
	"net/http"
	"regexp"
)

// submittedBy is the session value with the span of the request that has started a run: handlers of telemetry link the run
// to it (see ext/otel).
const submittedBy = "weft.submitted_by"

// traceparent matches the header of that name (W3C Trace Context).
var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceparentOf is the span of a request, "" if there is none.
func (s *Server) traceparentOf(r *http.Request) string {
	span := r.Header.Get("Traceparent")
	if s.settings.traceparent != nil {
		span = s.settings.traceparent(r.Context())
	}
	if !traceparent.MatchString(span) {
		return ""
	}
	return span
}
