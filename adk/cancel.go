package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// CancelMode says where a run is to stop. Modes add up: the safe point that comes first counts.
type CancelMode int

const (
	// CancelImmediate stops at once: calls of models and tools in flight are given up, and run again when the run is
	// resumed. What they return if they ignore their context is discarded.
	CancelImmediate CancelMode = 0
	// CancelAfterChatModel stops after an answer with tool calls, before the tools run.
	CancelAfterChatModel CancelMode = 1 << 1
	// CancelAfterToolCalls stops after all tool calls of an answer.
	CancelAfterToolCalls CancelMode = 1 << 2
)

// String names the mode in words.
func (m CancelMode) String() string {
	switch m {
	case CancelImmediate:
		return "immediate"
	case CancelAfterChatModel:
		return "after the answer of the model"
	case CancelAfterToolCalls:
		return "after the tool calls"
	case CancelAfterChatModel | CancelAfterToolCalls:
		return "after the answer of the model or the tool calls"
	}
	return fmt.Sprintf("CancelMode(%d)", int(m))
}

// What came of a cancel, see [CancelHandle.Wait].
var (
	// ErrCancelTimeout says that no safe point came in time, and the run was stopped at once.
	ErrCancelTimeout = errors.New("cancel timed out")
	// ErrExecutionEnded says that the run had ended, or was interrupted, before the cancel took effect.
	ErrExecutionEnded = errors.New("execution already ended")
	// ErrExecutionCompleted is [ErrExecutionEnded] under its earlier name.
	ErrExecutionCompleted = ErrExecutionEnded
)

// AgentCancelInfo tells how a run was cancelled.
type AgentCancelInfo struct {
	// Mode is the safe point at which it was to stop.
	Mode CancelMode
	// Escalated is true if it was to stop at a safe point and then had to stop at once: because of a later cancel, or of
	// the Timeout.
	Escalated bool
	Timeout   bool
}

// CancelError is the last event of a run that was cancelled.
type CancelError struct {
	Info *AgentCancelInfo
	// InterruptContexts are the places where the run stopped. Their IDs can be targets of a resume.
	InterruptContexts []*InterruptCtx
	// CheckPointID is the ID under which the run was saved, "" if it was not.
	CheckPointID string
}

func (e *CancelError) Error() string {
	var info AgentCancelInfo
	if e.Info != nil {
		info = *e.Info
	}
	return fmt.Sprintf("agent canceled: mode=%d, escalated=%v (%v)", int(info.Mode), info.Escalated, info.Mode)
}

// GetInterruptContexts returns InterruptContexts.
func (e *CancelError) GetInterruptContexts() []*InterruptCtx { return e.InterruptContexts }

func init() {
	schema.RegisterName[*CancelError]("_eino_adk_cancel_error")
	schema.RegisterName[*AgentCancelInfo]("_eino_adk_agent_cancel_info")
}

// agentCancelConfig holds the settings that the options of a cancel change.
type agentCancelConfig struct{ request cancelscope.Request }

// AgentCancelOption is an option of an [AgentCancelFunc].
type AgentCancelOption func(*agentCancelConfig)

// WithAgentCancelMode says where the run is to stop. The default is [CancelImmediate].
func WithAgentCancelMode(mode CancelMode) AgentCancelOption {
	return func(c *agentCancelConfig) { c.request.Mode = cancelscope.Mode(mode) }
}

// WithAgentCancelTimeout has the run stop at once if no safe point comes in time. The default is to wait for one.
func WithAgentCancelTimeout(timeout time.Duration) AgentCancelOption {
	return func(c *agentCancelConfig) { c.request.Timeout = timeout }
}

// WithRecursive has the agents inside the cancelled one stop, too, wherever they are: agents that run as tools, agents
// that the run was handed over to, agents in workflows. Without it only the outermost agent stops, and those inside
// know nothing of it.
func WithRecursive() AgentCancelOption {
	return func(c *agentCancelConfig) { c.request.Recursive = true }
}

// AgentCancelFunc stops the run that it was made for. It returns at once. Called again it adds to what was asked for;
// an immediate cancel absorbs all others. The result is false if the run had ended, or its cancel was handled, already.
// It may be called at any time, before the run too, by any goroutine.
type AgentCancelFunc func(...AgentCancelOption) (*CancelHandle, bool)

// CancelHandle waits for a cancel to take effect, and says how it ended.
type CancelHandle struct{ control *cancelscope.Control }

// Wait waits until the run has stopped or ended, whether or not its events are read. It returns nil if the run was
// cancelled, [ErrCancelTimeout] if it had to be stopped at once because no safe point came, and [ErrExecutionEnded] if
// it ended by itself. It is safe for concurrent use.
func (h *CancelHandle) Wait() error {
	<-h.control.Done()
	info, _, outcome := h.control.State()
	switch {
	case outcome != cancelscope.Stopped:
		return ErrExecutionEnded
	case info.TimedOut:
		return ErrCancelTimeout
	}
	return nil
}

// WithCancel returns an option for one run, and the function that cancels that run.
func WithCancel() (AgentRunOption, AgentCancelFunc) {
	control := new(cancelscope.Control)
	return AgentRunOption{cancel: control}, func(opts ...AgentCancelOption) (*CancelHandle, bool) {
		return &CancelHandle{control}, control.Ask(requestOf(opts))
	}
}

// requestOf returns the request that the options of a cancel make.
func requestOf(opts []AgentCancelOption) cancelscope.Request {
	var conf agentCancelConfig
	for _, opt := range opts {
		if opt != nil {
			opt(&conf)
		}
	}
	return conf.request
}

