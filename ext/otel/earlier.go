package weftotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/callbacks"
)

// traceKey is the session value that has the span of a run, for what follows in the run: another agent that it
// transfers to, the part after an interrupt, a process that continues it from its journal, a fork.
const traceKey = "weft.otel.traceparent"

// isRoot reports whether the operation is an agent or a workflow that nothing is around.
func (op *operation) isRoot() bool {
	return (op.kind == agent || op.kind == workflow) && isFirst(op.around)
}

// root is the operation that nothing is around but a request to a server.
func (op *operation) root() *operation {
	for !isFirst(op.around) {
		op = op.around
	}
	return op
}

// submittedBy is the session value in which package serve has the span of the request that has started a run.
const submittedBy = "weft.submitted_by"

// Traceparent returns the span of a context as the header traceparent of W3C has it, "" if there is none. It is what
// serve.Config.Traceparent is set to, so that runs are linked to the spans of the requests that have started them.
func Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// linkToRequest links the span of a root to the request that has started the run, once, unless that is around it.
func (op *operation) linkToRequest(ctx context.Context) {
	if op.linked {
		return
	}
	_, request := spanIn(ctx, submittedBy)
	if !request.IsValid() {
		return
	}
	op.linked = true
	if request.TraceID() != op.span.SpanContext().TraceID() {
		op.span.AddLink(trace.Link{SpanContext: request, Attributes: []attribute.KeyValue{attribute.String("weft.link", "submitted_by")}})
	}
}

// savedSpan is the span that the session of a run has, and as text.
func savedSpan(ctx context.Context) (text string, span trace.SpanContext) {
	return spanIn(ctx, traceKey)
}

// spanIn is the span in a session value, and as text.
func spanIn(ctx context.Context, key string) (text string, span trace.SpanContext) {
	value, _ := adk.GetSessionValue(ctx, key)
	text, _ = value.(string)
	return text, trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(),
		propagation.MapCarrier{"traceparent": text}))
}

// continuing returns the context for the span of a root: the context of the agent before, if a run has transferred to
// this one and no other code has begun a trace. A run is one trace.
func (op *operation) continuing(ctx context.Context, input callbacks.CallbackInput) context.Context {
	if isResumed(input) || trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	if _, before := savedSpan(ctx); before.IsValid() {
		return trace.ContextWithSpanContext(ctx, before)
	}
	return ctx
}

// keepForLater notes the span of a root, which is saved with the session of the run, and links it to the part before, if
// the run is resumed.
func (op *operation) keepForLater(input callbacks.CallbackInput) {
	if !op.span.SpanContext().IsValid() {
		return
	}
	_, before := savedSpan(op.ctx)
	if isResumed(input) && before.IsValid() {
		op.span.AddLink(trace.Link{SpanContext: before})
	}
	op.linkToRequest(op.ctx)
	op.ownTrace = Traceparent(op.ctx)
	adk.AddSessionValue(op.ctx, traceKey, op.ownTrace)
}

// linkToReplayed links the span of a root to the part of its run before, if that is in the journal that the run has
// replayed meanwhile, which brings the session back. It is called with the context of each operation below, and does
// something for the first one only.
func (op *operation) linkToReplayed(ctx context.Context) {
	op.mu.Lock()
	own := op.ownTrace
	op.ownTrace = ""
	op.mu.Unlock()
	if own == "" {
		return
	}
	op.linkToRequest(ctx)
	if text, before := savedSpan(ctx); text != own && before.IsValid() {
		op.span.AddLink(trace.Link{SpanContext: before})
		adk.AddSessionValue(ctx, traceKey, own)
	}
}

func isResumed(input callbacks.CallbackInput) bool {
	switch in := input.(type) {
	case *adk.AgentCallbackInput:
		return in.ResumeInfo != nil
	case *adk.AgenticCallbackInput:
		return in.ResumeInfo != nil
	}
	return false
}
