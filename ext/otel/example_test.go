package weftotel_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	weftotel "github.com/weftgo/weft/ext/otel"
	"github.com/weftgo/weft/schema"
)

// parrot is a model.
type parrot struct{}

func (parrot) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return schema.AssistantMessage("Hello!", nil), nil
}

func (p parrot) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := p.Generate(ctx, in, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

// A run is traced to an exporter in memory, as a run of a conversation of a user of Langfuse.
func Example() {
	ctx := context.Background()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	handler := weftotel.New(weftotel.Config{TracerProvider: provider, SpanAttributes: weftotel.LangfuseAttributes()})

	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "greeter", Description: "Greets.", Model: parrot{}})
	if err != nil {
		panic(err)
	}
	ctx = weftotel.WithConversation(ctx, "thread-1")
	ctx = weftotel.WithLangfuseUser(ctx, weftotel.LangfuseUser{ID: "ana"})
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	for range runner.Query(ctx, "Hi", adk.WithCallbacks(handler)).All() {
	}
	if err := handler.Wait(ctx); err != nil { // for spans of agents, which end a moment after their last event
		panic(err)
	}
	for _, span := range spans.GetSpans() {
		fmt.Print(span.Name)
		for _, kv := range span.Attributes {
			if kv.Key == "gen_ai.conversation.id" || kv.Key == "user.id" {
				fmt.Print(" ", kv.Key, "=", kv.Value.String())
			}
		}
		fmt.Println()
	}
	// Output:
	// chat gen_ai.conversation.id=thread-1 user.id=ana
	// invoke_agent greeter gen_ai.conversation.id=thread-1 user.id=ana
}
