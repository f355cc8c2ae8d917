package kit

import (
	"encoding/json"

	"github.com/weftgo/weft/schema"
)

// AddUsage adds the usage of several requests behind one answer. Nil adds nothing, and nil and nil make nil.
func AddUsage(a, b *schema.TokenUsage) *schema.TokenUsage {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	sum := *a
	sum.Add(b)
	return &sum
}

// CheckUsage returns an empty text if the counts fit each other, and what does not otherwise: cached and written tokens
// are among the prompt's, reasoning is among the completion's, and the total is the sum.
func CheckUsage(u *schema.TokenUsage) string {
	switch {
	case u == nil:
		return ""
	case u.PromptTokenDetails.CachedTokens+u.PromptTokenDetails.CacheWriteTokens > u.PromptTokens:
		return "more tokens were cached than the prompt has"
	case u.CompletionTokensDetails.ReasoningTokens > u.CompletionTokens:
		return "more tokens were spent on reasoning than the answer has"
	case u.TotalTokens != u.PromptTokens+u.CompletionTokens:
		return "the total is not the sum of prompt and completion"
	}
	return ""
}

// RawUsage returns the text for [UsageRawKey]: the provider's object in one line, "" if there is none.
func RawUsage(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	text, err := Encode(raw)
	if err != nil {
		return ""
	}
	return string(text)
}
