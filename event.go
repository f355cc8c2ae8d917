package weft

import (
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// Event is one thing that happened in a run. Of the fields after Agent one is set, but for Source.
type Event struct {
	// Agent is the agent that the event is of.
	Agent string
	// Text is a piece of what the model writes.
	Text string
	// Reasoning is a piece of what the model thinks, if it shows that.
	Reasoning string
	// Call is a call of a tool, when the model has completed it.
	Call *schema.ToolCall
	// Result is the result of a call: its ToolName, ToolCallID and Content. A result in parts, as MCP servers and tools
	// with media give it, has them in UserInputMultiContent, and their texts in Content, too.
	Result *Message
	// Handover is the name of the agent that takes over.
	Handover string
	// Again says that the model, or another one, is called again: what this agent has written since its last Call, or the
	// beginning, does not count and comes again.
	Again bool
	// Answer is the last event of a run that did not fail.
	Answer *Answer
	// Source is the event that this one is a view of; several may be of one. Its stream is read already. It is nil for the
	// Answer.
	Source *adk.AgentEvent
}

// runError is an error of a run, on one line.
type runError struct{ error }

func (e runError) Error() string { return compose.ErrorLine(e.error) }
func (e runError) Unwrap() error { return e.error }

func oneLine(err error) error {
	if err == nil {
		return nil
	}
	return runError{err}
}
