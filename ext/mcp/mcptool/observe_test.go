package mcptool_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/ext/mcp/mcptool"
)

// seenRequest is a request as a handler sees it.
type seenRequest struct {
	name, within string
	start, end   map[string]any
	errorType    string
}

// watcher is a handler that keeps requests, and knows what they are within.
type watcher struct {
	// mu guards the fields below: requests, and connections.
	mu             sync.Mutex
	seen, sessions []*seenRequest
}

type withinKey struct{}
type requestKey struct{}

type traced interface{ TraceAttributes() map[string]any }

func (w *watcher) handler() callbacks.Handler {
	return callbacks.NewHandlerBuilder().OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
		if info.Component == components.ComponentOfTool {
			return context.WithValue(ctx, withinKey{}, info.Name)
		}
		if info.Component != mcptool.ComponentOfClient {
			return ctx
		}
		within, _ := ctx.Value(withinKey{}).(string)
		r := &seenRequest{name: info.Type + " " + info.Name, within: within, start: in.(traced).TraceAttributes()}
		w.mu.Lock()
		defer w.mu.Unlock()
		if info.Type == mcptool.SessionType {
			w.sessions = append(w.sessions, r)
		} else {
			w.seen = append(w.seen, r)
		}
		return context.WithValue(ctx, requestKey{}, r)
	}).OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
		if info.Component == mcptool.ComponentOfClient {
			ctx.Value(requestKey{}).(*seenRequest).end = out.(traced).TraceAttributes()
		}
		return ctx
	}).OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
		if info.Component == mcptool.ComponentOfClient {
			r := ctx.Value(requestKey{}).(*seenRequest)
			r.end, r.errorType = err.(traced).TraceAttributes(), adk.ErrorType(err)
		}
		return ctx
	}).Build()
}

// A connection is reported from when it is made to when it has ended.
// Rule mcp/MC31.
func TestSessions_AreReportedToCallbacks(t *testing.T) {
	s := newServer()
	addTool(s, "echo", answers("ok"))
	srv := open(t, mcptool.Config{Transport: inProcess(s)})
	w := &watcher{}
	require.NoError(t, srv.Ready(callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{}, w.handler())))
	require.Len(t, w.sessions, 1)
	require.Nil(t, w.sessions[0].end, "it has not ended")
	require.NoError(t, srv.Close())
	require.Equal(t, []*seenRequest{{name: "session ", start: map[string]any{"mcp.protocol.version": "2026-07-28"},
		end: map[string]any{}}}, w.sessions)
}

// Requests are reported with the names that traces have for them: calls of a tool within the tool of the run, others by
// themselves.
// Rule mcp/MC31.
func TestRequests_AreReportedToCallbacks(t *testing.T) {
	s := newServer()
	addTool(s, "fails", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := says("no")
		r.IsError = true
		return r, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return nil, &jsonrpc.Error{Code: -32603, Message: "no"}
	})
	s.AddResource(&mcp.Resource{URI: "notes://1", Name: "n"}, nil)
	address := httpServer(t, s)
	srv := open(t, mcptool.Config{URL: address})
	w := &watcher{}
	r := cashier(t, srv, adktest.NewStore(), adktest.Calls(adktest.Call("fails", `{}`)), adktest.Says("ok"))
	adktest.Collect(t, r.Query(t.Context(), "go", adk.WithCallbacks(w.handler()))).ExpectText("ok")
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{}, w.handler())
	_, err := srv.Prompt("greet").Format(ctx, nil)
	require.Error(t, err)

	home, err := url.Parse(address)
	require.NoError(t, err)
	port, err := strconv.Atoi(home.Port())
	require.NoError(t, err)
	way := func(more map[string]any) map[string]any {
		all := map[string]any{"network.transport": "tcp", "network.protocol.name": "http",
			"server.address": home.Hostname(), "server.port": port}
		for name, v := range more {
			all[name] = v
		}
		return all
	}
	const version = "2026-07-28"
	require.Equal(t, []*seenRequest{
		{name: "tools/list ", start: way(map[string]any{"mcp.method.name": "tools/list"}),
			end: map[string]any{"mcp.protocol.version": version}},
		{name: "tools/call fails", within: "fails", start: way(map[string]any{"mcp.method.name": "tools/call",
			"gen_ai.tool.name": "fails", "gen_ai.operation.name": "execute_tool"}),
			end: map[string]any{"mcp.protocol.version": version, "error.type": "tool_error"}},
		{name: "prompts/list ", start: way(map[string]any{"mcp.method.name": "prompts/list"}),
			end: map[string]any{"mcp.protocol.version": version}},
		{name: "prompts/get greet", start: way(map[string]any{"mcp.method.name": "prompts/get", "gen_ai.prompt.name": "greet"}),
			end:       map[string]any{"mcp.protocol.version": version, "error.type": "-32603", "rpc.response.status_code": "-32603"},
			errorType: "-32603"},
	}, w.seen)
}

// What a handler puts into the context is there for headers and for the trace of the request.
func TestRequests_AreMadeInTheContextOfTheirHandlers(t *testing.T) {
	s := newServer()
	addTool(s, "echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return says(fmt.Sprint(r.Params.Meta["traceparent"], " ", r.Extra.Header.Get("X-Trace"))), nil
	})
	traceOf := func(ctx context.Context) string {
		trace, _ := ctx.Value(requestKey{}).(string)
		return trace
	}
	srv := open(t, mcptool.Config{URL: httpServer(t, s),
		Meta: func(ctx context.Context) map[string]string { return map[string]string{"traceparent": traceOf(ctx)} },
		Header: func(ctx context.Context) (http.Header, error) {
			return http.Header{"X-Trace": {traceOf(ctx)}}, nil
		}})
	handler := callbacks.NewHandlerBuilder().OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
		return context.WithValue(ctx, requestKey{}, info.Type)
	}).OnEndFn(func(context.Context, *callbacks.RunInfo, callbacks.CallbackOutput) context.Context { panic("canary") }).Build()
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{}, handler)
	result, err := call(ctx, named(t, srv, "echo"), "{}")
	require.NoError(t, err)
	require.Equal(t, "tools/call tools/call", result.Parts[0].Text)
}

// Errors have one word each in traces.
func TestCallError_HasATypeForTraces(t *testing.T) {
	for want, failed := range map[string]*mcptool.CallError{"connection": {Kind: mcptool.Connect}, "timeout": {Kind: mcptool.Timeout},
		"outcome_unknown": {Kind: mcptool.OutcomeUnknown}, "-32602": {Kind: mcptool.Protocol, Code: -32602}, "protocol": {Kind: mcptool.Protocol},
		"canceled": {Kind: mcptool.Canceled, Err: context.Canceled}} {
		require.Equal(t, want, adk.ErrorType(fmt.Errorf("tool: %w", failed)))
	}
}
