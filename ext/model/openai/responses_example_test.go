package openai_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

func ExampleNewResponsesChatModel() {
	ctx := context.Background()
	model, err := openai.NewResponsesChatModel(ctx, &openai.ResponsesConfig{
		APIKey:    os.Getenv("OPENAI_API_KEY"),
		Model:     "gpt-5-mini",
		Reasoning: &openai.ResponsesReasoning{Effort: "low", Summary: "auto"},
	})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := model.Generate(ctx, []*schema.Message{schema.UserMessage("How many primes are there below 100?")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.ReasoningContent) // a summary
	fmt.Println(answer.Content)
}

func ExampleNewResponsesModel() {
	ctx := context.Background()
	model, err := openai.NewResponsesModel(ctx, &openai.ResponsesConfig{
		APIKey: os.Getenv("OPENAI_API_KEY"),
		Model:  "gpt-5-mini",
		ServerTools: []openai.ServerTool{
			openai.WebSearch(openai.WebSearchParams{AllowedDomains: []string{"go.dev"}}),
			openai.MCP(openai.MCPParams{
				ServerLabel: "wiki", ServerURL: "https://mcp.example.com", Authorization: os.Getenv("WIKI_TOKEN"),
				RequireApproval: "never",
			}),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := model.Generate(ctx, []*schema.AgenticMessage{schema.UserAgenticMessage("What is new in Go?")})
	if err != nil {
		log.Fatal(err)
	}
	for _, block := range answer.ContentBlocks {
		switch {
		case block.ServerToolCall != nil:
			fmt.Println(block.ServerToolCall.Name, block.ServerToolCall.Arguments)
		case block.AssistantGenText != nil:
			fmt.Println(block.AssistantGenText.Text)
		}
	}
}

func ExampleNewResponsesChatModel_azure() {
	ctx := context.Background()
	token := func(context.Context) (string, error) { return "", nil }
	thinks := true
	model, err := openai.NewResponsesChatModel(ctx, &openai.ResponsesConfig{
		BaseURL:          "https://my-resource.openai.azure.com/openai/v1", // Model is the name of the deployment
		TokenSource:      token,                                            // Entra ID, from azidentity for example
		Model:            "my-deployment",
		ReasoningModel:   &thinks, // the name of a deployment does not say it
		PreviousResponse: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(model)
}

// The examples in the README are those that compile.
func TestResponsesREADME(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("responses_example_test.go")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(readme), "## The Responses API")
	require.True(t, ok)
	blocks := strings.Split(section, "```go\n")[1:]
	require.Len(t, blocks, 3)
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		require.Contains(t, string(source), code)
	}
}
