package weftotel

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/weftgo/weft/adk"
)

// Bounds of the histograms, as the conventions recommend them.
var (
	secondBounds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokenBounds  = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// meters are the instruments. One that could not be made measures nothing: the provider has said why to the handler of
// errors of package otel.
type meters struct {
	cut func([]attribute.KeyValue) []attribute.KeyValue

	tokens     metric.Int64Histogram
	duration   metric.Float64Histogram
	firstChunk metric.Float64Histogram
	perChunk   metric.Float64Histogram
	workflow   metric.Float64Histogram
	active     metric.Int64UpDownCounter
	cost       metric.Float64Counter
	mcpClient  metric.Float64Histogram
	mcpServer  metric.Float64Histogram

	clientSession metric.Float64Histogram
	serverSession metric.Float64Histogram
}

func newMeters(p metric.MeterProvider, cut func([]attribute.KeyValue) []attribute.KeyValue) *meters {
	m := &meters{cut: cut}
	meter := p.Meter(scope, metric.WithInstrumentationVersion(version()), metric.WithSchemaURL(semconv.SchemaURL))
	within := func(bounds []float64, name, description string) metric.Float64Histogram {
		h, _ := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(bounds...))
		return h
	}
	seconds := func(name, description string) metric.Float64Histogram { return within(secondBounds, name, description) }
	m.tokens, _ = meter.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"),
		metric.WithDescription("Number of input and output tokens used."), metric.WithExplicitBucketBoundaries(tokenBounds...))
	m.duration = seconds("gen_ai.client.operation.duration", "Duration of a call of a model, a tool or an agent.")
	m.firstChunk = seconds("gen_ai.client.operation.time_to_first_chunk", "Time until the first chunk of a streamed answer.")
	m.perChunk = seconds("gen_ai.client.operation.time_per_output_chunk", "Time between the chunks of a streamed answer.")
	m.workflow = seconds("gen_ai.workflow.duration", "Duration of a workflow.")
	m.active, _ = meter.Int64UpDownCounter("weft.agent.runs.active", metric.WithUnit("{run}"),
		metric.WithDescription("Runs of agents that are under way."))
	m.cost, _ = meter.Float64Counter("weft.usage.cost", metric.WithDescription("What calls of models have cost."))
	m.mcpClient = within(mcpBounds, "mcp.client.operation.duration", "Duration of a request to an MCP server.")
	m.mcpServer = within(mcpBounds, "mcp.server.operation.duration", "Duration of a request that an MCP server has received.")
	m.clientSession = within(mcpBounds, "mcp.client.session.duration", "Duration of a connection to an MCP server.")
	m.serverSession = within(mcpBounds, "mcp.server.session.duration", "Duration of a session that an MCP server has had.")
	return m
}

// set is attributes as they are measured.
func (m *meters) set(attrs []attribute.KeyValue) metric.MeasurementOption {
	if m.cut != nil {
		attrs = m.cut(attrs)
	}
	return metric.WithAttributeSet(attribute.NewSet(attrs...))
}

// anyEnabled reports whether anybody reads what is measured. All instruments are of one provider.
func (m *meters) anyEnabled(ctx context.Context) bool {
	return m.duration.Enabled(ctx) || m.tokens.Enabled(ctx) || m.workflow.Enabled(ctx) || m.firstChunk.Enabled(ctx) ||
		m.perChunk.Enabled(ctx) || m.cost.Enabled(ctx)
}

func (m *meters) begin(op *operation) {
	m.active.Add(op.ctx, 1, m.set([]attribute.KeyValue{semconv.GenAIAgentName(op.info.Name)}))
}

func (m *meters) finish(op *operation) {
	m.active.Add(op.ctx, -1, m.set([]attribute.KeyValue{semconv.GenAIAgentName(op.info.Name)}))
}

// measure measures an operation that has ended.
func (m *meters) measure(op *operation, took time.Duration, spent spending, provider string, failed bool, err error) {
	if op.kind == internal || !m.anyEnabled(op.ctx) {
		return
	}
	attrs := op.measured(provider)
	withError := attrs
	if failed {
		withError = append(slices.Clip(attrs), semconv.ErrorTypeKey.String(adk.ErrorType(err)))
	}
	if op.kind == workflow {
		m.workflow.Record(op.ctx, took.Seconds(), m.set(withError))
		return
	}
	m.duration.Record(op.ctx, took.Seconds(), m.set(withError))
	if op.kind != chat && op.kind != embed {
		return
	}
	if a := &op.answer; a.streamed && a.chunks > 0 {
		set := m.set(attrs)
		m.firstChunk.Record(op.ctx, a.first.Seconds(), set)
		if a.chunks > 1 {
			m.perChunk.Record(op.ctx, (a.last-a.first).Seconds()/float64(a.chunks-1), set)
		}
	}
	if u := op.answer.Usage; u != nil {
		m.countTokens(op, attrs, semconv.GenAITokenTypeInput, u.PromptTokens)
		if op.kind == chat {
			m.countTokens(op, attrs, semconv.GenAITokenTypeOutput, u.CompletionTokens)
		}
	}
	if amount, currency, known := spent.cost.Amount(); known {
		cost := append(slices.Clip(attrs), keyCurrency.String(currency))
		if a := op.agentAround(); a != "" {
			cost = append(cost, semconv.GenAIAgentName(a))
		}
		m.cost.Add(op.ctx, amount, m.set(cost))
	}
}

func (m *meters) countTokens(op *operation, attrs []attribute.KeyValue, of attribute.KeyValue, n int) {
	m.tokens.Record(op.ctx, int64(n), m.set(append(slices.Clip(attrs), of)))
}

// agentAround is the name of the agent that an operation is of.
func (op *operation) agentAround() string {
	for o := op.around; o != nil; o = o.around {
		if o.kind == agent {
			return o.info.Name
		}
	}
	return ""
}

// measured are the attributes of the measurements of an operation: no IDs, and names only.
func (op *operation) measured(provider string) []attribute.KeyValue {
	if op.kind == workflow {
		return []attribute.KeyValue{semconv.GenAIWorkflowName(op.info.Name)}
	}
	attrs := append(make([]attribute.KeyValue, 0, 8), semconv.GenAIOperationNameKey.String(string(op.kind)))
	switch op.kind {
	case chat, embed:
		attrs = append(attrs, semconv.GenAIProviderNameKey.String(op.answerProvider()))
		if op.request.model != "" {
			attrs = append(attrs, semconv.GenAIRequestModel(op.request.model))
		}
		if op.answer.Model != "" {
			attrs = append(attrs, semconv.GenAIResponseModel(op.answer.Model))
		}
		if op.request.host != "" {
			attrs = append(attrs, semconv.ServerAddress(op.request.host))
		}
		if op.request.port != 0 {
			attrs = append(attrs, semconv.ServerPort(op.request.port))
		}
	case agent:
		if provider != "" {
			attrs = append(attrs, semconv.GenAIProviderNameKey.String(provider))
		}
		attrs = append(attrs, semconv.GenAIAgentName(op.info.Name))
	case toolCall:
		attrs = append(attrs, semconv.GenAIToolName(op.info.Name))
	}
	return attrs
}
