package weftotel

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	nometer "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// looker is a model that calls a tool so many times, one after the other, as the question is long, and then answers.
type looker struct{ calls int }

func (m looker) Generate(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	made := 0
	for _, h := range history {
		if h.Role == schema.Tool {
			made++
		}
	}
	if made == m.calls {
		return schema.AssistantMessage("Done.", nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "call_1", Type: "function",
		Function: schema.FunctionCall{Name: "look", Arguments: "{}"}}}), nil
}

func (m looker) Stream(ctx context.Context, history []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, history)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{answer}), nil
}

// allocations returns the allocations of telemetry in a turn with its call of a tool: what a run with more turns costs
// more, less what it costs without a handler.
func allocations(t *testing.T, opts ...adk.AgentRunOption) float64 {
	t.Helper()
	of := func(calls int, opts ...adk.AgentRunOption) float64 {
		agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a", Model: looker{calls},
			MaxIterations: 100, ToolsConfig: adktest.Tools(newTool(t, "look", answers))})
		require.NoError(t, err)
		r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent})
		return testing.AllocsPerRun(50, func() {
			for range r.Query(t.Context(), "?", opts...).All() {
			}
		})
	}
	const more = 20
	turn := func(opts ...adk.AgentRunOption) float64 { return (of(more+1, opts...) - of(1, opts...)) / more }
	return turn(opts...) - turn()
}

// nowhere takes spans, and does nothing with them.
type nowhere struct{}

func (nowhere) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (nowhere) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (nowhere) Shutdown(context.Context) error                  { return nil }
func (nowhere) ForceFlush(context.Context) error                { return nil }

// What telemetry adds to a turn with a call of a tool, which is two spans. Of the 25 allocations without a sampled span, 10
// belong to a span that the SDK makes and drops, with the attributes that samplers see, 10 to callbacks and the copies of
// events that any handler has, and 5 are our own.
// Rule telemetry/OT-25.
func TestHandler_Costs(t *testing.T) {
	measured := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	for name, row := range map[string]struct {
		spans  trace.TracerProvider
		meters metric.MeterProvider
		most   float64
	}{
		"never sampled":           {sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), nometer.NewMeterProvider(), 28},
		"never sampled, measured": {sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), measured, 37},
		"sampled":                 {sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(nowhere{})), nometer.NewMeterProvider(), 37},
	} {
		h := New(Config{Content: None, TracerProvider: row.spans, MeterProvider: row.meters})
		cost := allocations(t, adk.WithCallbacks(h))
		t.Logf("%s: %.1f allocations for a turn with a call of a tool", name, cost)
		require.LessOrEqual(t, cost, row.most, name)
		require.NoError(t, h.Wait(t.Context()))
	}
}
