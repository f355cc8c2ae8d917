package mcptool

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/ext/mcp/internal/report"
)

// ComponentOfClient is the kind of component that handlers of callbacks see for each request to a server: RunInfo.Type
// is the method of the protocol, such as tools/call, and RunInfo.Name the tool, the prompt, or "". A call of a tool is
// one within the tool of the run. Requests of one call that are made again are one.
//
// A connection is one, too, from when it was made to when it ended, with the type [SessionType] and without a name. Its
// handlers come from the context that needed it first.
//
// The input is a *[CallbackInput], the output a *[CallbackOutput], and errors have the method TraceAttributes, too.
const ComponentOfClient components.Component = "MCPClient"

// SessionType is the RunInfo.Type of a connection: see [ComponentOfClient].
const SessionType = "session"

// CallbackInput describes a request when it begins.
type CallbackInput struct {
	// Server is the name of the [Server], Method the method of the protocol, and Target the tool, prompt or resource.
	Server, Method, Target string

	attributes map[string]any
}

// TraceAttributes are attributes for a span, with the names of the conventions of OpenTelemetry, for reading.
func (c *CallbackInput) TraceAttributes() map[string]any { return c.attributes }

// CallbackOutput describes a request when it was answered.
type CallbackOutput struct {
	// ToolFailed: the result of the tool says that it is an error.
	ToolFailed bool

	attributes map[string]any
}

// TraceAttributes returns attributes for a span, in addition to the input's. The caller must not change them.
func (c *CallbackOutput) TraceAttributes() map[string]any { return c.attributes }

// ErrorType is the word for the error in traces and metrics: see adk.ErrorType.
func (e *CallError) ErrorType() string {
	switch {
	case e.Code != 0:
		return strconv.FormatInt(e.Code, 10)
	case e.Kind == Connect:
		return "connection"
	}
	return string(e.Kind)
}

// observe reports a request to handlers of callbacks, and returns what reports its end.
func (s *Server) observe(ctx context.Context, d *demand) (context.Context, func(*CallError)) {
	info := &callbacks.RunInfo{Type: d.method, Component: ComponentOfClient}
	attributes := map[string]any{"mcp.method.name": d.method}
	switch d.method {
	case callsTool:
		info.Name = d.target
		attributes["gen_ai.tool.name"], attributes["gen_ai.operation.name"] = d.target, "execute_tool"
	case "prompts/get":
		info.Name = d.target
		attributes["gen_ai.prompt.name"] = d.target
	case "resources/read", "resources/subscribe":
		attributes["mcp.resource.uri"] = d.target
	}
	s.addTransport(attributes)
	ctx = callbacks.ReuseHandlers(ctx, info)
	report.Do(s.conf.Logger, func() {
		ctx = callbacks.OnStart(ctx, &CallbackInput{Server: s.conf.Name, Method: d.method, Target: d.target,
			attributes: attributes})
	})
	return ctx, func(failed *CallError) {
		seen := d.seen(failed)
		report.Do(s.conf.Logger, func() {
			if failed != nil {
				callbacks.OnError(ctx, report.Failed(failed, seen))
				return
			}
			callbacks.OnEnd(ctx, &CallbackOutput{ToolFailed: d.toolFailed, attributes: seen})
		})
	}
}

// observeSession reports a connection that was made, and returns what reports its end.
func (s *Server) observeSession(ctx context.Context, made *mcp.ClientSession) func(error) {
	attributes := map[string]any{}
	s.addTransport(attributes)
	if known := made.InitializeResult(); known != nil {
		attributes["mcp.protocol.version"] = known.ProtocolVersion
	}
	info := &callbacks.RunInfo{Type: SessionType, Component: ComponentOfClient}
	ctx = callbacks.ReuseHandlers(context.WithoutCancel(ctx), info)
	report.Do(s.conf.Logger, func() {
		ctx = callbacks.OnStart(ctx, &CallbackInput{Server: s.conf.Name, Method: SessionType, attributes: attributes})
	})
	return func(err error) {
		report.Do(s.conf.Logger, func() {
			if err == nil || errors.Is(err, mcp.ErrConnectionClosed) {
				callbacks.OnEnd(ctx, &CallbackOutput{attributes: map[string]any{}})
				return
			}
			callbacks.OnError(ctx, report.Failed(err, map[string]any{"error.type": adk.ErrorType(err)}))
		})
	}
}

// addTransport adds what the configuration says about the way to the server.
func (s *Server) addTransport(attributes map[string]any) {
	switch {
	case len(s.conf.Command) > 0:
		attributes["network.transport"] = "pipe"
	case s.conf.URL != "":
		home, _ := url.Parse(s.conf.URL) // was checked
		attributes["network.transport"], attributes["network.protocol.name"] = "tcp", "http"
		attributes["server.address"] = home.Hostname()
		port := map[string]int{"http": 80, "https": 443}[home.Scheme]
		if n, err := strconv.Atoi(home.Port()); err == nil {
			port = n
		}
		attributes["server.port"] = port
	}
}

// seen are the attributes that are known at the end.
func (d *demand) seen(failed *CallError) map[string]any {
	attributes := map[string]any{}
	if d.over != nil {
		if known := d.over.InitializeResult(); known != nil {
			attributes["mcp.protocol.version"] = known.ProtocolVersion
		}
		if id := d.over.ID(); id != "" {
			attributes["mcp.session.id"] = id
		}
		if id, ok := d.passage.id.Load().(string); ok {
			attributes["jsonrpc.request.id"] = id
		}
	}
	switch {
	case failed != nil:
		attributes["error.type"] = failed.ErrorType()
		if failed.Code != 0 {
			attributes["rpc.response.status_code"] = strconv.FormatInt(failed.Code, 10)
		}
	case d.toolFailed:
		attributes["error.type"] = "tool_error"
	}
	return attributes
}
