package gemini_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/ext/embedding/gemini"
)

func ExampleNewEmbedder() {
	e, err := gemini.NewEmbedder(context.Background(), &gemini.Config{APIKey: "key", Model: "gemini-embedding-001"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e)
	// Output: Gemini embedder "gemini-embedding-001" at generativelanguage.googleapis.com
}
