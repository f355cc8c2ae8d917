// Package modelmistake carries what is wrong with a tool call, and whether to look for it, between the layers.
//
// The tools node finds calls of tools that do not exist, tools find arguments that do not fit, and the agent above
// decides whether the model may try again.
// It must never decide that itself.
package modelmistake

import (
	"context"
	"fmt"
)

// UnknownTool is the error of a call of a tool that does not exist.
type UnknownTool struct{ Tool, CallID string }

func (e *UnknownTool) Error() string {
	return fmt.Sprintf("tool %s not found in toolsNode indexes", e.Tool)
}

// CheckKey asks a context, for a bool, whether tools hold their arguments against their schema.
type CheckKey struct{}

// ChecksArguments reports whether tools that are called with ctx hold their arguments against their schema.
func ChecksArguments(ctx context.Context) bool {
	if ctx == nil {
		return false
	}
	check, _ := ctx.Value(CheckKey{}).(bool)
	return check
}
