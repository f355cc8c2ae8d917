package weftotel

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// operation is one run of a component, from its start to its end: a span, and what is measured of it.
type operation struct {
	handler *Handler
	info    *callbacks.RunInfo
	kind    kind
	// ctx has the span, and is the context of what runs below. It is own, which is here so that the two are one
	// allocation.
	ctx   context.Context
	own   operationContext
	span  trace.Span
	began time.Time
	// around is the operation in whose context this one began, nil for the outermost.
	around *operation
	// path is the value of weft.run.path, options have room for the options of the span.
	path    attribute.Value
	options [3]trace.SpanStartOption
	// attributes are the attributes of a request of MCP when it began. isShared: its span is the span of the tool around
	// it.
	attributes []attribute.KeyValue
	isShared   bool
	// request holds what it was called with, content what is recorded of that.
	request request
	content *Content
	// answer holds its answer. It is owned by the goroutine that reads the answer: one at a time.
	answer answer

	mu sync.Mutex // guards the fields below; no other lock is taken while it is held
	// spent sums what the model calls below have used. provider is the provider of the first of them that names one,
	// and model the first model that was asked for.
	spent           spending
	provider, model string
	ended           bool
	// ownTrace is the span as text, of a root whose run may have an earlier part that is not known yet.
	ownTrace string
	// linked: a root is linked to the request that has started the run. The goroutine that begins the root sets it, or the
	// one that has taken ownTrace.
	linked bool
}

// spending sums what model calls have used.
type spending struct {
	usage  *schema.TokenUsage // nil if it is not known
	cost   catalogue.Sum
	finish string
}

// operationKey is the key of the operation of a handler in a context.
type operationKey struct{ handler *Handler }

// operationContext is a context with an operation, and with the span of it.
type operationContext struct {
	context.Context
	op *operation
}

// Value implements [context.Context].
func (c *operationContext) Value(key any) any {
	if k, ok := key.(operationKey); ok && k.handler == c.op.handler {
		return c.op
	}
	return c.Context.Value(key)
}

// within makes the operation's context from ctx.
func (op *operation) within(ctx context.Context) {
	op.own = operationContext{ctx, op}
	op.ctx = &op.own
}

// operation is the one of a component that ends, nil if none began.
func (h *Handler) operation(ctx context.Context, info *callbacks.RunInfo) *operation {
	op, _ := ctx.Value(operationKey{h}).(*operation)
	if op == nil || op.info != info {
		return nil
	}
	return op
}

// begin makes the span of a component that starts, nil if it has none.
func (h *Handler) begin(ctx context.Context, info *callbacks.RunInfo, input callbacks.CallbackInput) *operation {
	around, _ := ctx.Value(operationKey{h}).(*operation)
	k := h.kindOf(info)
	if k == mcpClient || k == mcpServer {
		return h.beginMCP(ctx, info, k, around, input)
	}
	if k == workflow && isGraph(info) && !isFirst(around) { // a part of what is around it
		if k = ""; h.conf.Internals {
			k = internal
		}
	}
	if k == "" {
		return nil
	}
	op := &operation{handler: h, info: info, kind: k, began: time.Now(), around: around}
	op.request = requestOf(info, input)
	options := append(op.options[:0], op.spanKind(),
		trace.WithAttributes(append(op.attributesAtStart(ctx), h.added(ctx)...)...))
	parent := ctx
	if op.isRoot() {
		parent = op.continuing(ctx, input)
	}
	within, span := h.tracer.Start(parent, op.name(), options...)
	op.span = span
	op.within(within)
	if op.isRoot() {
		op.keepForLater(input)
	} else {
		op.root().linkToReplayed(ctx)
	}
	if op.outermost() {
		h.meters.begin(op)
	}
	if k == retrieval && around != nil && around.kind == toolCall {
		around.span.SetAttributes(semconv.GenAIToolType("datastore"))
	}
	if op.recordsContent() {
		op.content = op.contentIn(input)
	}
	return op
}