// cancelGate stands between the outermost agent of a run and the reader: it turns the interrupt of a cancelled run into
// its [CancelError], and fixes what came of the cancel. A gate without a control does nothing.
type cancelGate[M MessageType] struct {
	control *cancelscope.Control
	// saver, if not nil, stores the run.
	saver runSaver
	// outcome, if not nil, gets the error.
	outcome *runOutcome
}

// runSaver stores a run and returns under which ID, "" if there is no store.
type runSaver interface {
	save(signal *InterruptSignal, as runs.Status) (id string, err error)
}

// open finds the cancel among the options of a run, and returns the options for the agents in it.
func (g *cancelGate[M]) open(opts []AgentRunOption) ([]AgentRunOption, error) {
	isCancel := func(o AgentRunOption) bool { return o.cancel != nil }
	if !slices.ContainsFunc(opts, isCancel) {
		return opts, nil
	}
	for i := range opts { // the last one counts, as of other options; a run never obeys two
		control := opts[i].cancel
		if control == nil || control == g.control {
			continue
		}
		if !control.Use() {
			g.end()
			return opts, errCancelReused
		}
		g.end()
		g.control = control
	}
	if len(opts) == 1 {
		return nil, nil
	}
	return slices.DeleteFunc(slices.Clone(opts), isCancel), nil
}

// endCancels fixes what came of the cancels of a run that could not begin.
func endCancels(opts []AgentRunOption) {
	for i := range opts {
		if c := opts[i].cancel; c != nil && c.Use() {
			c.Settle()
		}
	}
}

// view is the cancel that the outermost agent obeys.
func (g *cancelGate[M]) view() *cancelscope.View {
	if g.control == nil {
		return nil
	}
	return g.control.Root()
}

// stopped takes the interrupt of a run and reports whether it was cancelled. The last events go to out then.
func (g *cancelGate[M]) stopped(signal *InterruptSignal, out sink[M]) bool {
	if g.control == nil {
		return false
	}
	info, stopped := g.control.Decide()
	if !stopped {
		g.control.Settle()
		return false
	}
	cancelled := cancelError(info)
	cancelled.InterruptContexts = interruptContexts(signal)
	if g.saver != nil {
		id, err := g.saver.save(signal, runs.Paused)
		if err != nil {
			out.send(&TypedAgentEvent[M]{Err: fmt.Errorf("failed to save checkpoint on cancel: %w", err)})
			if g.outcome != nil {
				g.outcome.saveErr = err
			}
		}
		cancelled.CheckPointID = id
	}
	if o := g.outcome; o != nil {
		if cancelled.CheckPointID != "" {
			cancelled.CheckPointID = o.shownID()
		}
		o.cancelled = cancelled
	}
	out.send(&TypedAgentEvent[M]{Err: cancelled})
	g.control.Settle()
	return true
}

// end fixes that the run ended by itself, if nothing is fixed yet.
func (g *cancelGate[M]) end() {
	if g.control != nil {
		g.control.Settle()
	}
}

// signalOf returns the tree behind an interrupt event, nil if it was not made by the functions for that.
func signalOf[M MessageType](e *TypedAgentEvent[M]) *InterruptSignal {
	if e.Action.signal != nil {
		return e.Action.signal
	}
	return FromInterruptContexts(e.Action.Interrupted.InterruptContexts)
}

// directRun is a run without a runner that can be cancelled.
type directRun[M MessageType] struct {
	hub  *hub[M]
	gate cancelGate[M]
	task task
	end  runEnd
}

func (d *directRun[M]) execute() {
	defer d.gate.end()
	d.task.execute()
}

func (d *directRun[M]) send(e *TypedAgentEvent[M]) {
	if d.end == runCancelled {
		e.closeStreams()
		return
	}
	if e.Action != nil && e.Action.Interrupted != nil && d.gate.stopped(signalOf(e), d.hub) {
		d.end.become(runCancelled)
		return
	}
	d.hub.send(e)
}

var errCancelReused = errors.New("the option of WithCancel is for one run: make another for this one")

// cancelError describes the requests.
func cancelError(info cancelscope.Info) *CancelError {
	return &CancelError{Info: &AgentCancelInfo{Mode: CancelMode(info.Mode), Escalated: info.Escalated, Timeout: info.TimedOut}}
}

// cancelKey asks a context which cancel the code in it has to obey.
type cancelKey struct{}

func cancelViewFrom(ctx context.Context) *cancelscope.View {
	if ctx == nil {
		return nil
	}
	view, _ := ctx.Value(cancelKey{}).(*cancelscope.View)
	return view
}

// What the interrupts of a cancel say.
const (
	infoStopped        = "CancelImmediate"
	infoAfterChatModel = "CancelAfterChatModel"
	infoAfterToolCalls = "CancelAfterToolCalls"
)

// CancelRequested tells an agent that is not of this package whether its run is to stop. done is closed when it is to
// stop at once; mode returns the point to stop at, and may be called at any time: it returns false if no stop was
// requested. A run that cannot be cancelled has a nil channel. Such an agent stops with [Interrupt].
func CancelRequested(ctx context.Context) (done <-chan struct{}, mode func() (CancelMode, bool)) {
	view := cancelViewFrom(ctx)
	if view == nil {
		return nil, func() (CancelMode, bool) { return 0, false }
	}
	now := make(chan struct{})
	view.OnNow(cancelscope.StopFunc(func() { close(now) }))
	return now, func() (CancelMode, bool) {
		info, _, _ := view.Control().State()
		return CancelMode(info.Mode), view.Requested()
	}
}
