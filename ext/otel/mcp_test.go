package weftotel

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/baggage"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
)

// said are attributes that an input, an output or an error says.
type said map[string]any

func (s said) TraceAttributes() map[string]any { return s }

type saidError struct{ said }

func (saidError) Error() string { return "canary error" }

// The whole of it is tested in module interop, with real clients and servers.
// Rules telemetry/OT-16, telemetry/OT-17.
func TestHandler_RequestsOfMCP(t *testing.T) {
	tel := newTelemetry(t, Config{})
	request := func(component components.Component, method, name string, end any) {
		ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{Type: method, Name: name, Component: component}, tel.Handler)
		ctx = callbacks.OnStart(ctx, said{"mcp.method.name": method, "server.port": 80, "mcp.session.id": "s"})
		if err, failed := end.(error); failed {
			callbacks.OnError(ctx, err)
			return
		}
		callbacks.OnEnd(ctx, end)
	}
	request(componentOfMCPClient, "tools/list", "", said{"mcp.protocol.version": "2026-07-28"})
	request(componentOfMCPClient, "tools/call", "pay", said{"error.type": "tool_error"})
	request(componentOfMCPServer, "prompts/get", "hi", saidError{said{"error.type": "-32602", "rpc.response.status_code": "-32602"}})
	request(componentOfMCPServer, "tools/call", "pay", errors.New("canary error"))
	require.Equal(t, strings.TrimPrefix(`
tools/list [client] port=80 version=2026-07-28
tools/call pay [client] ERROR port=80 type=tool_error
prompts/get hi [server] ERROR port=80 type=-32602 status_code=-32602
tools/call pay [server] ERROR port=80 type=_OTHER
`, "\n"), tel.tree("server.port", "error.type", "rpc.response.status_code", "mcp.protocol.version"))
	request(componentOfMCPClient, sessionType, "", said{})
	request(componentOfMCPServer, sessionType, "", said{})
	require.Len(t, tel.spans.GetSpans(), 4, "a connection has no span")
	measured := tel.measured()
	require.EqualValues(t, 1, measured["mcp.client.session.duration"])
	require.EqualValues(t, 1, measured["mcp.server.session.duration"])
	require.EqualValues(t, 2, measured["mcp.client.operation.duration"])
	require.EqualValues(t, 2, measured["mcp.server.operation.duration"])
}

// What a request carries is read by the other side: the trace, and the baggage.
// Rule telemetry/OT-17.
func TestMeta_CarriesTheTraceAndTheBaggage(t *testing.T) {
	require.Empty(t, Meta(t.Context()))
	tel := newTelemetry(t, Config{})
	ctx, span := tel.tracer.Start(t.Context(), "around")
	defer span.End()
	member, err := baggage.NewMember("tenant", "t1")
	require.NoError(t, err)
	bag, err := baggage.New(member)
	require.NoError(t, err)
	meta := Meta(baggage.ContextWithBaggage(ctx, bag))
	require.Contains(t, meta["traceparent"], span.SpanContext().TraceID().String())
	require.Equal(t, "tenant=t1", meta["baggage"])
}
