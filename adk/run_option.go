package adk

import (
	"context"
	"slices"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/cancelscope"
)

// AgentRunOption is an option of one run. It is immutable and may be used for many runs.
type AgentRunOption struct {
	apply  any // func(*T)
	agents []string
	// cancel is for the outermost agent alone.
	cancel *cancelscope.Control
}

// DesignateAgent makes the option act on the agents with the given names only. Calls add up.
func (o AgentRunOption) DesignateAgent(name ...string) AgentRunOption {
	o.agents = append(slices.Clip(o.agents), name...)
	return o
}

// WrapImplSpecificOptFn makes an option of one kind of agent: optFn sets a field of that agent's own options T.
func WrapImplSpecificOptFn[T any](optFn func(*T)) AgentRunOption {
	if optFn == nil {
		return AgentRunOption{}
	}
	return AgentRunOption{apply: optFn}
}

// GetImplSpecificOptions applies the options made for T to base, in order, and returns base. A nil base becomes a new
// zero value. Options for other types are ignored.
func GetImplSpecificOptions[T any](base *T, opts ...AgentRunOption) *T {
	if base == nil {
		base = new(T)
	}
	for i := range opts {
		if set, ok := opts[i].apply.(func(*T)); ok {
			set(base)
		}
	}
	return base
}

// hasImplSpecificOptions reports whether there are options for a type.
func hasImplSpecificOptions[T any](opts []AgentRunOption) bool {
	for i := range opts {
		if _, ok := opts[i].apply.(func(*T)); ok {
			return true
		}
	}
	return false
}

// meant reports whether the option acts on an agent.
func (o *AgentRunOption) meant(agent string) bool {
	return len(o.agents) == 0 || slices.Contains(o.agents, agent)
}

// optionsFor leaves out the options that are meant for other agents.
func optionsFor(agent string, opts []AgentRunOption) []AgentRunOption {
	if !slices.ContainsFunc(opts, func(o AgentRunOption) bool { return !o.meant(agent) }) {
		return opts
	}
	var kept []AgentRunOption
	for _, o := range opts {
		if o.meant(agent) {
			kept = append(kept, o)
		}
	}
	return kept
}

// runOutcome holds the result of a run for callers that do not read its events.
type runOutcome struct {
	// cancelled is a *CancelError, nil if the run was not cancelled.
	cancelled  error
	interrupts []*InterruptCtx
	// saveErr is the reason for which the run could not be saved.
	saveErr error
	// shownID returns the ID that a CancelError gives as the place where the run is saved.
	shownID func() string
	ended   chan struct{}
	// endTurn says to the conversation of a run that stopped whether it can be resumed, nil if it has none. The loop calls
	// it, which alone knows.
	endTurn func(ctx context.Context, resumable bool) error
}

// runnerOptions are read by the runner, whatever agents an option names.
type runnerOptions struct {
	sessionValues        map[string]any
	checkPointID         *string
	skipTransferMessages bool
	outcome              *runOutcome
	// history holds what was said before the run, active names the agent that it begins with, "" for the runner's.
	history []HistoryEntry
	active  string
	// restart: a run that exists under the ID is removed first. tags are the tags of a new run.
	restart bool
	tags    map[string]string
	// inLoop: the run is tied to the loop that reads it.
	inLoop bool
	// pieces: it has streamed answers come in pieces.
	pieces bool
	// maxTransfers is the number of times that the run may be handed over, 0 for the default.
	maxTransfers int
}

// WithMaxTransfers limits how often agents hand a run over to each other: 25 times without it, or with a number below 1. A
// run that would be handed over once more ends with an error that wraps [ErrExceedMaxTransfers]. It is for a Runner.
func WithMaxTransfers(n int) AgentRunOption {
	return WrapImplSpecificOptFn(func(o *runnerOptions) { o.maxTransfers = n })
}

// WithSessionValues puts values into the session before the run starts (see [AddSessionValue]). Of several such
// options the last one counts.
func WithSessionValues(v map[string]any) AgentRunOption {
	return WrapImplSpecificOptFn(func(o *runnerOptions) { o.sessionValues = v })
}

