package retriever

import (
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/schema"
)

// CallbackInput is passed to handlers when a retriever starts.
type CallbackInput struct {
	Query          string
	TopK           int
	Filter         string
	ScoreThreshold *float64
	// Extra holds what else a retriever reports.
	Extra map[string]any
}

// CallbackOutput is passed to handlers when a retriever ends.
type CallbackOutput struct {
	Docs []*schema.Document
	// Extra holds what else a retriever reports.
	Extra map[string]any
}

// ConvCallbackInput returns the payload a retriever started with: a *CallbackInput as it is, a query wrapped in one.
// Anything else gives nil.
func ConvCallbackInput(src callbacks.CallbackInput) *CallbackInput {
	switch v := src.(type) {
	case *CallbackInput:
		return v
	case string:
		return &CallbackInput{Query: v}
	}
	return nil
}

// ConvCallbackOutput returns the payload a retriever ended with: a *CallbackOutput as it is, documents wrapped in one.
// Anything else gives nil.
func ConvCallbackOutput(src callbacks.CallbackOutput) *CallbackOutput {
	switch v := src.(type) {
	case *CallbackOutput:
		return v
	case []*schema.Document:
		return &CallbackOutput{Docs: v}
	}
	return nil
}
