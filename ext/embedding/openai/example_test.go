package openai_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/ext/embedding/openai"
)

func ExampleNewEmbedder() {
	e, err := openai.NewEmbedder(context.Background(), &openai.Config{APIKey: "key", Model: "text-embedding-3-small"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e)
	// Output: OpenAI embedder "text-embedding-3-small" at api.openai.com
}
