// Package runwatch shows what happens in a run, at the moment at which it happens, to observers that must not change it.
// Package adk calls the methods in the goroutines of the run, some with locks held: they return at once, call nothing of
// the run, and keep no stream of an event that they do not copy.
package runwatch

import "context"

// Options holds the settings of an option of a run.
type Options struct {
	Run Run
	// Unread: the streams of the run's events have no reader. Streams that the run itself reads to their ends come
	// closed, so that no goroutine has to wake up for each of their pieces.
	Unread bool
}

// Run sees a run of a runner. Nothing of it comes after End.
type Run interface {
	// Begin comes before the agents begin. A run that is refused has none.
	Begin(s Start)
	// Saved says that the run can continue from here: so many steps are saved.
	Saved(steps int)
	// Event sees an event that is emitted, a *adk.TypedAgentEvent of the kind of message of the run.
	Event(event any)
	End()
}

// Start is a run that begins or is resumed.
type Start struct {
	// Token is the token of its lease, 0 without one.
	Token uint64
	// Resumed: it continues, or was submitted and begins.
	Resumed, Streaming bool
	// Agent is the outermost agent, Input a slice of messages.
	Agent string
	Input any
	// Answers holds the answers that it is resumed with, by the IDs of interrupt points.
	Answers map[string]any
	// Origin is the run that this one is a fork of, and OriginStep how many of its steps it has.
	Origin     string
	OriginStep int
}

// Agent sees one agent at work. A callback handler puts it into the context of the agent's start.
type Agent interface {
	// Begin is given the way from the outermost agent to this one.
	Begin(path []string)
	// Event sees an event of the agent's own that no earlier process emitted. place is which call of its answer an event of
	// a tool is of, from 1; 0 if that is not known.
	Event(event any, place int)
	// Verdict says whether the last call of its model is made again, or stands. answer is a message that came as a
	// stream, joined, for the receiver to keep; nil if there is none.
	Verdict(answer any, again bool)
	End()
}

// ToolsKey asks the context of a call of a tool for the [Tools] of its agent.
type ToolsKey struct{}

// Tools are the tools of an agent at work.
type Tools interface {
	// Repeatable reports whether a tool says that calling it again does no harm.
	Repeatable(name string) bool
}

type key struct{}

// With returns a context in which an agent is seen.
func With(ctx context.Context, a Agent) context.Context { return context.WithValue(ctx, key{}, a) }

// In returns the observer of the agent of a context, nil if there is none.
func In(ctx context.Context) Agent {
	a, _ := ctx.Value(key{}).(Agent)
	return a
}
