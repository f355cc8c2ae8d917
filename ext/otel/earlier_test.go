package weftotel

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
)

// A run is linked to the request that has started it, in whatever process it is executed; not to one that is around it.
// Rule telemetry/OT-8.
func TestHandler_LinksARunToItsRequest(t *testing.T) {
	request := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	text := Traceparent(trace.ContextWithSpanContext(context.Background(), request))
	require.Regexp(t, `^00-01000000000000000000000000000000-0200000000000000-01$`, text)
	for _, around := range []bool{false, true} {
		tel := newTelemetry(t, Config{})
		r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: newAgent(t, "a", nil, adktest.Says("hi"))})
		ctx := t.Context()
		if around {
			ctx = trace.ContextWithSpanContext(ctx, request)
		}
		drain(r.Query(ctx, "x", adk.WithSessionValues(map[string]any{submittedBy: text}), adk.WithCallbacks(tel.Handler)))
		require.NoError(t, tel.Wait(t.Context()))
		links := tel.span("invoke_agent a").Links
		if around {
			require.Empty(t, links)
			continue
		}
		require.Len(t, links, 1)
		require.Equal(t, request.TraceID(), links[0].SpanContext.TraceID())
		require.Equal(t, request.SpanID(), links[0].SpanContext.SpanID())
	}
}
