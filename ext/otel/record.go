package weftotel

import (
	"context"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// The log events of calls of models.
const (
	detailsEvent   = "gen_ai.client.inference.operation.details"
	exceptionEvent = "gen_ai.client.operation.exception"
)

// recordsContent reports whether content is wanted by anybody.
func (op *operation) recordsContent() bool {
	h := op.handler
	switch op.kind {
	case internal, embed:
		return false
	}
	wanted := h.conf.Upload != nil || h.policy.onSpans() && op.span.IsRecording() || op.hasEvent()
	op.answer.keep = wanted
	return wanted
}

// hasEvent reports whether the content becomes an event, as it does for calls of models.
func (op *operation) hasEvent() bool { return op.kind == chat && op.handler.policy.onEvents() }

// contentIn returns the content that a component was called with.
func (op *operation) contentIn(input callbacks.CallbackInput) *Content {
	c := &Content{Operation: string(op.kind)}
	b := builder{op.handler.conf.Media}
	switch in := input.(type) {
	case *adk.AgentCallbackInput:
		if in.Input != nil {
			op.addMessages(c, in.Input.Messages)
		}
		return c
	case *adk.AgenticCallbackInput:
		if in.Input != nil {
			for _, m := range in.Input.Messages {
				b.agentic(c, m)
			}
		}
		return c
	}
	switch op.kind {
	case chat:
		if in := model.ConvCallbackInput(input); in != nil {
			op.addMessages(c, in.Messages)
			op.addTools(c, in.Tools)
		}
		if in := model.ConvAgenticCallbackInput(input); in != nil {
			for _, m := range in.Messages {
				b.agentic(c, m)
			}
			op.addTools(c, in.Tools)
		}
	case toolCall:
		if in := tool.ConvCallbackInput(input); in != nil {
			c.Arguments = arguments(in.ArgumentsInJSON)
		}
	case retrieval:
		if in := retriever.ConvCallbackInput(input); in != nil {
			c.Query = in.Query
		}
	}
	return c
}

func (op *operation) addMessages(c *Content, messages []*schema.Message) {
	b := builder{op.handler.conf.Media}
	for _, m := range messages {
		b.message(c, m)
	}
}

func (op *operation) addTools(c *Content, tools []*schema.ToolInfo) {
	for _, info := range tools {
		t := Tool{Name: info.Name}
		if op.handler.conf.ToolSchemas {
			t.Description = info.Desc
			if info.ParamsOneOf != nil {
				t.Parameters, _ = info.ParamsOneOf.SchemaJSON()
			}
		}
		c.Tools = append(c.Tools, t)
	}
}

// addContent keeps the output of a tool or a retriever, or a chunk of one.
func (a *answer) addContent(output callbacks.CallbackOutput) {
	if out := tool.ConvCallbackOutput(output); out != nil {
		a.result.WriteString(out.Response)
		if out.ToolOutput != nil {
			a.parts = append(a.parts, out.ToolOutput.Parts...)
		}
		return
	}
	if out := retriever.ConvCallbackOutput(output); out != nil {
		a.docs = append(a.docs, out.Docs...)
	}
}

// addAnswer adds what was answered.
func (op *operation) addAnswer(c *Content) {
	a, b := &op.answer, builder{op.handler.conf.Media}
	switch {
	case len(a.messages) > 0:
		if m, err := schema.ConcatMessages(a.messages); err == nil {
			c.Output = []Message{b.ordinary(m)}
		}
	case len(a.agentic) > 0:
		if m, err := schema.ConcatAgenticMessages(a.agentic); err == nil {
			out := b.blocks(m)
			out.FinishReason = finishReason(a.FinishReason)
			c.Output = []Message{out}
		}
	case len(a.parts) > 0:
		c.Result = b.result(a.parts)
	case op.kind == toolCall:
		c.Result = a.result.String()
	}
	for _, d := range a.docs {
		c.Documents = append(c.Documents, Document{ID: d.ID, Score: d.Score(), Content: d.Content})
	}
}

// recordContent records what the operation was given and has answered.
func (op *operation) recordContent() {
	c := op.content
	if c == nil {
		return
	}
	op.addAnswer(c)
	if redact := op.handler.conf.Redact; redact != nil {
		if c = redacted(op.ctx, redact, c); c == nil {
			return
		}
	}
	if op.handler.conf.Upload != nil {
		func() {
			defer guard()
			op.handler.conf.Upload(op.ctx, op.span, c)
		}()
	}
	values := op.contentValues(c)
	if op.handler.policy.onSpans() && op.span.IsRecording() {
		attrs := make([]attribute.KeyValue, 0, len(values))
		for _, v := range values {
			attrs = append(attrs, op.contentAttribute(v))
		}
		op.span.SetAttributes(attrs...)
	}
	if op.hasEvent() {
		op.emitDetails(values)
	}
}

// redacted returns what a function leaves of content: nothing, if it panics.
func redacted(ctx context.Context, redact func(context.Context, *Content) *Content, c *Content) (out *Content) {
	defer func() {
		if recover() != nil {
			out = nil
		}
	}()
	return redact(ctx, c)
}

// contentValue is an attribute with content.
type contentValue struct {
	key   attribute.Key
	value any
}

// contentValues are the attributes of content, cut to the size that they may have.
func (op *operation) contentValues(c *Content) (values []contentValue) {
	add := func(key attribute.Key, value any) {
		values = append(values, contentValue{key, fitting(value, op.handler.conf.MaxContent)})
	}
	if len(c.Instructions) > 0 {
		add(semconv.GenAISystemInstructionsKey, partValues(c.Instructions))
	}
	if len(c.Input) > 0 {
		add(semconv.GenAIInputMessagesKey, messageValues(c.Input, false))
	}
	if len(c.Output) > 0 {
		add(semconv.GenAIOutputMessagesKey, messageValues(c.Output, true))
	}
	if len(c.Tools) > 0 {
		add(semconv.GenAIToolDefinitionsKey, toolValues(c.Tools))
	}
	if c.Arguments != nil {
		add(semconv.GenAIToolCallArgumentsKey, c.Arguments)
	}
	if c.Result != nil {
		add(semconv.GenAIToolCallResultKey, c.Result)
	}
	if c.Query != "" {
		add(semconv.GenAIRetrievalQueryTextKey, c.Query)
	}
	if len(c.Documents) > 0 {
		add(semconv.GenAIRetrievalDocumentsKey, documentValues(c.Documents))
	}
	return values
}

// contentAttribute is content as an attribute of a span.
func (op *operation) contentAttribute(v contentValue) attribute.KeyValue {
	if text, ok := v.value.(string); ok {
		return v.key.String(text)
	}
	if op.handler.conf.Structured {
		return attribute.KeyValue{Key: v.key, Value: attributeValue(v.value)}
	}
	data, err := json.Marshal(v.value)
	if err != nil {
		return v.key.String("")
	}
	return v.key.String(string(data))
}

// emitDetails emits the content of a call of a model as a log event.
func (op *operation) emitDetails(values []contentValue) {
	var r log.Record
	r.SetEventName(detailsEvent)
	r.SetTimestamp(time.Now())
	r.SetSeverity(log.SeverityInfo)
	r.AddAttributes(op.attributesAtStart(op.ctx)...)
	r.AddAttributes(op.answer.append(nil)...)
	r.AddAttributes(appendUsage(nil, op.answer.Usage)...)
	for _, v := range values {
		r.AddAttributes(attribute.KeyValue{Key: v.key, Value: attributeValue(v.value)})
	}
	op.handler.logger.Emit(op.ctx, r)
}

// emitException emits that a call of a model has failed, if its content becomes an event: with the text of the error only
// if that is wanted.
func (op *operation) emitException(err error) {
	if !op.hasEvent() {
		return
	}
	var r log.Record
	r.SetEventName(exceptionEvent)
	r.SetTimestamp(time.Now())
	r.SetSeverity(log.SeverityWarn)
	r.AddAttributes(op.attributesAtStart(op.ctx)...)
	r.AddAttributes(semconv.ExceptionType(adk.ErrorType(err)))
	if op.handler.conf.ErrorText {
		r.AddAttributes(semconv.ExceptionMessage(err.Error()))
	}
	op.handler.logger.Emit(op.ctx, r)
}

// attributeValue is a value of maps, lists and plain values as an attribute.
func attributeValue(v any) attribute.Value {
	switch v := v.(type) {
	case string:
		return attribute.StringValue(v)
	case bool:
		return attribute.BoolValue(v)
	case float64:
		return attribute.Float64Value(v)
	case []any:
		all := make([]attribute.Value, len(v))
		for i, e := range v {
			all[i] = attributeValue(e)
		}
		return attribute.SliceValue(all...)
	case map[string]any:
		var all []attribute.KeyValue
		for key, e := range v {
			all = append(all, attribute.KeyValue{Key: attribute.Key(key), Value: attributeValue(e)})
		}
		return attribute.MapValue(all...)
	}
	return attribute.Value{}
}

// fitting is a value whose JSON has at most so many bytes: long texts in it are cut, and if that is not enough the first
// elements of a list are left out.
func fitting(v any, most int) any {
	if size(v) <= most {
		return v
	}
	for limit := most; limit >= 64; limit /= 2 {
		if short := cut(v, limit); size(short) <= most {
			return short
		}
	}
	if list, ok := cut(v, 64).([]any); ok {
		for len(list) > 0 && size(list) > most {
			list = slices.Clone(list[1:])
		}
		return list
	}
	return "…"
}

func size(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(data)
}

// cut is a copy of a value whose texts have at most so many bytes, and an ellipsis.
func cut(v any, most int) any {
	switch v := v.(type) {
	case string:
		if len(v) <= most {
			return v
		}
		end := most
		for end > 0 && !utf8.RuneStart(v[end]) {
			end--
		}
		return v[:end] + "…"
	case []any:
		short := make([]any, len(v))
		for i, e := range v {
			short[i] = cut(e, most)
		}
		return short
	case map[string]any:
		short := make(map[string]any, len(v))
		for key, e := range v {
			short[key] = cut(e, most)
		}
		return short
	}
	return v
}
