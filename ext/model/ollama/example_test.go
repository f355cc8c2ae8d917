package ollama_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/ext/model/ollama"
)

func ExampleNewChatModel() {
	m, err := ollama.NewChatModel(context.Background(), &ollama.Config{
		Model:   "qwen3:8b",
		Options: ollama.Options{NumCtx: 16384},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m)
	// Output: Ollama model "qwen3:8b" at localhost
}
