package weftotel

import (
	"context"
	"os"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/schema"
)

// Config configures [New]. The zero value records no content, to the providers of package otel.
type Config struct {
	// The providers. The defaults are the global ones of packages otel and otel/log/global.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	LoggerProvider log.LoggerProvider
	// Conventions is the version of the semantic conventions whose names are emitted. The default, and the only one that
	// there is, is [Conventions141]; others are reported to the handler of errors of package otel, and are this one.
	Conventions string
	// Agent returns what else is known of an agent by its name, which must be unique then. It is called when a run of the
	// agent begins, and must be quick and safe for concurrent use. Default: nothing.
	Agent func(name string) AgentInfo
	// SpanAttributes are added to spans when they begin, in addition to the attributes of the conventions: see
	// [LangfuseAttributes].
	SpanAttributes func(ctx context.Context) []attribute.KeyValue
	// Content says where prompts, answers, arguments and results are recorded. The default is [FromEnv].
	Content ContentPolicy
	// Structured records content on spans as maps and lists, instead of text with JSON in it, which every backend reads.
	Structured bool
	// MaxContent is the number of bytes of JSON that an attribute with content may have; longer texts are cut. The default
	// is 32 KiB.
	MaxContent int
	// Media records images, audio and files, in base64. URLs of them are always recorded.
	Media bool
	// ToolSchemas records the descriptions and parameters of the tools that a model is offered, in addition to their
	// names.
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

// Conventions141 is version 1.41 of the semantic conventions: see Config.Conventions.
const Conventions141 = "1.41"

// AgentInfo holds attributes of an agent for its span, in addition to its name. What is "" is left out.
type AgentInfo struct {
	// ID is the ID of the agent where it is kept, such as a registry.
	ID, Description, Version string
	// DataSource is the ID of what the agent retrieves from.
	DataSource string
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

// WithConversation returns a context whose operations belong to a conversation, or thread, as gen_ai.conversation.id. Runs
// of adk/conversation, and so of threads of package serve, have the ID of their conversation without it.
func WithConversation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, conversationKey{}, id)
}

func conversationOf(ctx context.Context) string {
	if id, ok := ctx.Value(conversationKey{}).(string); ok {
		return id
	}
	if c := conversation.FromContext(ctx); c != nil {
		return c.ID()
	}
	return ""
}
