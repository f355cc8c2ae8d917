package model

import (
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/schema"
)

// AgenticConfig are the settings a call of an [AgenticModel] ran with.
type AgenticConfig struct {
	Model       string
	MaxTokens   int
	Temperature float32
	TopP        float32
	// Provider names the service of the model (see [HasProvider]), Host and Port the server that is called (see
	// [HasEndpoint]), if the model says so.
	Provider string
	Host     string
	Port     int
}

// AgenticCallbackInput is passed to handlers when an [AgenticModel] starts.
type AgenticCallbackInput struct {
	Messages []*schema.AgenticMessage
	Tools    []*schema.ToolInfo
	Config   *AgenticConfig
	// Extra holds what else a provider reports.
	Extra map[string]any
}

// AgenticCallbackOutput is passed to handlers when an [AgenticModel] ends; for a stream, one a chunk.
type AgenticCallbackOutput struct {
	Message    *schema.AgenticMessage
	Config     *AgenticConfig
	TokenUsage *TokenUsage
	// Extra holds what else a provider reports.
	Extra map[string]any
}

// ConvAgenticCallbackInput returns the payload an [AgenticModel] started with: an *AgenticCallbackInput as it is,
// messages wrapped in one. Anything else gives nil.
func ConvAgenticCallbackInput(src callbacks.CallbackInput) *AgenticCallbackInput {
	switch v := src.(type) {
	case *AgenticCallbackInput:
		return v
	case []*schema.AgenticMessage:
		return &AgenticCallbackInput{Messages: v}
	}
	return nil
}

// ConvAgenticCallbackOutput returns the payload an [AgenticModel] ended with: an *AgenticCallbackOutput as it is, a
// message wrapped in one, with the usage that it reports. Anything else gives nil.
func ConvAgenticCallbackOutput(src callbacks.CallbackOutput) *AgenticCallbackOutput {
	switch v := src.(type) {
	case *AgenticCallbackOutput:
		return v
	case *schema.AgenticMessage:
		out := &AgenticCallbackOutput{Message: v}
		if v != nil && v.ResponseMeta != nil {
			out.TokenUsage = usageFrom(v.ResponseMeta.TokenUsage)
		}
		return out
	}
	return nil
}
