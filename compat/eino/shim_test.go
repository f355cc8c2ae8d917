package eino_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	weftadk "github.com/weftgo/weft/adk"
	weftschema "github.com/weftgo/weft/schema"
)

// A value of the shim's type is one of Weft's type, without a conversion.
func TestTypes_AreTheSameTypes(t *testing.T) {
	message := schema.UserMessage("hello")
	var _ *weftschema.Message = message
	var _ func(context.Context, adk.RunnerConfig) *weftadk.Runner = adk.NewRunner
	if !errors.Is(weftadk.ErrExceedMaxIterations, adk.ErrExceedMaxIterations) {
		t.Error("the errors of the shim are not those of Weft")
	}
}

type place struct {
	City string `json:"city" jsonschema:"required"`
}

// Generic functions infer their type arguments as those of Weft do.
func TestFunctions_InferTheirTypeArguments(t *testing.T) {
	weather, err := utils.InferTool("weather", "says how the weather is",
		func(_ context.Context, p place) (string, error) { return "sunny in " + p.City, nil })
	if err != nil {
		t.Fatal(err)
	}
	chain := compose.NewChain[string, string]().
		AppendLambda(compose.InvokableLambda(func(ctx context.Context, city string) (string, error) {
			return weather.InvokableRun(ctx, `{"city": "`+city+`"}`)
		}))
	run, err := chain.Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run.Invoke(t.Context(), "Oslo"); err != nil || got != "sunny in Oslo" {
		t.Errorf("the chain returned %q, %v", got, err)
	}
}
