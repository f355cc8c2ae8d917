package prompt

import (
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/schema"
)

// CallbackInput is passed to handlers when a chat template starts.
type CallbackInput struct {
	Variables map[string]any
	Templates []schema.MessagesTemplate
	// Extra holds what else a template reports.
	Extra map[string]any
}

// CallbackOutput is passed to handlers when a chat template ends.
type CallbackOutput struct {
	Result    []*schema.Message
	Templates []schema.MessagesTemplate
	// Extra holds what else a template reports.
	Extra map[string]any
}

// AgenticCallbackInput is passed to handlers when an agentic chat template starts.
type AgenticCallbackInput struct {
	Variables map[string]any
	Templates []schema.AgenticMessagesTemplate
	// Extra holds what else a template reports.
	Extra map[string]any
}

// AgenticCallbackOutput is passed to handlers when an agentic chat template ends.
type AgenticCallbackOutput struct {
	Result    []*schema.AgenticMessage
	Templates []schema.AgenticMessagesTemplate
	// Extra holds what else a template reports.
	Extra map[string]any
}

// ConvCallbackInput returns the payload a chat template started with: a *CallbackInput as it is, variables wrapped in
// one. Anything else gives nil.
func ConvCallbackInput(src callbacks.CallbackInput) *CallbackInput {
	switch v := src.(type) {
	case *CallbackInput:
		return v
	case map[string]any:
		return &CallbackInput{Variables: v}
	}
	return nil
}

// ConvCallbackOutput returns the payload a chat template ended with: a *CallbackOutput as it is, messages wrapped in
// one. Anything else gives nil.
func ConvCallbackOutput(src callbacks.CallbackOutput) *CallbackOutput {
	switch v := src.(type) {
	case *CallbackOutput:
		return v
	case []*schema.Message:
		return &CallbackOutput{Result: v}
	}
	return nil
}

// ConvAgenticCallbackInput returns the payload an agentic chat template started with: an *AgenticCallbackInput as it
// is, variables wrapped in one. Anything else gives nil.
func ConvAgenticCallbackInput(src callbacks.CallbackInput) *AgenticCallbackInput {
	switch v := src.(type) {
	case *AgenticCallbackInput:
		return v
	case map[string]any:
		return &AgenticCallbackInput{Variables: v}
	}
	return nil
}

// ConvAgenticCallbackOutput returns the payload an agentic chat template ended with: an *AgenticCallbackOutput as it
// is, messages wrapped in one. Anything else gives nil.
func ConvAgenticCallbackOutput(src callbacks.CallbackOutput) *AgenticCallbackOutput {
	switch v := src.(type) {
	case *AgenticCallbackOutput:
		return v
	case []*schema.AgenticMessage:
		return &AgenticCallbackOutput{Result: v}
	}
	return nil
}
