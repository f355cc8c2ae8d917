package qdrant_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/ext/vector/qdrant"
	"github.com/weftgo/weft/ext/vector/vectortest"
	"github.com/weftgo/weft/schema"
)

func Example() {
	ctx := context.Background()
	embedder := vectortest.NewEmbedder(8) // in earnest one of ext/embedding: openai, gemini, ollama
	store, err := qdrant.Open(ctx, &qdrant.Config{
		URL:              "http://localhost:6333",
		APIKey:           os.Getenv("QDRANT_API_KEY"),
		Collection:       "letters",
		CreateCollection: true,
		Embedding:        embedder,
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = store.Store(ctx, []*schema.Document{
		{ID: "keys", Content: "The key is under the mat.", MetaData: map[string]any{"year": 2026}},
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
		fmt.Println(doc.Score(), doc.Content)
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
