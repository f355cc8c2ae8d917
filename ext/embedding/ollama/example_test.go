package ollama_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/ext/embedding/ollama"
)

func ExampleNewEmbedder() {
	e, err := ollama.NewEmbedder(context.Background(), &ollama.Config{Model: "nomic-embed-text"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e)
	// Output: Ollama embedder "nomic-embed-text" at localhost
}
