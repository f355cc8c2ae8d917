package openai_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/embedding/openai"
)

func ExampleNewEmbedder() {
	ctx, key := context.Background(), "key"
	e, err := openai.NewEmbedder(ctx, &openai.Config{APIKey: key, Model: "text-embedding-3-small"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e)
	// Output: OpenAI embedder "text-embedding-3-small" at api.openai.com
}

func ExampleNewEmbedder_azure() {
	ctx, key := context.Background(), "key"
	e, err := openai.NewEmbedder(ctx, &openai.Config{
		ByAzure: true, BaseURL: "https://example.openai.azure.com", APIVersion: "2024-10-21",
		APIKey: key, Model: "my-deployment",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e)
	// Output: OpenAI embedder "my-deployment" at example.openai.azure.com
}

func ExampleNewEmbedder_local() {
	ctx := context.Background()
	e, err := openai.NewEmbedder(ctx, &openai.Config{BaseURL: "http://localhost:8080/v1", Model: "bge-m3", Concurrency: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e)
	// Output: OpenAI embedder "bge-m3" at localhost
}

// TestREADME keeps the snippets in the README those which compile.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	snippets := strings.Split(string(readme), "```go\n")[1:]
	require.NotEmpty(t, snippets)
	for _, snippet := range snippets {
		snippet, _, _ = strings.Cut(snippet, "```")
		for line := range strings.Lines(snippet) {
			require.Contains(t, string(source), line)
		}
	}
}
