package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/schema"
)

// How many tokens did that take?
//
// The answer counts all calls of models in the run. For money see docs/costs.md.
func Example_usage() {
	message := schema.AssistantMessage("Lisbon.", nil)
	message.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 12, CompletionTokens: 3, TotalTokens: 15}}
	agent := must(weft.New(weft.Config{Model: answers(message)}))
	usage := must(agent.Ask(context.Background(), "Which capital?")).Usage
	fmt.Println(usage.PromptTokens, usage.CompletionTokens, usage.TotalTokens)
	// Output: 12 3 15
}
