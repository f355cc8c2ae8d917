package mcpserve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"reflect"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/ext/mcp/internal/report"
)

// ComponentOfServer is the kind of component that handlers of callbacks see for each request of a client: RunInfo.Type
// is the method of the protocol, such as tools/call, and RunInfo.Name the tool, the prompt, or "". What runs for the
// request is within it.
//
// A session with a client of a protocol that has them is one, too, from when it was made to its end, with the type
// [SessionType] and without a name.
//
// The input is a *[CallbackInput], the output a *[CallbackOutput], and errors have the method TraceAttributes, too.
const ComponentOfServer components.Component = "MCPServer"

// SessionType is the RunInfo.Type of a session: see [ComponentOfServer].
const SessionType = "session"

// CallbackInput describes a request when it begins.
type CallbackInput struct {
	// Method is the method of the protocol, and Target the tool, prompt or resource.
	Method, Target string

	attributes map[string]any
	trace      map[string]string
}

// TraceAttributes are attributes for a span, with the names of the conventions of OpenTelemetry, for reading.
func (c *CallbackInput) TraceAttributes() map[string]any { return c.attributes }

// TraceContext is the client's description of the trace that the request belongs to: traceparent, tracestate and
// baggage, as far as there are any, for reading. A client can say anything.
func (c *CallbackInput) TraceContext() map[string]string { return c.trace }

// CallbackOutput describes a request when it was answered.
type CallbackOutput struct {
	// ToolFailed: the result of the tool says that it is an error.
	ToolFailed bool

	attributes map[string]any
}

// TraceAttributes returns attributes for a span, in addition to the input's. The caller must not change them.
func (c *CallbackOutput) TraceAttributes() map[string]any { return c.attributes }

// observe reports requests of clients to handlers of callbacks.
func (s *Server) observe(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		in := s.inputOf(method, r)
		if in == nil {
			return next(ctx, method, r)
		}
		info := &callbacks.RunInfo{Type: method, Component: ComponentOfServer}
		if method != "resources/read" {
			info.Name = in.Target
		}
		ctx = callbacks.InitCallbacks(ctx, info, s.conf.Callbacks...)
		report.Do(s.conf.Logger, func() { ctx = callbacks.OnStart(ctx, in) })
		result, err := next(ctx, method, r)
		report.Do(s.conf.Logger, func() {
			if err != nil {
				callbacks.OnError(ctx, report.Failed(err, attributesOf(err)))
				return
			}
			out := &CallbackOutput{attributes: map[string]any{}}
			if called, ok := result.(*mcp.CallToolResult); ok && called != nil && called.IsError {
				out.ToolFailed, out.attributes["error.type"] = true, "tool_error"
			}
			callbacks.OnEnd(ctx, out)
		})
		return result, err
	}
}

// observeSession reports a session from its beginning to its end. Sessions that the SDK makes for one request are left out.
func (s *Server) observeSession(ctx context.Context, r *mcp.InitializedRequest) {
	if extra := r.GetExtra(); extra != nil && extra.Header != nil && r.Session.ID() == "" {
		return
	}
	in := &CallbackInput{Method: SessionType, attributes: map[string]any{}}
	s.addTransport(in.attributes, r)
	info := &callbacks.RunInfo{Type: SessionType, Component: ComponentOfServer}
	ctx = callbacks.InitCallbacks(context.WithoutCancel(ctx), info, s.conf.Callbacks...)
	report.Do(s.conf.Logger, func() { ctx = callbacks.OnStart(ctx, in) })
	go func() {
		_ = r.Session.Wait() // how a client leaves is no failure of anybody
		report.Do(s.conf.Logger, func() { callbacks.OnEnd(ctx, &CallbackOutput{attributes: map[string]any{}}) })
	}()
}

// inputOf returns what is reported of a request, nil for notices and for what the protocol needs for itself.
func (s *Server) inputOf(method string, r mcp.Request) *CallbackInput {
	in := &CallbackInput{Method: method, attributes: map[string]any{"mcp.method.name": method}}
	switch p := r.GetParams().(type) {
	case *mcp.CallToolParamsRaw:
		in.Target = p.Name
		in.attributes["gen_ai.tool.name"], in.attributes["gen_ai.operation.name"] = p.Name, "execute_tool"
	case *mcp.GetPromptParams:
		in.Target = p.Name
		in.attributes["gen_ai.prompt.name"] = p.Name
	case *mcp.ReadResourceParams:
		in.Target = p.URI
		in.attributes["mcp.resource.uri"] = p.URI
	case *mcp.ListToolsParams, *mcp.ListPromptsParams, *mcp.ListResourcesParams, *mcp.ListResourceTemplatesParams:
	default:
		return nil
	}
	s.addTransport(in.attributes, r)
	if reflect.ValueOf(r.GetParams()).IsNil() { // older clients list without
		return in
	}
	meta := r.GetParams().GetMeta()
	if version, ok := meta[mcp.MetaKeyProtocolVersion].(string); ok {
		in.attributes["mcp.protocol.version"] = version
	}
	for _, name := range []string{"traceparent", "tracestate", "baggage"} {
		if text, ok := meta[name].(string); ok && len(text) <= longestTrace {
			if in.trace == nil {
				in.trace = map[string]string{}
			}
			in.trace[name] = text
		}
	}
	return in
}

// addTransport adds what is known of the way from the client.
func (s *Server) addTransport(attributes map[string]any, r mcp.Request) {
	attributes["network.transport"] = "pipe"
	if id := r.GetSession().ID(); id != "" {
		attributes["mcp.session.id"] = id
	}
	if session, ok := r.GetSession().(*mcp.ServerSession); ok {
		if p := session.InitializeParams(); p != nil && p.ProtocolVersion != "" {
			attributes["mcp.protocol.version"] = p.ProtocolVersion
		}
	}
	extra := r.GetExtra()
	if extra == nil || extra.Header == nil {
		return
	}
	attributes["network.transport"], attributes["network.protocol.name"] = "tcp", "http"
	if version := extra.Header.Get("Mcp-Protocol-Version"); version != "" && len(version) <= longestVersion {
		attributes["mcp.protocol.version"] = version
	}
	host, port, err := net.SplitHostPort(extra.Header.Get(s.clientHeader))
	if n, bad := strconv.Atoi(port); err == nil && bad == nil {
		attributes["client.address"], attributes["client.port"] = host, n
	}
}

// longestVersion bounds what a client says of its protocol, in bytes.
const longestVersion = 32

// noteClient adds the address of the client to a request, in a header whose name no client knows: the SDK hands on
// nothing else.
func (s *Server) noteClient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		noted := r.Clone(r.Context())
		noted.Header.Set(s.clientHeader, r.RemoteAddr)
		next.ServeHTTP(w, noted)
	})
}

// longestTrace bounds what a client says about its trace, in bytes.
const longestTrace = 8 << 10

// attributesOf returns the attributes of an error, of the protocol or another.
func attributesOf(err error) map[string]any {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return map[string]any{"error.type": "_OTHER"}
	}
	code := strconv.FormatInt(wire.Code, 10)
	return map[string]any{"error.type": code, "rpc.response.status_code": code}
}
