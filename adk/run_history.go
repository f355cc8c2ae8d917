package adk

import (
	"slices"
)

// WithHistory gives a run what was said before it, with the authors: each agent that the run reaches sees its own
// messages as they are, and the messages of other agents as messages of the user that say who said what. The messages of
// the run come behind them. A resumed run needs the option again if it may reach further agents. Of several such options
// the last one counts. Ordinary messages only.
func WithHistory(entries ...HistoryEntry) AgentRunOption {
	kept := slices.Clone(entries)
	return WrapImplSpecificOptFn(func(o *runnerOptions) { o.history = kept })
}

// WithActiveAgent has a run begin at the agent of that name, the runner's agent or one below it, instead of the
// runner's: the one that has answered last in a conversation. It can hand the run over as in any run. A resumed run needs
// the option again. That there is no such agent is the error of the run. The default, and "", is the runner's agent.
func WithActiveAgent(name string) AgentRunOption {
	return WrapImplSpecificOptFn(func(o *runnerOptions) { o.active = name })
}

// IsInner reports whether the event is of an agent that runs as a tool (see [ToolsConfig]), or of one further inside. Such
// an event is for looking at: its message is not part of what the agents of the run have said to each other.
func (e *TypedAgentEvent[M]) IsInner() bool { return e.origin == originInner }

// IsReplay reports whether an earlier part of the run has emitted the event: before it was interrupted, cancelled, or its
// process died. A resumed run emits again what it had emitted, so that its reader has the whole answer wherever it reads;
// one that shows both parts on one page leaves replays out. They are not recorded and not stored again.
func (e *TypedAgentEvent[M]) IsReplay() bool { return e.origin.isReplayed() }
