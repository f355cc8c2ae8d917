// Traces makes OpenTelemetry traces of an agent. With OTEL_EXPORTER_OTLP_ENDPOINT in the environment they are sent there;
// otherwise the spans are printed as a tree.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/examples/internal/llm"
	"github.com/weftgo/weft/ext/otel"
)

type place struct {
	City string `json:"city"`
}

func weather(_ context.Context, in place) (string, error) { return "sunny in " + in.City, nil }

func main() {
	ctx := context.Background()
	kept := tracetest.NewInMemoryExporter()
	var exporter trace.SpanExporter = kept
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" {
		sender, err := otlptracehttp.New(ctx)
		if err != nil {
			log.Fatal(err)
		}
		exporter = sender
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
	handler := weftotel.New(weftotel.Config{TracerProvider: provider})
	callbacks.AppendGlobalHandlers(handler)

	model := llm.Model(demo.Calls(demo.Call("weather", `{"city":"Lisbon"}`)), demo.Says("It is {results}."))
	agent, err := weft.New(weft.Config{Name: "guide", Model: model,
		Tools: []weft.Tool{weft.Func("weather", "Says how the weather is.", weather)}})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := agent.Ask(ctx, "How is the weather in Lisbon?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	if err := errors.Join(handler.Wait(ctx), provider.ForceFlush(ctx)); err != nil {
		log.Fatal(err)
	}
	show(kept.GetSpans(), "0000000000000000", 0)
	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
}

// show prints the spans below another one, in the order in which they began.
func show(spans tracetest.SpanStubs, parent string, depth int) {
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	for _, s := range spans {
		if s.Parent.SpanID().String() == parent {
			fmt.Println(strings.Repeat("  ", depth) + s.Name)
			show(spans, s.SpanContext.SpanID().String(), depth+1)
		}
	}
}