// isFirst reports whether what runs in an operation is a run of its own: nothing is around it but a request to a server.
func isFirst(around *operation) bool { return around == nil || around.kind == mcpServer }

// outermost reports whether the operation is an agent that no other one has called.
func (op *operation) outermost() bool { return op.kind == agent && isFirst(op.around) }

// The kinds of spans, each of them made once.
var (
	clientSpan   = trace.WithSpanKind(trace.SpanKindClient)
	internalSpan = trace.WithSpanKind(trace.SpanKindInternal)
	serverSpan   = trace.WithSpanKind(trace.SpanKindServer)
)

func (op *operation) spanKind() trace.SpanStartOption {
	switch op.kind {
	case chat, embed, retrieval:
		return clientSpan
	}
	return internalSpan
}

// name is the name of the span: what is done, and with what.
func (op *operation) name() string {
	of := op.info.Name
	switch op.kind {
	case chat, embed:
		of = op.request.model
	case retrieval:
		of = op.request.dataSource
	case internal:
		if of == "" {
			return string(op.info.Component)
		}
		return string(op.info.Component) + " " + of
	}
	if of == "" {
		return string(op.kind)
	}
	return string(op.kind) + " " + of
}

// attributesAtStart returns the attributes that samplers see.
func (op *operation) attributesAtStart(ctx context.Context) []attribute.KeyValue {
	if op.kind == internal {
		return nil
	}
	attrs := append(make([]attribute.KeyValue, 0, 12), semconv.GenAIOperationNameKey.String(string(op.kind)))
	attrs = op.request.append(attrs)
	if id := conversationOf(ctx); id != "" {
		attrs = append(attrs, semconv.GenAIConversationID(id))
	}
	switch op.kind {
	case agent:
		attrs = op.handler.appendAgent(attrs, op.info.Name)
	case workflow:
		attrs = append(attrs, semconv.GenAIWorkflowName(op.info.Name))
	case retrieval:
		if source := op.request.dataSource; source != "" {
			attrs = append(attrs, semconv.GenAIDataSourceID(source))
		}
	case toolCall:
		attrs = op.appendTool(ctx, attrs)
		if id := compose.GetToolCallID(ctx); id != "" {
			attrs = append(attrs, semconv.GenAIToolCallID(id))
		}
		if adk.IsEagerCall(ctx) {
			attrs = append(attrs, keyEager.Bool(true))
		}
	case chat:
		if n := adk.ModelAttempt(ctx); n > 1 {
			attrs = append(attrs, keyAttempt.Int(n))
		}
	}
	if id := adk.RunID(ctx); id != "" {
		attrs = append(attrs, keyRunID.String(id))
	}
	if op.path = pathAround(ctx, op); op.path.Type() == attribute.STRINGSLICE {
		attrs = append(attrs, attribute.KeyValue{Key: keyRunPath, Value: op.path})
	}
	return attrs
}

// appendAgent adds what is known of an agent.
func (h *Handler) appendAgent(attrs []attribute.KeyValue, name string) []attribute.KeyValue {
	attrs = append(attrs, semconv.GenAIAgentName(name))
	if h.conf.Agent == nil {
		return attrs
	}
	var info AgentInfo
	func() {
		defer guard()
		info = h.conf.Agent(name)
	}()
	for _, kv := range []attribute.KeyValue{semconv.GenAIAgentID(info.ID), semconv.GenAIAgentDescription(info.Description),
		semconv.GenAIAgentVersion(info.Version), semconv.GenAIDataSourceID(info.DataSource)} {
		if kv.Value.AsString() != "" {
			attrs = append(attrs, kv)
		}
	}
	return attrs
}

// keyOfServer is the key of ToolInfo.Extra that tools of MCP servers have: see package mcptool, which need not be there.
const keyOfServer = "mcp.server"

