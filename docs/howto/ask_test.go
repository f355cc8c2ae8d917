package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
)

// How do I ask a question?
//
// Make an agent of a model, and ask. `answers` stands for a model of a provider here: `openai.NewChatModel` and its
// siblings under ext/model make one. The answer has the text, the messages of the run, and the tokens that it took.
func Example_ask() {
	agent := must(weft.New(weft.Config{Model: answers("Lisbon."), Instruction: "Answer with one word."}))
	answer := must(agent.Ask(context.Background(), "What is the capital of Portugal?"))
	fmt.Println(answer.Text)
	// Output: Lisbon.
}
