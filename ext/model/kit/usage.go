package kit

import (
	"encoding/json"
	"math"
	"strconv"

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

// A Count is a number of tokens in JSON. Some servers write integers as 26.0; what is no number counts as none.
type Count int

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Count) UnmarshalJSON(data []byte) error {
	if n, err := strconv.Atoi(string(data)); err == nil {
		*c = Count(n)
		return nil
	}
	if n, err := strconv.ParseFloat(string(data), 64); err == nil && math.Abs(n) < 1<<53 {
		*c = Count(n)
	}
	return nil
}

// Counts holds the counts of a service, in its own sense.
type Counts struct {
	// Prompt and Completion are the tokens of the request and of the answer, and Total is what the service adds up.
	Prompt, Completion, Total Count
	// Cached and Written are the tokens that were read from a cache and written to one, Reasoning the tokens of
	// thinking.
	Cached, Written, Reasoning Count
}

// Tokens returns the counts in the sense of schema.TokenUsage. A service that counts thinking aside shows it: its total
// is more than prompt and completion, or thinking alone is more than the completion. Tokens that are counted as read and
// as written were read.
func (c Counts) Tokens() *schema.TokenUsage {
	aside := c.Total - c.Prompt - c.Completion
	switch {
	case aside > 0 && c.Total > 0:
		c.Completion += aside
		c.Reasoning = max(c.Reasoning, aside)
	case c.Reasoning > c.Completion:
		c.Completion += c.Reasoning
	}
	if c.Cached+c.Written > c.Prompt {
		c.Written = max(0, c.Prompt-c.Cached)
		if c.Cached > 0 {
			c.Written = 0
		}
	}
	t := &schema.TokenUsage{
		PromptTokens: int(c.Prompt), CompletionTokens: int(c.Completion), TotalTokens: int(c.Prompt + c.Completion),
		PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: int(c.Cached), CacheWriteTokens: int(c.Written)},
	}
	t.CompletionTokensDetails.ReasoningTokens = int(c.Reasoning)
	return t
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
