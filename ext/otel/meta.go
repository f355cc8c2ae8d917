package weftotel

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
)

// Meta returns the trace that ctx belongs to, as a request to an MCP server has it in its _meta: traceparent, and
// tracestate and baggage if there are any. It is a value for mcptool.Config.Meta; the server's spans then belong to the
// trace of the run. Baggage goes to the server: keep it out of ctx if that may not have it.
func Meta(ctx context.Context) map[string]string {
	carrier := propagation.MapCarrier{}
	traceOfClient.Inject(ctx, carrier)
	return carrier
}
