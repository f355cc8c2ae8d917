package weftotel

import (
	"context"

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

// savedSpan is the span that the session of a run has, and as text.
func savedSpan(ctx context.Context) (text string, span trace.SpanContext) {
	value, _ := adk.GetSessionValue(ctx, traceKey)
	text, _ = value.(string)
	return text, trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(),
		propagation.MapCarrier{"traceparent": text}))
}

// continuing is the context for the span of a root: that of the agent before, if a run has transferred to this one and
// nobody else has begun a trace. A run is one trace.
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
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(op.ctx, carrier)
	op.ownTrace = carrier["traceparent"]
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
