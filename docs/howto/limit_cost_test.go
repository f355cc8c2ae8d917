package howto

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/middlewares/budget"
	"github.com/weftgo/weft/schema"
)

// How do I limit what a run may cost?
//
// With the budget middleware: calls, tokens, money or time. See docs/costs.md for prices.
func Example_limit_cost() {
	limit := must(budget.New(context.Background(), &budget.Config{Limits: budget.Limits{Tokens: 100}}))
	expensive := schema.AssistantMessage("", []schema.ToolCall{call("look", `{}`)})
	expensive.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 90, CompletionTokens: 20, TotalTokens: 110}}
	look := weft.Func("look", "Looks around.", func(context.Context, struct{}) (string, error) { return "nothing", nil })
	agent := must(weft.New(weft.Config{
		Model: answers(expensive, "never reached"), Tools: []weft.Tool{look}, Middlewares: []weft.Middleware{limit},
	}))
	_, err := agent.Ask(context.Background(), "Find it.")
	var exceeded *budget.ExceededError
	fmt.Println(errors.As(err, &exceeded))
	// Output: true
}
