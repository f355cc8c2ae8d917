package weftotel

import (
	"context"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
)

// Requests of the Model Context Protocol, as packages mcptool and mcpserve report them: their module need not be there.
const (
	componentOfMCPClient components.Component = "MCPClient"
	componentOfMCPServer components.Component = "MCPServer"
)

// sessionType is the RunInfo.Type of a connection, which is no request.
const sessionType = "session"

// attributed is an input, an output or an error that says which attributes a span has of it.
type attributed interface{ TraceAttributes() map[string]any }

// fromElsewhere is an input that says which trace it belongs to.
type fromElsewhere interface{ TraceContext() map[string]string }

// traceOfClient reads and writes what a client says about its trace.
var traceOfClient = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

func (op *operation) isMCP() bool { return op.kind == mcpClient || op.kind == mcpServer }

// beginMCP begins a request. A call of a tool has no span of its own within the tool that makes it. The span of a
// request that was received belongs to the trace of the client, and is linked to the one around it, such as the span of
// an HTTP request.
func (h *Handler) beginMCP(
	ctx context.Context, info *callbacks.RunInfo, k kind, around *operation, input callbacks.CallbackInput,
) *operation {
	op := &operation{handler: h, info: info, kind: k, began: time.Now(), around: around, attributes: attributesIn(input)}
	if k == mcpClient && around != nil && around.kind == toolCall && info.Type == "tools/call" {
		op.span, op.isShared = around.span, true
		op.span.SetAttributes(op.attributes...)
		op.within(ctx)
		return op
	}
	if info.Type == sessionType { // the conventions have no span for it
		op.span, op.isShared = trace.SpanFromContext(context.Background()), true
		op.within(ctx)
		return op
	}
	name, spanKind := info.Type, clientSpan
	if info.Name != "" {
		name += " " + info.Name
	}
	options := append(op.options[:0], trace.WithAttributes(op.attributes...))
	if k == mcpServer {
		spanKind = serverSpan
		if from, ok := input.(fromElsewhere); ok && len(from.TraceContext()) > 0 {
			if here := trace.SpanContextFromContext(ctx); here.IsValid() {
				options = append(options, trace.WithLinks(trace.Link{SpanContext: here}))
			}
			ctx = traceOfClient.Extract(ctx, propagation.MapCarrier(from.TraceContext()))
		}
	}
	within, span := h.tracer.Start(ctx, name, append(options, spanKind)...)
	op.span = span
	op.within(within)
	return op
}

// endMCP ends a request that was answered, or has failed.
func (op *operation) endMCP(output callbacks.CallbackOutput, err error) {
	op.mu.Lock()
	ended := op.ended
	op.ended = true
	op.mu.Unlock()
	if ended {
		return
	}
	var of any = output
	if err != nil {
		of = err
	}
	last := attributesIn(of)
	failed := slices.IndexFunc(last, func(kv attribute.KeyValue) bool { return kv.Key == "error.type" }) >= 0
	if err != nil && !failed {
		failed, last = true, append(last, attribute.String("error.type", adk.ErrorType(err)))
	}
	op.span.SetAttributes(last...)
	if failed {
		op.span.SetStatus(codes.Error, "")
	}
	op.handler.meters.measureMCP(op, time.Since(op.began), last)
	if !op.isShared {
		op.span.End()
	}
}

// attributesIn are the attributes that something says a span has of it.
func attributesIn(of any) (attrs []attribute.KeyValue) {
	said, ok := of.(attributed)
	if !ok {
		return nil
	}
	all := said.TraceAttributes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		key := attribute.Key(name)
		switch v := all[name].(type) {
		case string:
			attrs = append(attrs, key.String(v))
		case int:
			attrs = append(attrs, key.Int(v))
		case bool:
			attrs = append(attrs, key.Bool(v))
		}
	}
	return attrs
}

// mcpBounds are the bounds of the histograms of requests, as the conventions recommend them.
var mcpBounds = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// measuredOfMCP are the attributes of requests that have few values.
var measuredOfMCP = map[attribute.Key]bool{"mcp.method.name": true, "gen_ai.tool.name": true, "gen_ai.prompt.name": true,
	"gen_ai.operation.name": true, "error.type": true, "rpc.response.status_code": true, "mcp.protocol.version": true,
	"network.transport": true}

// measuredOfSessions are the attributes that measurements of connections have.
var measuredOfSessions = map[attribute.Key]bool{"error.type": true, "mcp.protocol.version": true, "network.transport": true,
	"network.protocol.name": true, "server.address": true, "server.port": true}

// measureMCP measures a request that has ended.
func (m *meters) measureMCP(op *operation, took time.Duration, last []attribute.KeyValue) {
	of, measured := map[kind]metric.Float64Histogram{mcpClient: m.mcpClient, mcpServer: m.mcpServer}[op.kind], measuredOfMCP
	if op.info.Type == sessionType {
		measured = measuredOfSessions
		of = map[kind]metric.Float64Histogram{mcpClient: m.clientSession, mcpServer: m.serverSession}[op.kind]
	}
	if !of.Enabled(op.ctx) {
		return
	}
	var attrs []attribute.KeyValue
	for _, kv := range slices.Concat(op.attributes, last) {
		if measured[kv.Key] {
			attrs = append(attrs, kv)
		}
	}
	of.Record(op.ctx, took.Seconds(), m.set(attrs))
}
