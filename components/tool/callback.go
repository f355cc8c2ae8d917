package tool

import (
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/schema"
)

// CallbackInput is passed to handlers when a tool starts.
type CallbackInput struct {
	ArgumentsInJSON string
	// Extra holds what else a tool reports.
	Extra map[string]any
}

// CallbackOutput is passed to handlers when a tool ends; for a stream, one a chunk.
type CallbackOutput struct {
	// Response is the result of a tool that returns text.
	Response string
	// ToolOutput is the result of an enhanced tool.
	ToolOutput *schema.ToolResult
	// Extra holds what else a tool reports.
	Extra map[string]any
}

// ConvCallbackInput returns the payload a tool started with: a *CallbackInput as it is, arguments wrapped in one.
// Anything else gives nil.
func ConvCallbackInput(src callbacks.CallbackInput) *CallbackInput {
	switch v := src.(type) {
	case *CallbackInput:
		return v
	case string:
		return &CallbackInput{ArgumentsInJSON: v}
	case *schema.ToolArgument:
		if v == nil {
			return &CallbackInput{}
		}
		return &CallbackInput{ArgumentsInJSON: v.Text}
	}
	return nil
}

// ConvCallbackOutput returns the payload a tool ended with: a *CallbackOutput as it is, a result wrapped in one.
// Anything else gives nil.
func ConvCallbackOutput(src callbacks.CallbackOutput) *CallbackOutput {
	switch v := src.(type) {
	case *CallbackOutput:
		return v
	case string:
		return &CallbackOutput{Response: v}
	case *schema.ToolResult:
		return &CallbackOutput{ToolOutput: v}
	}
	return nil
}
