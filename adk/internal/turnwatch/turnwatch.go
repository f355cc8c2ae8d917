// Package turnwatch is how a runner keeps the turns of a conversation, of which it knows nothing else.
package turnwatch

import "context"

// Options holds the settings of an option of a run.
type Options struct{ Conversation Conversation }

// Conversation keeps the turns of runs.
type Conversation interface {
	// Begin opens the turn of a run before anything else happens, or takes it over. A nil turn is one that is kept
	// already: the run is not watched.
	Begin(ctx context.Context, run Run) (Turn, error)
}

// Past says how much of a run exists before a runner begins it.
type Past int

// The pasts of a run.
const (
	NoPast    Past = iota // it begins
	Submitted             // it is recorded what it begins with, and no process has executed it
	Tried                 // a process has executed it, and recorded no step
	Underway              // it is resumed
)

// Run is a run that begins or is resumed.
type Run struct {
	// ID is the ID of the run, "" if it has none of its own.
	ID   string
	Past Past
	// Held reports whether no other process can execute the same run.
	Held bool
	// Input is a []*schema.Message, of a run that is not underway.
	Input any
}

// Turn is the open turn of a run. One of Wait and End is called once.
type Turn interface {
	// Options are a []adk.AgentRunOption: what was said before, and who answers.
	Options() any
	// Context is the context of the run.
	Context(ctx context.Context) context.Context
	// Wait says that the run has stopped and can be resumed. It is called before the run is saved.
	Wait(ctx context.Context, s Stretch) error
	// End says that the run is over, with an answer or without. It is called before that is saved.
	End(ctx context.Context, s Stretch) error
	// Abandon says that the run could not begin.
	Abandon(ctx context.Context)
}

// Stretch describes a run since Begin.
type Stretch struct {
	// Said is a []adk.HistoryEntry.
	Said any
	// Replayed has the indices of what an earlier process has said and this one has repeated.
	Replayed map[int]bool
	// Agent is the agent that spoke last, or was handed over to, "" if there was none.
	Agent string
	// Partial is the text that Speaker was saying when the run stopped, "" if it was saying none.
	Partial, Speaker string
	// Interrupted is the *adk.InterruptInfo of a run that waits for answers.
	Interrupted any
}
