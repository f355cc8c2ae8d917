package embedding

import "github.com/weftgo/weft/internal/callbacks"

// TokenUsage counts the tokens of one call.
type TokenUsage struct {
	PromptTokens     int
	CompletionTokens int
	TotalTokens      int
}

// Config are the settings a call ran with.
type Config struct {
	Model          string
	EncodingFormat string
	// Provider names the service of the model, Host and Port the server that is called, if the embedder says so.
	Provider string
	Host     string
	Port     int
}

// ComponentExtra describes a call of an embedder beyond its vectors.
type ComponentExtra struct {
	Config     *Config
	TokenUsage *TokenUsage
}

// CallbackInput is passed to handlers when an embedder starts.
type CallbackInput struct {
	Texts  []string
	Config *Config
	// Extra holds what else a provider reports.
	Extra map[string]any
}

// CallbackOutput is passed to handlers when an embedder ends.
type CallbackOutput struct {
	Embeddings [][]float64
	Config     *Config
	TokenUsage *TokenUsage
	// Extra holds what else a provider reports.
	Extra map[string]any
}

// ConvCallbackInput returns the payload an embedder started with: a *CallbackInput as it is, texts wrapped in one.
// Anything else gives nil.
func ConvCallbackInput(src callbacks.CallbackInput) *CallbackInput {
	switch v := src.(type) {
	case *CallbackInput:
		return v
	case []string:
		return &CallbackInput{Texts: v}
	}
	return nil
}

// ConvCallbackOutput returns the payload an embedder ended with: a *CallbackOutput as it is, vectors wrapped in one.
// Anything else gives nil.
func ConvCallbackOutput(src callbacks.CallbackOutput) *CallbackOutput {
	switch v := src.(type) {
	case *CallbackOutput:
		return v
	case [][]float64:
		return &CallbackOutput{Embeddings: v}
	}
	return nil
}
