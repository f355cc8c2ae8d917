package demo

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// Banner says what the reader is looking at.
func Banner(out io.Writer) {
	fmt.Fprint(out,
		"No key of a provider is needed: a built-in demo model answers, which follows rules instead of thinking.\n\n")
}

// Print shows the events of a run until it ends, and returns the one with which it was interrupted, if it was, and
// the error with which it failed, if it did.
func Print(out io.Writer, events *adk.AsyncIterator[*adk.AgentEvent]) (interrupted *adk.AgentEvent, err error) {
	for event := range events.All() {
		switch {
		case event.Err != nil:
			err = event.Err
			continue
		case event.Action != nil && event.Action.Interrupted != nil:
			interrupted = event
			continue
		}
		if err := PrintEvent(out, event); err != nil {
			return nil, err
		}
	}
	return interrupted, err
}

// PrintEvent shows what one event says, if it says something.
func PrintEvent(out io.Writer, event *adk.AgentEvent) error {
	if event.Output != nil && event.Output.CustomizedOutput != nil {
		fmt.Fprintf(out, "  (%v)\n", event.Output.CustomizedOutput)
	}
	message, _, err := adk.GetMessage(event)
	if err != nil || message == nil {
		return err
	}
	if message.Role == schema.Tool {
		fmt.Fprintf(out, "%s ← %s: %s\n", event.AgentName, message.ToolName, oneLine(message.Content))
		return nil
	}
	if message.Content != "" {
		fmt.Fprintf(out, "%s: %s\n", event.AgentName, message.Content)
	}
	for _, call := range message.ToolCalls {
		fmt.Fprintf(out, "%s → %s(%s)\n", event.AgentName, call.Function.Name, call.Function.Arguments)
	}
	return nil
}

// Note has a hook or a tool say something to the reader of the run, in its place among the events.
func Note(ctx context.Context, text string) error {
	return adk.SendEvent(ctx, &adk.AgentEvent{Output: &adk.AgentOutput{CustomizedOutput: text}})
}

func oneLine(text string) string {
	return strings.Join(strings.Split(strings.TrimSpace(text), "\n"), " ⏎ ")
}
