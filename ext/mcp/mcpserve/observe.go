package mcpserve

import (
	"context"
	"errors"
	"reflect"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
)

// ComponentOfServer is the kind of component that handlers of callbacks see for each request of a client: RunInfo.Type
// is the method of the protocol, such as tools/call, and RunInfo.Name the tool, the prompt, or "". What runs for the
// request is within it.
//
// The input is a *[CallbackInput], the output a *[CallbackOutput], and errors have the method TraceAttributes, too.
const ComponentOfServer components.Component = "MCPServer"

// CallbackInput is what is known of a request when it begins.
type CallbackInput struct {
	// Method is that of the protocol, and Target the tool, prompt or resource.
	Method, Target string

	attributes map[string]any
	trace      map[string]string
}

// TraceAttributes are attributes for a span, with the names of the conventions of OpenTelemetry, for reading.
func (c *CallbackInput) TraceAttributes() map[string]any { return c.attributes }

// TraceContext is what the client says about the trace that the request belongs to: traceparent, tracestate and
// baggage, as far as there are any, for reading. A client can say anything.
func (c *CallbackInput) TraceContext() map[string]string { return c.trace }

// CallbackOutput is what is known of a request when it was answered.
type CallbackOutput struct {
	// ToolFailed: the result of the tool says that it is an error.
	ToolFailed bool

	attributes map[string]any
}

// TraceAttributes are attributes for a span, besides those of the input, for reading.
func (c *CallbackOutput) TraceAttributes() map[string]any { return c.attributes }

// requestError is a failure as handlers of callbacks see it.
type requestError struct {
	error
	attributes map[string]any
}

func (e *requestError) Unwrap() error                   { return e.error }
func (e *requestError) TraceAttributes() map[string]any { return e.attributes }

// ErrorType is the word for the error in traces and metrics: see adk.ErrorType.
func (e *requestError) ErrorType() string {
	word, _ := e.attributes["error.type"].(string)
	return word
}

// observe reports requests of clients to handlers of callbacks.
func (s *Server) observe(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		in := inputOf(method, r)
		if in == nil {
			return next(ctx, method, r)
		}
		info := &callbacks.RunInfo{Type: method, Component: ComponentOfServer}
		if method != "resources/read" {
			info.Name = in.Target
		}
		ctx = callbacks.InitCallbacks(ctx, info, s.conf.Callbacks...)
		s.report(func() { ctx = callbacks.OnStart(ctx, in) })
		result, err := next(ctx, method, r)
		s.report(func() {
			if err != nil {
				callbacks.OnError(ctx, &requestError{err, attributesOf(err)})
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

// report calls handlers. A panic of one is logged: the request does not fail for it.
func (s *Server) report(call func()) {
	defer func() {
		if v := recover(); v != nil {
			s.conf.Logger.Error("a callback handler panicked", "panic", v)
		}
	}()
	call()
}

// inputOf is what is reported of a request, nil for notices and for what the protocol needs for itself.
func inputOf(method string, r mcp.Request) *CallbackInput {
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
	in.attributes["network.transport"] = "pipe"
	if id := r.GetSession().ID(); id != "" {
		in.attributes["mcp.session.id"] = id
	}
	if extra := r.GetExtra(); extra != nil && extra.Header != nil {
		in.attributes["network.transport"], in.attributes["network.protocol.name"] = "tcp", "http"
	}
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

// longestTrace bounds what a client says about its trace, in bytes.
const longestTrace = 8 << 10

// attributesOf are those of an error of the protocol, or of another.
func attributesOf(err error) map[string]any {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return map[string]any{"error.type": "_OTHER"}
	}
	code := strconv.FormatInt(wire.Code, 10)
	return map[string]any{"error.type": code, "rpc.response.status_code": code}
}
