package adk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weftgo/weft/adk/internal/eager"
	"github.com/weftgo/weft/adk/internal/runwatch"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/modelmistake"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// agentRun is one run of a chat model agent. It is a context, too, so that hooks, model and tools find it in one step.
type agentRun[M MessageType] struct {
	context.Context
	// graphCtx is the context of the graph: the run itself, or the context that BeforeAgent returned.
	graphCtx context.Context
	agent    *chatModelAgent[M]
	input    *TypedAgentInput[M]
	options  *chatModelAgentOptions
	out      sink[M]
	// view is which cancel the run has to obey, nil if there is none. A run that a hook or tool of another has started
	// can be aborted only: it emits nothing then, not even an interrupt.
	view    *cancelscope.View
	release func() // of contexts that the run has made, nil if there are none
	// lastAction is the action of the event of the last message, if that is the result of a tool.
	lastAction *AgentAction
	mu         sync.Mutex // guards over, and is held while an event is sent: one at a time, and none after the end
	// over: the run has ended. What is sent now comes from tools that outlived it.
	over bool
	// answered: the run itself has emitted a model or tool message, as opposed to events that user code sends.
	answered atomic.Bool
	// phase tracks how far the turn has got.
	phase turnProgress

	// What the run works with: the values of the agent, or those that BeforeAgent returned.
	graph          *reactGraph[M]
	instruction    string
	returnDirectly map[string]bool
	toolSearchTool *schema.ToolInfo

	messages []M
	// state is the state of the graph, in a run that starts again.
	state agentState[M]
	// turn is the turn of the model that is taken, or was last; before is the state before it, once it has begun.
	turn   modelTurn[M]
	before stateBefore[M]
	// fallback is the failover model that answered last.
	fallback *modelTarget[M]
	// speculation is the tool calls of the last answer that run already.
	speculation *eager.Speculation
	// resume holds the point that an interrupted run continues from, checkpoint the data that this run leaves when it is
	// interrupted.
	resume     *resumption[M]
	checkpoint []byte

	// durable is nil if the steps of the run are not saved, and restored is how far the run had got before its process
	// died.
	durable  *durableRun[M]
	restored *restoredAgent[M]
}

func (r *agentRun[M]) Value(key any) any {
	switch key.(type) {
	case agentRunKey:
		return r
	case cancelKey:
		if r.view != nil {
			return r.view.AbortOnly()
		}
	case scopeKey:
		return nil
	case modelmistake.CheckKey:
		return r.agent.conf.ToolsConfig.ReportMistakes
	case runwatch.ToolsKey:
		return runwatch.Tools(r)
	}
	return r.Context.Value(key)
}

func newAgentRun[M MessageType](ctx context.Context, a *chatModelAgent[M], do assignment[M]) *agentRun[M] {
	r := &agentRun[M]{agent: a, input: do.input, out: do.out, options: &noAgentOptions}
	if r.view = cancelViewFrom(ctx); r.view.IsAbortOnly() {
		ctx, r.release = detach(ctx)
	}
	r.Context = ctx
	r.graphCtx = r
	if hasImplSpecificOptions[chatModelAgentOptions](do.opts) {
		r.options = GetImplSpecificOptions(new(chatModelAgentOptions), do.opts...)
	}
	return r
}

// begin starts the run. Hooks before it run in the caller's goroutine.
func (a *chatModelAgent[M]) begin(ctx context.Context, do assignment[M]) task {
	r := newAgentRun(ctx, a, do)
	if do.resume != nil {
		r.resumeFrom(do.resume)
	}
	err := r.findJournal()
	if err == nil && len(a.handlers.beforeAgent) > 0 {
		err = r.setUpGuarded()
	}
	if err != nil {
		defer r.end()
		r.sendLast(r.lastEvent(err))
		return done{}
	}
	return r
}

// execute does the run. Whatever happens the last event is out at its end.
func (r *agentRun[M]) execute() {
	defer r.end()
	err := r.react()
	if err != nil && !(r.view.IsAbortOnly() && r.view.Now()) {
		r.sendLast(r.lastEvent(err))
	}
	r.recordEnd()
}

