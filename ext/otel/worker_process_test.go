package weftotel

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/serve"
)

// Environment of a process of this test that executes a run: where the runs are, and which.
const (
	workedIn = "WEFT_OTEL_STORE"
	worked   = "WEFT_OTEL_RUN"
)

// A process that executes the run of another one, and prints the links of its spans.
func TestWorkerProcess(t *testing.T) {
	if os.Getenv(workedIn) == "" {
		t.Skip("it is the worker of another test")
	}
	store, err := checkpoint.NewFileStore(os.Getenv(workedIn))
	require.NoError(t, err)
	tel := newTelemetry(t, Config{})
	agent := newAgent(t, "desk", nil, adktest.Says("hi"))
	d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"desk": dispatch.RunnerOf(agent)},
		Options: func(context.Context, runs.Info) ([]adk.AgentRunOption, error) {
			return []adk.AgentRunOption{adk.WithCallbacks(tel.Handler)}, nil
		}})
	_, err = d.Execute(t.Context(), os.Getenv(worked))
	require.NoError(t, err)
	require.NoError(t, tel.Wait(t.Context()))
	span := tel.span("invoke_agent desk")
	require.Equal(t, span.SpanContext.TraceID(), tel.span("chat").SpanContext.TraceID(), "all of the run is in one trace")
	for _, link := range span.Links {
		fmt.Println("LINK", link.SpanContext.TraceID(), link.SpanContext.SpanID())
	}
}

// The whole way: a request with a traceparent, the span of the server around it, a run that it submits, and the spans of the
// process that executes that: they are linked to the span of the request, which is in the client's trace.
// Rule serving/SV26.
func TestServe_ARunOfAnotherProcessIsLinkedToItsRequest(t *testing.T) {
	dir := t.TempDir()
	store, err := checkpoint.NewFileStore(dir)
	require.NoError(t, err)
	agent := newAgent(t, "desk", nil)
	front := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{}})
	srv, err := serve.New(serve.Config{Agents: []adk.Agent{agent}, Front: front, Traceparent: Traceparent})
	require.NoError(t, err)
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // as otelhttp does it
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := provider.Tracer("web").Start(ctx, "POST")
		defer span.End()
		srv.ServeHTTP(w, r.WithContext(ctx))
	}))
	defer func() {
		require.NoError(t, srv.Shutdown(context.Background()))
		web.Close()
	}()

	const trace = "0af7651916cd43dd8448eb211c80319c"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/agents/desk/runs", strings.NewReader(`{"input":"x"}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	answer, err := web.Client().Do(r)
	require.NoError(t, err)
	answer.Body.Close()
	require.Equal(t, http.StatusCreated, answer.StatusCode)
	location := answer.Header.Get("Location")
	require.NotEmpty(t, location)

	worker := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestWorkerProcess$", "-test.v")
	worker.Env = append(os.Environ(), workedIn+"="+dir, worked+"="+location[strings.LastIndexByte(location, '/')+1:])
	out, err := worker.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Len(t, spans.GetSpans(), 1)
	request := spans.GetSpans()[0].SpanContext
	require.Equal(t, trace, request.TraceID().String(), "the span of the request is in the client's trace")
	require.Equal(t, 1, strings.Count(string(out), "LINK"), "%s", out)
	require.Contains(t, string(out), fmt.Sprintln("LINK", request.TraceID(), request.SpanID()))
}