// WithCheckPointID has a run that stops saved under id, if the runner has a store. Any string is an ID. Of several
// such options the last one counts.
func WithCheckPointID(id string) AgentRunOption {
	return WrapImplSpecificOptFn(func(o *runnerOptions) { o.checkPointID = &id })
}

type runIDKey struct{}

// RunID returns the ID of [WithCheckPointID] of the run that ctx belongs to; of nested runs, the ID of the innermost one
// that has an ID. It is "" outside of a run, and in one without an ID.
func RunID(ctx context.Context) string {
	if ctx == nil {
		return ""
	}
	id, _ := ctx.Value(runIDKey{}).(string)
	return id
}

// WithSkipTransferMessages leaves the calls and results of transfers out of what the next agents see.
func WithSkipTransferMessages() AgentRunOption {
	return WrapImplSpecificOptFn(func(o *runnerOptions) { o.skipTransferMessages = true })
}

// WithCallbacks adds callback handlers to a run. They are called for the agents, and for models, tools and graphs inside
// them.
// Calls add up.
func WithCallbacks(handlers ...callbacks.Handler) AgentRunOption {
	return WrapImplSpecificOptFn(func(o *agentOptions) { o.handlers = append(o.handlers, handlers...) })
}

// WithAgentToolRunOptions gives options to agents that run as tools, by the name of the tool. Of several such options
// the last one counts.
func WithAgentToolRunOptions(opts map[string][]AgentRunOption) AgentRunOption {
	return WrapImplSpecificOptFn(func(o *chatModelAgentOptions) { o.agentTools = opts })
}

// chatModelAgentOptions are read by chat model agents.
type chatModelAgentOptions struct {
	model           []model.Option
	tools           []tool.Option
	afterToolCalls  func(context.Context) error
	historyModifier func(context.Context, []Message) []Message
	agentTools      map[string][]AgentRunOption
}

var noAgentOptions chatModelAgentOptions // never written to

// WithChatModelOptions passes options to the model of every call. Of several such options the last one counts.
func WithChatModelOptions(opts []model.Option) AgentRunOption {
	return WrapImplSpecificOptFn(func(o *chatModelAgentOptions) { o.model = opts })
}

// WithToolOptions passes options to every tool call. Of several such options the last one counts.
func WithToolOptions(opts []tool.Option) AgentRunOption {
	return WrapImplSpecificOptFn(func(o *chatModelAgentOptions) { o.tools = opts })
}

// WithAfterToolCallsHook has fn called after all tool calls of a message, with their results in the history, before
// the run continues. It is called in the run's goroutine; its error ends the run. Of several such options the last one
// counts.
func WithAfterToolCallsHook(fn func(ctx context.Context) error) AgentRunOption {
	return WrapImplSpecificOptFn(func(o *chatModelAgentOptions) { o.afterToolCalls = fn })
}

// WithHistoryModifier rewrites the history of a resumed run before it continues. [ChatModelAgentResumeData] does the
// same for one agent among several, and wins. Ordinary messages only.
func WithHistoryModifier(f func(context.Context, []Message) []Message) AgentRunOption {
	return WrapImplSpecificOptFn(func(o *chatModelAgentOptions) { o.historyModifier = f })
}

// agentOptions are read for each agent that an option is meant for.
type agentOptions struct {
	handlers []callbacks.Handler
}

// warnOfDesignations logs options that name agents but act on the whole run.
func (d diagnostics) warnOfDesignations(ctx context.Context, opts []AgentRunOption) {
	if d.to == nil {
		return
	}
	for i := range opts {
		_, ofRunner := opts[i].apply.(func(*runnerOptions))
		if len(opts[i].agents) > 0 && (ofRunner || opts[i].cancel != nil) {
			d.warn(ctx, "a run option names agents but acts on the whole run", "agents", opts[i].agents)
		}
	}
}
