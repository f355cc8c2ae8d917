package interop

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
	"github.com/weftgo/weft/ext/mcp/mcptool"
	weftotel "github.com/weftgo/weft/ext/otel"
)

// spanTree returns the spans of both processes as they nest.
func spanTree(spans tracetest.SpanStubs) string {
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	var out strings.Builder
	var show func(parent string, depth int)
	show = func(parent string, depth int) {
		for _, s := range spans {
			if s.Parent.SpanID().String() != parent {
				continue
			}
			attrs := attribute.NewSet(s.Attributes...)
			method, _ := attrs.Value("mcp.method.name")
			failed, _ := attrs.Value("error.type")
			status := ""
			if s.Status.Code == codes.Error {
				status = " ERROR " + failed.AsString()
			}
			fmt.Fprintf(&out, "%s%s [%s] %s%s\n", strings.Repeat("  ", depth), s.Name, s.SpanKind, method.AsString(), status)
			show(s.SpanContext.SpanID().String(), depth+1)
		}
	}
	show("0000000000000000", 0)
	return out.String()
}

// An agent calls an agent of another process by MCP: it is one trace.
func TestMCP_ACallIsOneTrace(t *testing.T) {
	spans, reader := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	telemetry := func() *weftotel.Handler {
		return weftotel.New(weftotel.Config{Content: weftotel.None, TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
			MeterProvider: meters})
	}
	agentOf := func(name string, conf adk.ChatModelAgentConfig, replies ...adktest.Answer) adk.Agent {
		conf.Name, conf.Description, conf.Model = name, name, adktest.NewModel(t, replies...)
		a, err := adk.NewChatModelAgent(t.Context(), &conf)
		require.NoError(t, err)
		return a
	}
	there := telemetry()
	server, err := mcpserve.New(mcpserve.Config{Name: "elsewhere", Keys: [][]byte{[]byte(strings.Repeat("k", 32))}, Callbacks: []callbacks.Handler{there}})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{CheckPointStore: checkpoint.NewMemoryStore(),
		Agent: agentOf("clerk", adk.ChatModelAgentConfig{}, adktest.Says("Found."))})
	require.NoError(t, mcpserve.AddAgent(server, runner, mcpserve.AgentOptions{Name: "clerk", Description: "looks"}))
	h, err := server.Handler(mcpserve.HTTPOptions{})
	require.NoError(t, err)
	web := httptest.NewServer(h)
	defer web.Close()

	here := telemetry()
	remote, err := mcptool.New(mcptool.Config{Name: "elsewhere", URL: web.URL, Meta: weftotel.Meta})
	require.NoError(t, err)
	defer func() { require.NoError(t, remote.Close()) }()
	tools, err := remote.Tools(t.Context())
	require.NoError(t, err)
	spans.Reset()
	caller := agentOf("desk", adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(tools...)},
		adktest.Calls(adktest.Call("clerk", `{"request":"look"}`)), adktest.Says("Done."))
	for e := range adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: caller}).Query(t.Context(), "?", adk.WithCallbacks(here)).All() {
		require.NoError(t, e.Err)
	}
	require.NoError(t, here.Wait(t.Context()))
	require.NoError(t, there.Wait(t.Context()))
	require.Equal(t, strings.TrimPrefix(`
invoke_agent desk [internal] 
  chat [client] 
  execute_tool clerk [internal] tools/call
    tools/call clerk [server] tools/call
      invoke_agent clerk [internal] 
        chat [client] 
  chat [client] 
`, "\n"), spanTree(spans.GetSpans()))

	var data metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &data))
	var names []string
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			names = append(names, m.Name)
		}
	}
	require.Subset(t, names, []string{"mcp.client.operation.duration", "mcp.server.operation.duration", "gen_ai.client.operation.duration"})
}