func (r *agentRun[M]) end() {
	r.speculation.Close()
	if r.release != nil {
		r.release()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}

// atEnd has f called when the run is over.
func (r *agentRun[M]) atEnd(f func()) {
	before := r.release
	r.release = func() {
		f()
		if before != nil {
			before()
		}
	}
}

// guard is to be deferred by what runs user code. It turns a panic into the error, and emits an error when user code
// ended the goroutine: then finished has not become true, and the caller will not continue.
func (r *agentRun[M]) guard(finished *bool, err *error) {
	if v := recover(); v != nil {
		*err = safe.NewPanicError(v, debug.Stack())
	} else if !*finished {
		r.sendLast(r.lastEvent(r.failed(errGoexit)))
	}
}

// errGoexit is the error of a run that will not end otherwise.
var errGoexit = errors.New("the goroutine of the run was ended by runtime.Goexit in user code")

// setUpGuarded is setUp before the run has begun.
func (r *agentRun[M]) setUpGuarded() (err error) {
	finished := false
	defer r.guard(&finished, &err)
	err = r.setUp()
	finished = true
	return err
}

// setUp finds out what the run works with.
func (r *agentRun[M]) setUp() error {
	p, err := r.agent.plan(r)
	if err != nil {
		return fmt.Errorf("ChatModelAgent getRunFunc error: %w", r.failed(err))
	}
	r.graph, r.instruction, r.returnDirectly = p.graph, p.instruction, p.returnDirectly
	if len(r.agent.handlers.beforeAgent)+len(r.agent.handlers.wrapTool) == 0 {
		return nil
	}
	if err := r.applyHandlers(p); err != nil {
		return fmt.Errorf("ChatModelAgent getRunFunc error: %w", r.failed(err))
	}
	return nil
}

// failed says whose run failed.
func (r *agentRun[M]) failed(err error) error {
	return fmt.Errorf("agent '%s': %w", r.agent.conf.Name, err)
}

// applyHandlers lets BeforeAgent change what the run works with. What it returns decides, also where it is empty.
func (r *agentRun[M]) applyHandlers(p *agentPlan[M]) error {
	var ctx context.Context = r
	if r.view != nil {
		call := new(cancelscope.Call)
		call.Open(r, r.view, callPolicy)
		defer call.Keep() // what BeforeAgent returns is the context of the whole run: a cancel must not end it later
		r.atEnd(call.Release)
		ctx = call
	}
	ctx, rc, err := r.agent.handlers.runBeforeAgent(ctx, &ChatModelAgentContext{
		Instruction:    p.instruction,
		Tools:          slices.Clone(p.tools),
		ReturnDirectly: maps.Clone(p.returnDirectly),
	})
	if err != nil {
		return err
	}
	tools := slices.Clone(rc.Tools)
	for _, h := range slices.Backward(r.agent.handlers.wrapTool) {
		for i := range tools {
			if tools[i], err = h.doWrapTool(ctx, tools[i]); err != nil {
				return err
			}
		}
	}
	r.graphCtx, r.instruction, r.toolSearchTool = ctx, rc.Instruction, rc.ToolSearchTool
	r.returnDirectly = maps.Clone(rc.ReturnDirectly)
	r.graph, err = p.graphFor(ctx, tools)
	return err
}

// react runs the graph from the input to the final message. The values in it are whole messages; what streams are the
// events of models and tools.
func (r *agentRun[M]) react() (err error) {
	finished := false
	defer r.guard(&finished, &err)
	if err = r.ready(); err == nil {
		var final M
		final, err = r.graph.Invoke(r.graphCtx, slices.Clip(r.messages), r.graphOptions()...)
		err = r.concluded(final, err)
	}
	finished = true
	return err
}

// concluded says whose run failed, or keeps what it came to.
func (r *agentRun[M]) concluded(final M, err error) error {
	if err != nil {
		return r.failedBy(err)
	}
	if key := r.agent.conf.OutputKey; key != "" {
		AddSessionValue(r.graphCtx, key, opsOf[M]().text(final))
	}
	if (r.resume != nil || r.restored != nil) && !r.answered.Load() { // the run had its last message in an earlier process
		r.replay(final, r.lastAction, originReplayedHistory)
	}
	return nil
}

// ready does what comes before the graph.
func (r *agentRun[M]) ready() error {
	if r.graph == nil {
		if err := r.setUp(); err != nil {
			return err
		}
	}
	r.warnOfToolNames()
	if r.restored != nil {
		r.replaySteps()
		return nil
	}
	return r.prepare()
}

// prepare makes what the graph starts from.
func (r *agentRun[M]) prepare() (err error) {
	if r.resume != nil {
		return r.resume.check(r)
	}
	if r.input == nil {
		return r.failed(errors.New("the agent input is nil"))
	}
	if r.messages, err = r.genModelInput(); err != nil {
		return r.failed(err)
	}
	return nil
}

func (r *agentRun[M]) genModelInput() (messages []M, err error) {
	defer blame("GenModelInput", &err)
	return r.agent.conf.GenModelInput(r.graphCtx, r.instruction, r.input)
}

// graphOptions returns the options of the graph in this run.
func (r *agentRun[M]) graphOptions() (opts []compose.Option) {
	if len(r.options.tools) > 0 {
		opts = append(opts, compose.WithToolsNodeOption(compose.WithToolOption(r.options.tools...)))
	}
	if r.resume != nil {
		opts = append(opts, r.resume.options()...)
	}
	return opts
}

// lastEvent is the event of a run that did not reach its final message.
func (r *agentRun[M]) lastEvent(err error) *TypedAgentEvent[M] {
	if info, interrupted := compose.ExtractInterruptInfo(err); interrupted {
		r.hidePartial()
		return r.interruptEvent(info, err)
	}
	if r.view.Now() { // whatever went wrong, it did because the run is to stop
		r.hidePartial()
		return r.stoppedEvent()
	}
	if cause := context.Cause(r.Context); cause != nil && !errors.Is(err, cause) { // what failed did not say why
		err = fmt.Errorf("%w: %w", cause, err)
	}
	if ended := r.Context.Err(); ended != nil && !errors.Is(err, ended) { // the cause is one of the caller's own
		err = fmt.Errorf("%w: %w", ended, err)
	}
	return &TypedAgentEvent[M]{Err: err}
}

// returnsDirectly reports whether the result of a tool, by its name or an alias, ends the run.
func (r *agentRun[M]) returnsDirectly(name string) bool {
	if own, ok := r.graph.canonical[name]; ok {
		name = own
	}
	return r.returnDirectly[name]
}

// adopt hands the tools that an accepted answer has started to the run.
func (r *agentRun[M]) adopt(s *eager.Speculation) {
	r.speculation.Close()
	r.speculation = s
}

// stopped reports whether the run is to stop at once.
func (r *agentRun[M]) stopped() bool { return r.view.Now() }

// ChatModelAgentInterruptInfo is the Data of the interrupt of a chat model agent.
type ChatModelAgentInterruptInfo struct {
	// Info tells where in the agent's graph the run stopped.
	Info *compose.InterruptInfo
	// Data is the saved run.
	Data []byte
}

// ChatModelAgentResumeData holds data for a chat model agent that is resumed.
type ChatModelAgentResumeData struct {
	// HistoryModifier rewrites the history before the run continues. Ordinary messages only.
	HistoryModifier func(ctx context.Context, history []Message) []Message
}

func init() {
	schema.RegisterName[*ChatModelAgentInterruptInfo]("_eino_adk_chat_model_agent_interrupt_info")
	schema.RegisterName[*notBegun[*schema.Message]]("_weft_adk_not_begun")
	schema.RegisterName[*notBegun[*schema.AgenticMessage]]("_weft_adk_agentic_not_begun")
}

// runStore keeps the checkpoint of a graph in the run that it belongs to.
type runStore[M MessageType] struct{}

func (runStore[M]) Get(ctx context.Context, _ string) ([]byte, bool, error) {
	r := agentRunFrom[M](ctx)
	if r == nil || r.resume == nil {
		return nil, false, nil
	}
	return r.resume.saved, true, nil
}

func (runStore[M]) Set(ctx context.Context, _ string, checkPoint []byte) error {
	r, err := runOf[M](ctx, "saving a run")
	if err == nil {
		r.checkpoint = checkPoint
	}
	return err
}

// interruptEvent is the last event of a run that was interrupted.
func (r *agentRun[M]) interruptEvent(info *compose.InterruptInfo, cause error) *TypedAgentEvent[M] {
	name := r.agent.conf.Name
	if r.checkpoint == nil {
		return &TypedAgentEvent[M]{Err: fmt.Errorf("agent '%s': interrupt occurred but checkpoint data is missing: %w", name, cause)}
	}
	inner, _ := core.SignalFrom(r, cause)
	var subs []*InterruptSignal
	switch {
	case inner == nil:
	case inner.ID == "":
		subs = inner.Subs
	default:
		subs = []*InterruptSignal{inner}
	}
	r.recordStop(true)
	e := TypedCompositeInterrupt[M](r.Context, info, r.checkpoint, subs...)
	e.AgentName = name
	if e.Action != nil && e.Action.Interrupted != nil {
		e.Action.Interrupted.Data = &ChatModelAgentInterruptInfo{Info: info, Data: r.checkpoint}
	}
	return e
}

// notBegun is the state of a run that was stopped before its graph had one. It is begun again.
type notBegun[M MessageType] struct{ Messages []M }

// stoppedEvent is the last event of a run that was stopped outside its graph. It can be begun again, or continue from
// what it was resumed with.
func (r *agentRun[M]) stoppedEvent() *TypedAgentEvent[M] {
	var state any
	var inside []*InterruptSignal
	switch {
	case r.resume != nil:
		state, inside = r.resume.info.InterruptState, withoutStates(core.InterruptedBelow(r.Context, infoStopped))
	case r.input != nil:
		state = &notBegun[M]{Messages: r.input.Messages}
	}
	r.recordStop(false)
	e := TypedCompositeInterrupt[M](r.Context, infoStopped, state, inside...)
	e.AgentName = r.agent.conf.Name
	return e
}

// withoutStates is for points inside a graph whose checkpoint has their states. They must not be anywhere else: an agent
// that continues from its journal instead, behind that checkpoint, must not find them.
func withoutStates(signals []*InterruptSignal) []*InterruptSignal {
	for _, s := range signals {
		s.InterruptState = core.InterruptState{}
		withoutStates(s.Subs)
	}
	return signals
}

// warnOfLeftBehind logs a call that a cancel did not wait for. details say which.
func (r *agentRun[M]) warnOfLeftBehind(ctx context.Context, details ...any) {
	diagnosticsFrom[M](ctx).warn(ctx, "a call was given up by a cancel and may still be running",
		append([]any{"agent", r.agent.conf.Name}, details...)...)
}
