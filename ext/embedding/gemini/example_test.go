package gemini_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/embedding/gemini"
)

func ExampleNewEmbedder() {
	ctx, key := context.Background(), "key"
	e, err := gemini.NewEmbedder(ctx, &gemini.Config{APIKey: key, Model: "gemini-embedding-001", TaskType: "RETRIEVAL_DOCUMENT"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e)
	// Output: Gemini embedder "gemini-embedding-001" at generativelanguage.googleapis.com
}

func ExampleWithTaskType() {
	ctx, question := context.Background(), "Where is the key?"
	e, err := gemini.NewEmbedder(ctx, &gemini.Config{APIKey: "key", Model: "gemini-embedding-001"})
	if err != nil {
		fmt.Println(err)
		return
	}
	vectors, err := e.EmbedStrings(ctx, []string{question}, gemini.WithTaskType("RETRIEVAL_QUERY"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(vectors[0]))
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
