package catwalk_test

import (
	"fmt"

	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/ext/catalogue/catwalk"
	"github.com/weftgo/weft/schema"
)

// A contract's prices stand before public ones. Models that neither knows have no price, which is not a price of 0.
func Example() {
	contract := catalogue.Static(map[catalogue.Key]catalogue.ModelInfo{
		{Provider: "openai", Model: "gpt-5"}: {Price: &catalogue.Price{Input: 1, Output: 8}}})
	all := catalogue.First(contract, catwalk.New())
	for _, name := range []string{"gpt-5-2025-08-07", "no-such-model"} {
		info, ok := all.Lookup("openai", name)
		if !ok || info.Price == nil {
			fmt.Println(name, "has no price")
			continue
		}
		cost := info.Price.Cost(schema.TokenUsage{PromptTokens: 10_000, CompletionTokens: 500}, "")
		fmt.Printf("%s, with a window of %d tokens: $%.4f\n", name, info.ContextWindow, cost)
	}
	// Output:
	// gpt-5-2025-08-07, with a window of 400000 tokens: $0.0140
	// no-such-model has no price
}
