package schema

import "cmp"

// ResponseMeta holds a provider's report about one response of a chat model.
type ResponseMeta struct {
	// FinishReason says why the model stopped, in the provider's words: "stop", "length", "tool_calls", …
	FinishReason string `json:"finish_reason,omitempty"`
	// Usage is nil when the provider did not report it.
	Usage *TokenUsage `json:"usage,omitempty"`
	// LogProbs is nil unless it was asked for.
	LogProbs *LogProbs `json:"logprobs,omitempty"`
	// ID is the provider's name for the response, "" when the provider gives none.
	ID string `json:"id,omitempty"`
	// Model is the model that answered, which may be another than the one that was asked for: a dated version, or the
	// model that a router chose.
	Model string `json:"model,omitempty"`
	// Provider names the service that gave the response, as the adapter names it: "openai", "anthropic", "aws.bedrock", …
	Provider string `json:"provider,omitempty"`
}

// TokenUsage counts the tokens of one request. Streamed counts are running totals, so that joining chunks takes the
// maximum of each field.
type TokenUsage struct {
	// PromptTokens counts everything sent, cached or not.
	PromptTokens       int                `json:"prompt_tokens"`
	PromptTokenDetails PromptTokenDetails `json:"prompt_token_details"`
	// CompletionTokens counts everything generated, reasoning included.
	CompletionTokens        int                     `json:"completion_tokens"`
	TotalTokens             int                     `json:"total_tokens"`
	CompletionTokensDetails CompletionTokensDetails `json:"completion_token_details"`
}

// Add adds the counts of another request. nil adds nothing.
func (u *TokenUsage) Add(other *TokenUsage) {
	if other == nil {
		return
	}
	u.PromptTokens += other.PromptTokens
	u.PromptTokenDetails.CachedTokens += other.PromptTokenDetails.CachedTokens
	u.PromptTokenDetails.CacheWriteTokens += other.PromptTokenDetails.CacheWriteTokens
	u.CompletionTokens += other.CompletionTokens
	u.CompletionTokensDetails.ReasoningTokens += other.CompletionTokensDetails.ReasoningTokens
	u.TotalTokens += other.TotalTokens
}

// PromptTokenDetails breaks down the prompt tokens.
type PromptTokenDetails struct {
	// CachedTokens were read from the provider's prompt cache.
	CachedTokens int `json:"cached_tokens"`
	// CacheWriteTokens were written into the provider's prompt cache, which some bill apart. They are among the prompt
	// tokens, and not among CachedTokens.
	CacheWriteTokens int `json:"cache_write_tokens"`
}

// CompletionTokensDetails breaks down the generated tokens.
type CompletionTokensDetails struct {
	// ReasoningTokens were spent on thinking.
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
}

// LogProbs holds the log probabilities of the generated tokens.
type LogProbs struct {
	Content []LogProb `json:"content"`
}

// LogProb is one generated token and how likely it was.
type LogProb struct {
	Token   string  `json:"token"`
	LogProb float64 `json:"logprob"`
	// Bytes is the UTF-8 form of the token, for tokens that are parts of a character.
	Bytes []int64 `json:"bytes,omitempty"`
	// TopLogProbs are the most likely tokens at this place.
	TopLogProbs []TopLogProb `json:"top_logprobs"`
}

// TopLogProb is one candidate token and how likely it was.
type TopLogProb struct {
	Token   string  `json:"token"`
	LogProb float64 `json:"logprob"`
	Bytes   []int64 `json:"bytes,omitempty"`
}

// Max takes in a later report on the same request: counts are running totals, of which the greatest is right. nil
// changes nothing.
func (u *TokenUsage) Max(later *TokenUsage) {
	if later == nil {
		return
	}
	atLeast(&u.PromptTokens, later.PromptTokens)
	atLeast(&u.PromptTokenDetails.CachedTokens, later.PromptTokenDetails.CachedTokens)
	atLeast(&u.PromptTokenDetails.CacheWriteTokens, later.PromptTokenDetails.CacheWriteTokens)
	atLeast(&u.CompletionTokens, later.CompletionTokens)
	atLeast(&u.CompletionTokensDetails.ReasoningTokens, later.CompletionTokensDetails.ReasoningTokens)
	atLeast(&u.TotalTokens, later.TotalTokens)
}

// maxTokenUsage returns total with u taken in. The first report is copied, so that the caller's is not changed.
func maxTokenUsage(total, u *TokenUsage) *TokenUsage {
	if u == nil {
		return total
	}
	if total == nil {
		total = &TokenUsage{}
	}
	total.Max(u)
	return total
}

// origin is which response of whom the metadata are about. Of the values in the chunks of a stream the last one counts.
type origin struct{ id, model, provider string }

func (o *origin) add(id, model, provider string) {
	o.id, o.model, o.provider = cmp.Or(id, o.id), cmp.Or(model, o.model), cmp.Or(provider, o.provider)
}

func atLeast(total *int, n int) { *total = max(*total, n) }
