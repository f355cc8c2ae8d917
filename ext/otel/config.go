package weftotel

import (
	"context"
	"os"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftgo/weft/schema"
)

// Config configures [New]. The zero value records no content, to the providers of package otel.
type Config struct {
	// The providers. The defaults are those of packages otel and otel/log/global.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	LoggerProvider log.LoggerProvider
	// Content says where prompts, answers, arguments and results are recorded. The default is [FromEnv].
	Content ContentPolicy
	// Structured records content on spans as maps and lists, in place of text with JSON in it, which every backend reads.
	Structured bool
	// MaxContent is how many bytes of JSON an attribute with content may have; longer texts are cut. The default is 32 KiB.
	MaxContent int
	// Media records images, audio and files, in base64. URLs of them are always recorded.
	Media bool
	// ToolSchemas records the descriptions and parameters of tools, besides their names.
	ToolSchemas bool
	// Redact sees content before it is recorded, and returns what is. It may change c and return it, or nil for nothing.
	// It must be safe for concurrent use. A panic records nothing.
	Redact func(ctx context.Context, c *Content) *Content
	// Upload gets the content of every operation, after Redact, whatever Content says and whether or not the span is
	// sampled, for those who keep it elsewhere. It must not block.
	Upload func(ctx context.Context, span trace.Span, c *Content)
	// ErrorText records the texts of errors as descriptions of spans. They may hold parts of prompts and results.
	ErrorText bool
	// Internals makes spans of the nodes of graphs, also of those inside agents.
	Internals bool
	// Price returns what a call of a model costs, and in which currency ("USD"); false if that is not known. Package
	// catalogue has prices that compute it.
	Price func(provider, model string, u *schema.TokenUsage) (amount float64, currency string, ok bool)
	// MetricAttributes may leave out attributes of measurements, of which every combination is a time series.
	MetricAttributes func([]attribute.KeyValue) []attribute.KeyValue
}

// ContentPolicy says where content is recorded.
type ContentPolicy int

// The policies.
const (
	// FromEnv reads OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: NO_CONTENT, SPAN_ONLY (or true), EVENT_ONLY or
	// SPAN_AND_EVENT. Anything else is None.
	FromEnv ContentPolicy = iota
	None
	Spans
	// Events records it as the log event gen_ai.client.inference.operation.details.
	Events
	SpansAndEvents
)

// fromEnv resolves FromEnv.
func (p ContentPolicy) fromEnv() ContentPolicy {
	if p != FromEnv {
		return p
	}
	switch strings.ToUpper(os.Getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")) {
	case "TRUE", "SPAN_ONLY":
		return Spans
	case "EVENT_ONLY":
		return Events
	case "SPAN_AND_EVENT":
		return SpansAndEvents
	}
	return None
}

func (p ContentPolicy) onSpans() bool  { return p == Spans || p == SpansAndEvents }
func (p ContentPolicy) onEvents() bool { return p == Events || p == SpansAndEvents }

type conversationKey struct{}

// WithConversation returns a context whose operations belong to a conversation, or thread, as gen_ai.conversation.id.
func WithConversation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, conversationKey{}, id)
}

func conversationOf(ctx context.Context) string {
	id, _ := ctx.Value(conversationKey{}).(string)
	return id
}
