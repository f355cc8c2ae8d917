package mcpserve_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
)

type requestKey struct{}

// Requests are reported with what traces have for them, what the client says of its own trace among it, and what runs
// for them is within them.
// Rule mcp/MS9.
func TestRequests_AreReportedToCallbacks(t *testing.T) {
	type traced interface{ TraceAttributes() map[string]any }
	var seen []string
	var starts, ends []map[string]any
	var trace map[string]string
	handler := callbacks.NewHandlerBuilder().OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
		switch info.Component {
		case mcpserve.ComponentOfServer:
			seen = append(seen, info.Type+" "+info.Name)
			starts = append(starts, in.(traced).TraceAttributes())
			trace = in.(*mcpserve.CallbackInput).TraceContext()
			return context.WithValue(ctx, requestKey{}, info.Name)
		case components.ComponentOfTool, adk.ComponentOfAgent:
			within, _ := ctx.Value(requestKey{}).(string)
			seen = append(seen, within+"/"+info.Name)
		}
		return ctx
	}).OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
		if info.Component == mcpserve.ComponentOfServer {
			ends = append(ends, out.(traced).TraceAttributes())
		}
		return ctx
	}).OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
		if info.Component == mcpserve.ComponentOfServer {
			seen = append(seen, "error "+adk.ErrorType(err))
		}
		return ctx
	}).Build()
	s := desk(t, mcpserve.Config{Callbacks: []callbacks.Handler{handler}}, adktest.NewTool("work", adktest.Says("worked")),
		adktest.Calls(adktest.Call("work", `{}`)), adktest.Says("done"))
	client := connect(t, s, mcpserve.HTTPOptions{}, nil)
	own := request
	own.Meta = mcp.Meta{"traceparent": "00-1-2-01", "baggage": "a=b", "other": "x"}
	require.Equal(t, "done", text(t, call(t, client, own)))
	_, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "gone"})
	require.Error(t, err)
	bad := own
	bad.Arguments = map[string]any{}
	require.True(t, call(t, client, bad).IsError)
	require.Equal(t, map[string]string{"traceparent": "00-1-2-01", "baggage": "a=b"}, trace)
	require.Equal(t, []string{"tools/call refund", "refund/refund", "refund/work", "prompts/get gone", "error -32602",
		"tools/call refund"}, seen)
	require.Equal(t, "127.0.0.1", starts[0]["client.address"])
	require.Positive(t, starts[0]["client.port"])
	delete(starts[0], "client.address")
	delete(starts[0], "client.port")
	require.Equal(t, map[string]any{"mcp.method.name": "tools/call", "gen_ai.tool.name": "refund",
		"gen_ai.operation.name": "execute_tool", "network.transport": "tcp", "network.protocol.name": "http",
		"mcp.protocol.version": "2026-07-28"}, starts[0])
	require.Equal(t, []map[string]any{{}, {"error.type": "tool_error"}}, ends)
}

// Older clients send lists no parameters.
func TestRequests_WithoutParametersAreServed(t *testing.T) {
	var version any
	handler := callbacks.NewHandlerBuilder().OnStartFn(
		func(ctx context.Context, _ *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			version = in.(*mcpserve.CallbackInput).TraceAttributes()["mcp.protocol.version"]
			return ctx
		}).Build()
	s := newServer(t, mcpserve.Config{Callbacks: []callbacks.Handler{handler}})
	require.NoError(t, s.AddTool(t.Context(), adktest.NewTool("work"), mcpserve.ToolOptions{}))
	h, err := s.Handler(mcpserve.HTTPOptions{})
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Contains(t, w.Body.String(), `"name":"work"`)
	require.Equal(t, "2025-06-18", version)
}
