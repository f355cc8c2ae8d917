package ollama_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/embedding/ollama"
)

func ExampleNewEmbedder() {
	ctx := context.Background()
	e, err := ollama.NewEmbedder(ctx, &ollama.Config{Model: "nomic-embed-text"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e)
	// Output: Ollama embedder "nomic-embed-text" at localhost
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
