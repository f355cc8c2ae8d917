package main

import (
	"context"
	"hash/fnv"
	"os"
	"strings"
	"unicode"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/ext/embedding/openai"
	"github.com/weftgo/weft/ext/vector/sqlite"
	"github.com/weftgo/weft/schema"
)

// openStore opens a store with the documents in it. A path instead of :memory: keeps them.
func openStore(ctx context.Context) (*sqlite.Store, error) {
	embedder, err := newEmbedder(ctx)
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, &sqlite.Config{Path: ":memory:", Embedding: embedder, TopK: 1, Hybrid: true})
	if err != nil {
		return nil, err
	}
	var docs []*schema.Document
	for _, text := range documents {
		title, _, _ := strings.Cut(text, ":")
		docs = append(docs, &schema.Document{ID: title, Content: text})
	}
	if _, err := store.Store(ctx, docs); err != nil {
		store.Close()
		return nil, err
	}
	return store, nil
}

// newEmbedder embeds with OpenAI, if there is a key, and otherwise by the words of a text alone. A key is for the server at
// OPENAI_BASE_URL if that is set, and goes nowhere else: it embeds if OPENAI_EMBEDDING_MODEL names a model of it.
func newEmbedder(ctx context.Context) (embedding.Embedder, error) {
	key, server, name := os.Getenv("OPENAI_API_KEY"), os.Getenv("OPENAI_BASE_URL"), os.Getenv("OPENAI_EMBEDDING_MODEL")
	if server == "" && name == "" {
		name = "text-embedding-3-small"
	}
	if name == "" || key == "" && server == "" {
		return words{}, nil
	}
	return openai.NewEmbedder(ctx, &openai.Config{APIKey: key, BaseURL: server, Model: name})
}

// words has a dimension for every few words.
type words struct{}

func (words) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	vectors := make([][]float64, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float64, 256)
		for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
			if len(word) < 4 { // most of those say little
				continue
			}
			h := fnv.New32a()
			h.Write([]byte(word))
			vectors[i][h.Sum32()%256]++
		}
	}
	return vectors, nil
}

// lookUp has the demo model look for the question itself.
func lookUp(question string, results []*schema.Message) *schema.Message {
	return demo.Calls(demo.Call("search", `{"text":"`+strings.ReplaceAll(question, `"`, `'`)+`"}`))(question, results)
}
