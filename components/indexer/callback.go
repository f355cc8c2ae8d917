package indexer

import (
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/schema"
)

// CallbackInput is passed to handlers when an indexer starts.
type CallbackInput struct {
	Docs []*schema.Document
	// Extra holds what else an indexer reports.
	Extra map[string]any
}

// CallbackOutput is passed to handlers when an indexer ends.
type CallbackOutput struct {
	IDs []string
	// Extra holds what else an indexer reports.
	Extra map[string]any
}

// ConvCallbackInput returns the payload an indexer started with: a *CallbackInput as it is, documents wrapped in one.
// Anything else gives nil.
func ConvCallbackInput(src callbacks.CallbackInput) *CallbackInput {
	switch v := src.(type) {
	case *CallbackInput:
		return v
	case []*schema.Document:
		return &CallbackInput{Docs: v}
	}
	return nil
}

// ConvCallbackOutput returns the payload an indexer ended with: a *CallbackOutput as it is, ids wrapped in one.
// Anything else gives nil.
func ConvCallbackOutput(src callbacks.CallbackOutput) *CallbackOutput {
	switch v := src.(type) {
	case *CallbackOutput:
		return v
	case []string:
		return &CallbackOutput{IDs: v}
	}
	return nil
}