// appendTool adds what is known of the tool that is called.
func (op *operation) appendTool(ctx context.Context, attrs []attribute.KeyValue) []attribute.KeyValue {
	info, typ := adk.ToolInfoOf(ctx, op.info.Name), "function"
	if info != nil && info.Extra[keyOfServer] != nil || op.info.Type == "MCP" {
		typ = "extension"
	}
	attrs = append(attrs, semconv.GenAIToolName(op.info.Name), semconv.GenAIToolType(typ))
	if info != nil && info.Desc != "" {
		attrs = append(attrs, semconv.GenAIToolDescription(info.Desc))
	}
	return attrs
}

// added are the attributes that the configuration adds.
func (h *Handler) added(ctx context.Context) (attrs []attribute.KeyValue) {
	if h.conf.SpanAttributes == nil {
		return nil
	}
	defer guard()
	return h.conf.SpanAttributes(ctx)
}

// pathAround returns the path of an operation: calls that an agent makes have the agent's path.
func pathAround(ctx context.Context, op *operation) attribute.Value {
	if a := op.around; a != nil && a.kind == agent && (op.kind == chat || op.kind == toolCall) {
		return a.path
	}
	if path := pathOf(ctx, op); len(path) > 0 {
		return attribute.StringSliceValue(path)
	}
	return attribute.Value{}
}

// pathOf has the names of the agents around, the outermost first.
func pathOf(ctx context.Context, op *operation) (path []string) {
	for _, segment := range compose.GetCurrentAddress(ctx) {
		if segment.Type == adk.AddressSegmentAgent {
			path = append(path, segment.ID)
		}
	}
	if op.kind == agent && (len(path) == 0 || path[len(path)-1] != op.info.Name) {
		path = append(path, op.info.Name)
	}
	return path
}

// chunk takes in a part of a streamed answer.
func (op *operation) chunk(output callbacks.CallbackOutput) {
	op.answer.arrived(time.Since(op.began))
	op.answer.add(output)
}

// streamEnded ends the operation with its stream. One that its reader closed before has answered.
func (op *operation) streamEnded(err error) {
	if errors.Is(err, schema.ErrRecvAfterClosed) {
		err = nil
	}
	op.end(err)
}

// statusOf returns the status of a run that ended with err.
func statusOf(err error) string {
	switch {
	case err == nil:
		return statusDone
	case adk.IsInterrupt(err):
		return statusInterrupted
	case adk.ErrorType(err) == "canceled":
		return statusCancelled
	}
	return statusFailed
}

// end ends the span, and measures. It counts once.
func (op *operation) end(err error) { op.endAs(statusOf(err), err) }

func (op *operation) endAs(status string, err error) {
	defer guard()
	op.mu.Lock()
	if op.ended {
		op.mu.Unlock()
		return
	}
	op.ended = true
	spent, provider, model := op.spent, op.provider, op.model
	op.mu.Unlock()

	took := time.Since(op.began)
	failed := status == statusFailed
	if op.kind == chat {
		spent = op.spend(err)
	}
	op.handler.meters.measure(op, took, spent, provider, failed, err)
	if op.outermost() {
		op.handler.meters.finish(op)
	}
	op.recordContent()
	if failed {
		op.emitException(err)
	}
	if op.span.IsRecording() {
		op.span.SetAttributes(op.attributesAtEnd(status, spent, provider, model, err)...)
		if failed {
			text := ""
			if op.handler.conf.ErrorText {
				text = err.Error()
			}
			op.span.SetStatus(codes.Error, text)
		}
	}
	op.span.End()
}

