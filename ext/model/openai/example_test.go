package openai_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/ext/model/openai"
)

func Example() {
	ctx := context.Background()
	model, err := openai.NewChatModel(ctx, &openai.Config{
		APIKey: os.Getenv("OPENAI_API_KEY"),
		Model:  "gpt-5-mini",
	})
	if err != nil {
		log.Fatal(err)
	}
	type place struct {
		City string `json:"city" jsonschema:"description=name of the city"`
	}
	weather, err := utils.InferTool("weather", "current weather of a city",
		func(_ context.Context, p place) (string, error) {
			return "sunny in " + p.City, nil
		})
	if err != nil {
		log.Fatal(err)
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Instruction: "Answer in one sentence.",
		Model:       model,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{weather}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	for event := range runner.Query(ctx, "Do I need an umbrella in Florence?").All() {
		var refused *openai.APIError
		switch {
		case errors.As(event.Err, &refused):
			log.Fatalf("status %d, try again in %s: %s", refused.StatusCode, refused.RetryAfter, refused.Message)
		case event.Err != nil:
			log.Fatal(event.Err)
		case event.Output != nil:
			fmt.Println(event.Output.MessageOutput.Message)
		}
	}
}

// TestREADME keeps the example in the README that which compiles.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, block, ok := strings.Cut(string(readme), "```go\n")
	require.True(t, ok)
	block, _, _ = strings.Cut(block, "```")
	for line := range strings.Lines(block) {
		require.Contains(t, string(source), line)
	}
}
