package model

import (
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/schema"
)

// TokenUsage counts the tokens of one call.
type TokenUsage struct {
	// PromptTokens counts the input, cached tokens included.
	PromptTokens       int
	PromptTokenDetails PromptTokenDetails
	// CompletionTokens counts the answer, reasoning included.
	CompletionTokens        int
	TotalTokens             int
	CompletionTokensDetails CompletionTokensDetails `json:"completion_token_details"`
}

// CompletionTokensDetails says more about TokenUsage.CompletionTokens.
type CompletionTokensDetails struct {
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
}

// PromptTokenDetails says more about TokenUsage.PromptTokens.
type PromptTokenDetails struct {
	// CachedTokens were read from the provider's prompt cache, CacheWriteTokens written into it.
	CachedTokens     int
	CacheWriteTokens int
}

// Config are the settings a call ran with.
type Config struct {
	Model       string
	MaxTokens   int
	Temperature float32
	TopP        float32
	Stop        []string
	// Provider names the service of the model (see [HasProvider]), Host and Port the server that is called (see
	// [HasEndpoint]), if the model says so.
	Provider string
	Host     string
	Port     int
}

// CallbackInput is passed to handlers when a chat model starts.
type CallbackInput struct {
	Messages   []*schema.Message
	Tools      []*schema.ToolInfo
	ToolChoice *schema.ToolChoice
	Config     *Config
	// Extra holds what else a provider reports.
	Extra map[string]any
}

// CallbackOutput is passed to handlers when a chat model ends; for a stream, one a chunk.
type CallbackOutput struct {
	Message    *schema.Message
	Config     *Config
	TokenUsage *TokenUsage
	// Extra holds what else a provider reports.
	Extra map[string]any
}

// ConvCallbackInput returns the payload a chat model started with: a *CallbackInput as it is, messages wrapped in one.
// Anything else gives nil.
func ConvCallbackInput(src callbacks.CallbackInput) *CallbackInput {
	switch v := src.(type) {
	case *CallbackInput:
		return v
	case []*schema.Message:
		return &CallbackInput{Messages: v}
	}
	return nil
}

// ConvCallbackOutput returns the payload a chat model ended with: a *CallbackOutput as it is, a message wrapped in one,
// with the usage that it reports. Anything else gives nil.
func ConvCallbackOutput(src callbacks.CallbackOutput) *CallbackOutput {
	switch v := src.(type) {
	case *CallbackOutput:
		return v
	case *schema.Message:
		return &CallbackOutput{Message: v, TokenUsage: usageOf(v)}
	}
	return nil
}

// usageOf is the usage that a message reports, nil if it reports none.
func usageOf(m *schema.Message) *TokenUsage {
	if m == nil || m.ResponseMeta == nil {
		return nil
	}
	return usageFrom(m.ResponseMeta.Usage)
}

// usageFrom is the usage of a message as handlers get it. It is nil for nil.
func usageFrom(u *schema.TokenUsage) *TokenUsage {
	if u == nil {
		return nil
	}
	return &TokenUsage{
		PromptTokens: u.PromptTokens,
		PromptTokenDetails: PromptTokenDetails{
			CachedTokens: u.PromptTokenDetails.CachedTokens, CacheWriteTokens: u.PromptTokenDetails.CacheWriteTokens,
		},
		CompletionTokens:        u.CompletionTokens,
		TotalTokens:             u.TotalTokens,
		CompletionTokensDetails: CompletionTokensDetails{ReasoningTokens: u.CompletionTokensDetails.ReasoningTokens},
	}
}
