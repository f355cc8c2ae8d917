package weftotel

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collectlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weftgo/weft/adk"
)

// receiver takes what exporters send, and decodes it.
type receiver struct {
	// mu guards the fields below: the names of spans, instruments and events, the scopes with their schema URLs, and every
	// byte that came.
	mu                        sync.Mutex
	spans, instruments, event []string
	scopes                    []string
	raw                       strings.Builder
}

func (c *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	data, err := io.ReadAll(body)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(data)
		err = map[string]func([]byte) error{"/v1/traces": c.traces, "/v1/metrics": c.metrics, "/v1/logs": c.logs}[r.URL.Path](data)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *receiver) traces(data []byte) error {
	var request collecttraces.ExportTraceServiceRequest
	err := proto.Unmarshal(data, &request)
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.scopes = append(c.scopes, scope.SchemaUrl+" "+scope.Scope.Name)
			for _, s := range scope.Spans {
				c.spans = append(c.spans, s.Name)
			}
		}
	}
	return err
}

func (c *receiver) metrics(data []byte) error {
	var request collectmetrics.ExportMetricsServiceRequest
	err := proto.Unmarshal(data, &request)
	for _, resource := range request.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			c.scopes = append(c.scopes, scope.SchemaUrl+" "+scope.Scope.Name)
			for _, m := range scope.Metrics {
				c.instruments = append(c.instruments, m.Name+" "+m.Unit)
			}
		}
	}
	return err
}

func (c *receiver) logs(data []byte) error {
	var request collectlogs.ExportLogsServiceRequest
	err := proto.Unmarshal(data, &request)
	for _, resource := range request.ResourceLogs {
		for _, scope := range resource.ScopeLogs {
			c.scopes = append(c.scopes, scope.SchemaUrl+" "+scope.Scope.Name)
			for _, r := range scope.LogRecords {
				c.event = append(c.event, r.EventName)
			}
		}
	}
	return err
}

// export runs an agent whose telemetry goes over the official exporters to a receiver.
func export(t *testing.T, conf Config) *receiver {
	t.Helper()
	c := &receiver{}
	server := httptest.NewServer(c)
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	spans, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(server.URL+"/v1/traces"))
	require.NoError(t, err)
	measured, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(server.URL+"/v1/metrics"))
	require.NoError(t, err)
	records, err := otlploghttp.New(t.Context(), otlploghttp.WithEndpointURL(server.URL+"/v1/logs"))
	require.NoError(t, err)
	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(measured)))
	logs := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(records)))
	conf.TracerProvider, conf.MeterProvider, conf.LoggerProvider = traces, metrics, logs
	h := New(conf)
	r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: everything(t)})
	drain(r.Query(t.Context(), "canary question", adk.WithCallbacks(h)))
	require.NoError(t, h.Wait(t.Context()))
	require.NoError(t, traces.Shutdown(t.Context()))
	require.NoError(t, metrics.Shutdown(t.Context()))
	require.NoError(t, logs.Shutdown(t.Context()))
	return c
}

// The official exporters, and a receiver that decodes what they send: nothing is lost, and nothing is sent that was not
// asked for.
// Rules telemetry/OT-1, telemetry/OT-27, telemetry/OT-28.
func TestHandler_OverTheWire(t *testing.T) {
	for _, content := range []bool{false, true} {
		conf := Config{Content: None}
		var events []string
		if content {
			conf.Content, events = SpansAndEvents, []string{detailsEvent, detailsEvent}
		}
		c := export(t, conf)
		require.ElementsMatch(t, []string{"chat", "chat", "execute_tool look", "invoke_agent a"}, c.spans)
		require.Equal(t, events, c.event)
		slices.Sort(c.instruments)
		require.Equal(t, []string{"gen_ai.client.operation.duration s", "gen_ai.client.token.usage {token}",
			"weft.agent.runs.active {run}"}, c.instruments)
		for _, scope := range c.scopes {
			require.Equal(t, "https://opentelemetry.io/schemas/1.41.0 github.com/weftgo/weft/ext/otel", scope)
		}
		require.Len(t, c.scopes, 2+len(events)/2)
		require.Equal(t, content, strings.Contains(c.raw.String(), "canary"))
	}
}
