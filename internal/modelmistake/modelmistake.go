// Package modelmistake carries to the tools of an agent whether the agent wants their arguments checked.
//
// The run of an agent answers for it, and the tools made of Go functions ask.
// It must never say what comes of arguments that do not fit: that is the agent's to decide.
package modelmistake

import "context"

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
