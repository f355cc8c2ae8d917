package anthropic_test

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
	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

func Example() {
	ctx := context.Background()
	model, err := anthropic.NewChatModel(ctx, &anthropic.Config{
		APIKey: os.Getenv("ANTHROPIC_API_KEY"), Model: "claude-sonnet-4-5",
		AutoCache: anthropic.AutoCacheServer,
	})
	if err != nil {
		log.Fatal(err)
	}
	type place struct {
		City string `json:"city" jsonschema:"description=name of the city"`
	}
	weather, err := utils.InferTool("weather", "current weather of a city",
		func(_ context.Context, p place) (string, error) { return "sunny in " + p.City, nil })
	if err != nil {
		log.Fatal(err)
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "assistant", Instruction: "Answer in one sentence.", Model: model,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{weather}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	for event := range runner.Query(ctx, "Do I need an umbrella in Florence?").All() {
		switch {
		case errors.Is(event.Err, kit.ErrRateLimited):
			log.Fatal("too fast: ", event.Err)
		case event.Err != nil:
			log.Fatal(event.Err)
		case event.Output != nil:
			fmt.Println(event.Output.MessageOutput.Message)
		}
	}
}

func Example_webSearch() {
	ctx := context.Background()
	model, err := anthropic.NewAgenticModel(ctx, &anthropic.Config{
		APIKey: os.Getenv("ANTHROPIC_API_KEY"), Model: "claude-sonnet-4-5",
		ServerTools: []anthropic.ServerTool{anthropic.WebSearch{MaxUses: 3}.Tool()},
	})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := model.Generate(ctx, []*schema.AgenticMessage{schema.UserAgenticMessage("Who lives in Tokyo?")})
	if err != nil {
		log.Fatal(err)
	}
	for _, block := range answer.ContentBlocks {
		switch {
		case block.ServerToolCall != nil:
			fmt.Println("searched:", block.ServerToolCall.Arguments)
		case block.AssistantGenText != nil:
			fmt.Print(block.AssistantGenText.Text)
			if cited := block.AssistantGenText.ClaudeExtension; cited != nil {
				for _, c := range cited.Citations {
					fmt.Printf(" [%s]", c.WebSearchResultLocation.URL)
				}
			}
		}
	}
}

func Example_thinking() {
	ctx := context.Background()
	model, err := anthropic.NewChatModel(ctx, &anthropic.Config{
		APIKey: os.Getenv("ANTHROPIC_API_KEY"), Model: "claude-sonnet-4-5",
		Thinking: anthropic.BudgetThinking(8000),
	})
	if err != nil {
		log.Fatal(err)
	}
	history := []*schema.Message{schema.UserMessage("How many primes are below 100?")}
	answer, err := model.Generate(ctx, history)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.ReasoningContent)
	fmt.Println(answer.Content)
	history = append(history, answer, schema.UserMessage("And below 1000?")) // the thinking goes back as it came
	if _, err = model.Generate(ctx, history, anthropic.WithThinking(nil)); err != nil {
		log.Fatal(err)
	}
}

// The snippets of the README are the bodies of the examples.
func TestREADME_HasTheExamples(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	parts := strings.Split(string(source), "\nfunc Example")
	require.Len(t, parts, 4)
	for _, part := range parts[1:] {
		_, body, _ := strings.Cut(part, "{\n")
		body, _, _ = strings.Cut(body, "\n}\n")
		require.Contains(t, string(readme), body)
	}
}
