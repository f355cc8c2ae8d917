// A program that cuts the stack off before it shows an error.
package panictext

import (
	"strings"

	"github.com/cloudwego/eino/adk"
)

func show(event *adk.AgentEvent) string {
	text, _, _ := strings.Cut(event.Err.Error(), "stack:") // want `the text of a panic has no stack on Weft`
	if strings.Contains(event.Err.Error(), "panic") {
		return "internal error"
	}
	return text
}

// others cuts a text of its own.
func others(page string) string {
	text, _, _ := strings.Cut(page, "stack:")
	return text
}

// cut finds the stack in other ways.
func cut(event *adk.AgentEvent) string {
	text := event.Err.Error()
	if i := strings.LastIndex(text, "stack:"); i >= 0 { // want `the text of a panic has no stack on Weft`
		return text[:i]
	}
	before, _, _ := strings.Cut(text, "goroutine ") // want `the text of a panic has no stack on Weft`
	return before
}