// spend adds what a model call has used to everything around it.
func (op *operation) spend(err error) spending {
	provider := op.answerProvider()
	s := spending{usage: op.answer.Usage, finish: op.answer.FinishReason, cost: op.priced(op.answer.Usage, provider, err)}
	for o := op.around; o != nil; o = o.around {
		o.mu.Lock()
		if s.usage != nil && o.spent.usage == nil {
			o.spent.usage = &schema.TokenUsage{}
		}
		o.spent.usage.Add(s.usage)
		o.spent.cost.AddSum(s.cost)
		o.spent.finish = s.finish
		if o.provider == "" && provider != unknownProvider {
			o.provider = provider
		}
		o.model = cmp.Or(o.model, op.request.model)
		o.mu.Unlock()
	}
	return s
}

func (op *operation) attributesAtEnd(
	status string, spent spending, provider, model string, err error,
) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 16)
	switch op.kind {
	case chat:
		attrs = op.answer.append(attrs)
		if op.request.provider == "" {
			attrs = append(attrs, semconv.GenAIProviderNameKey.String(op.answerProvider()))
		}
	case embed:
		attrs = op.answer.appendEmbedding(attrs)
	case agent, workflow:
		if op.kind == agent && provider != "" {
			attrs = append(attrs, semconv.GenAIProviderNameKey.String(provider))
		}
		if op.kind == agent && model != "" {
			attrs = append(attrs, semconv.GenAIRequestModel(model))
		}
		if op.kind == agent && spent.finish != "" {
			attrs = append(attrs, semconv.GenAIResponseFinishReasons(spent.finish))
		}
		attrs = append(attrs, keyRunStatus.String(status))
	}
	if op.kind != toolCall { // what an agent uses that is called as a tool is on its own span
		attrs = appendUsage(attrs, spent.usage)
		if amount, currency, known := spent.cost.Amount(); known {
			attrs = append(attrs, keyCost.Float64(amount), keyCurrency.String(currency))
		}
	}
	switch {
	case status == statusFailed:
		attrs = append(attrs, semconv.ErrorTypeKey.String(adk.ErrorType(err)))
	case op.kind == toolCall && status != statusDone:
		attrs = append(attrs, keyRunStatus.String(status))
	}
	return attrs
}

// readAgent reads the events of an agent to their end, which ends the operation.
func readAgent[M adk.MessageType](op *operation, events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]) {
	defer op.handler.agents.end()
	defer guard()
	defer events.Close()
	var err error
	status := statusDone
	for event := range events.All() {
		if event.Output != nil && event.Output.MessageOutput != nil {
			saw(op, event.Output.MessageOutput)
		}
		if event.Err != nil {
			err, status = event.Err, statusOf(event.Err)
		}
		if event.Action != nil && event.Action.Interrupted != nil {
			status = op.noteInterrupts(event.Action.Interrupted)
		}
	}
	op.endAs(status, err)
}

// saw takes in a message of an agent: the last one that it says is its answer, if content is recorded.
func saw[M adk.MessageType](op *operation, said *adk.TypedMessageVariant[M]) {
	if op.content == nil {
		said.MessageStream.Close()
		return
	}
	m, err := said.GetMessage()
	if err != nil {
		return
	}
	switch m := any(m).(type) {
	case *schema.Message:
		if m != nil && m.Role == schema.Assistant {
			op.answer.messages = []*schema.Message{m}
		}
	case *schema.AgenticMessage:
		if m != nil && m.Role == schema.AgenticRoleTypeAssistant {
			op.answer.agentic = []*schema.AgenticMessage{m}
		}
	}
}

// noteInterrupts adds an event for each question that a run has stopped with, and returns the status of the run.
func (op *operation) noteInterrupts(info *adk.InterruptInfo) (status string) {
	status = statusInterrupted
	for _, point := range info.InterruptContexts {
		switch {
		case !point.IsRootCause:
		case adk.IsCancelPoint(point):
			status = statusCancelled
		case op.span.IsRecording():
			op.span.AddEvent(eventInterrupt, trace.WithAttributes(keyPointKind.String(string(runs.NewQuestion(point.ID, point.Info).Kind)),
				keyAddress.String(point.Address.String())))
		}
	}
	return status
}
