package document

import (
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/schema"
)

// LoaderCallbackInput is passed to handlers when a loader starts.
type LoaderCallbackInput struct {
	Source Source
	// Extra holds what else a loader reports.
	Extra map[string]any
}

// LoaderCallbackOutput is passed to handlers when a loader ends.
type LoaderCallbackOutput struct {
	Source Source
	Docs   []*schema.Document
	// Extra holds what else a loader reports.
	Extra map[string]any
}

// TransformerCallbackInput is passed to handlers when a transformer starts.
type TransformerCallbackInput struct {
	Input []*schema.Document
	// Extra holds what else a transformer reports.
	Extra map[string]any
}

// TransformerCallbackOutput is passed to handlers when a transformer ends.
type TransformerCallbackOutput struct {
	Output []*schema.Document
	// Extra holds what else a transformer reports.
	Extra map[string]any
}

// ConvLoaderCallbackInput returns the payload a loader started with: a *LoaderCallbackInput as it is, a [Source]
// wrapped in one. Anything else gives nil.
func ConvLoaderCallbackInput(src callbacks.CallbackInput) *LoaderCallbackInput {
	switch v := src.(type) {
	case *LoaderCallbackInput:
		return v
	case Source:
		return &LoaderCallbackInput{Source: v}
	}
	return nil
}

// ConvLoaderCallbackOutput returns the payload a loader ended with: a *LoaderCallbackOutput as it is, documents wrapped
// in one. Anything else gives nil.
func ConvLoaderCallbackOutput(src callbacks.CallbackOutput) *LoaderCallbackOutput {
	switch v := src.(type) {
	case *LoaderCallbackOutput:
		return v
	case []*schema.Document:
		return &LoaderCallbackOutput{Docs: v}
	}
	return nil
}

// ConvTransformerCallbackInput returns the payload a transformer started with: a *TransformerCallbackInput as it is,
// documents wrapped in one. Anything else gives nil.
func ConvTransformerCallbackInput(src callbacks.CallbackInput) *TransformerCallbackInput {
	switch v := src.(type) {
	case *TransformerCallbackInput:
		return v
	case []*schema.Document:
		return &TransformerCallbackInput{Input: v}
	}
	return nil
}

// ConvTransformerCallbackOutput returns the payload a transformer ended with: a *TransformerCallbackOutput as it is,
// documents wrapped in one. Anything else gives nil.
func ConvTransformerCallbackOutput(src callbacks.CallbackOutput) *TransformerCallbackOutput {
	switch v := src.(type) {
	case *TransformerCallbackOutput:
		return v
	case []*schema.Document:
		return &TransformerCallbackOutput{Output: v}
	}
	return nil
}
