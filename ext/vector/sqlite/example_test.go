package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/ext/vector/sqlite"
	"github.com/weftgo/weft/ext/vector/vectortest"
	"github.com/weftgo/weft/schema"
)

func Example() {
	ctx := context.Background()
	embedder := vectortest.NewEmbedder(8) // in earnest one of ext/embedding: openai, gemini, ollama
	store, err := sqlite.Open(ctx, &sqlite.Config{
		Path:      ":memory:", // or a file
		Embedding: embedder,
		Hybrid:    true,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	_, err = store.Store(ctx, []*schema.Document{
		{ID: "keys", Content: "The key is under the mat.", MetaData: map[string]any{"year": 2026}},
		{ID: "bread", Content: "There is bread on the table.", MetaData: map[string]any{"year": 2025}},
	})
	if err != nil {
		log.Fatal(err)
	}
	docs, err := store.Retrieve(ctx, "Where is the key?",
		retriever.WithTopK(3),
		retriever.WithDSLInfo(map[string]any{"year": map[string]any{"$gte": 2026}}))
	if err != nil {
		log.Fatal(err)
	}
	for _, doc := range docs {
		fmt.Println(doc.ID, doc.Content)
	}
	// Output: keys The key is under the mat.
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
