package adk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/weftgo/weft/internal/safe"
)

// TurnLoopConfig configures a [TurnLoop] on items T and messages M. The functions are called one at a time, not by the
// caller of a method; slices that they are given are theirs to keep. Their context ends with the loop, and that of who
// plans a turn, which is the first three, when the loop is to stop at once meanwhile.
type TurnLoopConfig[T any, M MessageType] struct {
	// GenInput plans a turn from the items that wait, in the order in which they were pushed. Required.
	GenInput func(ctx context.Context, loop *TurnLoop[T, M], items []T) (*GenInputResult[T, M], error)
	// GenResume plans the turn that goes on with a saved run: from the items of that run, those that waited behind it,
	// and those that were pushed since. Required if a checkpoint with a run is found.
	GenResume func(ctx context.Context, loop *TurnLoop[T, M], interruptedItems, unhandledItems, newItems []T) (*GenResumeResult[T, M], error)
	// PrepareAgent returns the agent of the turn. Required.
	PrepareAgent func(ctx context.Context, loop *TurnLoop[T, M], consumed []T) (TypedAgent[M], error)
	// OnAgentEvents reads the events of a turn. An error ends the loop. When it returns, what still runs of the turn is
	// cancelled. The default reads to the end, and returns the first error.
	OnAgentEvents func(ctx context.Context, tc *TurnContext[T, M], events *AsyncIterator[*TypedAgentEvent[M]]) error
	// Logger is told what the turns have nobody else to tell, see [RunnerConfig], and the errors of turns that were
	// preempted. The default is nil: nothing is logged.
	Logger *slog.Logger
	// Store keeps what is left when the loop ends, under CheckpointID. T must be a type that encoding/gob can encode.
	Store        CheckPointStore
	CheckpointID string
}

// GenInputResult is the plan of a turn.
type GenInputResult[T any, M MessageType] struct {
	// RunCtx is the context of the turn, that of the loop if nil. The agent's ends with both.
	RunCtx context.Context
	// Input is what the agent is asked.
	Input   *TypedAgentInput[M]
	RunOpts []AgentRunOption
	// Consumed are the items of the turn, Remaining those that wait for the next one. Others are dropped.
	Consumed, Remaining []T
}

// TurnLoopResumeDecision says what becomes of the saved run that a loop found.
type TurnLoopResumeDecision int

const (
	// TurnLoopResumeDecisionResume resumes the saved run. It is the default.
	TurnLoopResumeDecisionResume TurnLoopResumeDecision = iota
	// TurnLoopResumeDecisionStartNewTurn gives the saved run up and starts a new turn.
	TurnLoopResumeDecisionStartNewTurn
)

// GenResumeResult plans the first turn of a loop that found a saved run.
type GenResumeResult[T any, M MessageType] struct {
	// Decision is [TurnLoopResumeDecisionResume] or [TurnLoopResumeDecisionStartNewTurn].
	Decision TurnLoopResumeDecision
	// Input is what the agent of a new turn is asked; it must be nil to resume. A new turn without Input is planned by
	// GenInput, from Remaining; if nothing remains, the loop waits.
	Input *TypedAgentInput[M]
	// RunCtx is the context of the turn, that of the loop if nil. The agent's ends with both.
	RunCtx  context.Context
	RunOpts []AgentRunOption
	// ResumeParams answer the interrupts of the saved run; nil answers none. They must be nil for a new turn.
	ResumeParams *ResumeParams
	// Consumed are the items of the turn, Remaining those that wait for the next one. Others are dropped. But if both
	// are nil for a new turn, all items wait, those of the saved run first: giving up a run never drops its items unasked.
	Consumed, Remaining []T
}

// TurnContext tells about the turn that runs.
type TurnContext[T any, M MessageType] struct {
	Loop     *TurnLoop[T, M]
	Consumed []T
	// Preempted is closed when a push, and Stopped when a stop, has cancelled the turn.
	Preempted <-chan struct{}
	Stopped   <-chan struct{}
	// StopCause returns that of the stop, after Stopped is closed.
	StopCause func() string
}

// TurnLoopExitState is what is left of a loop that has ended. Every item was consumed by a turn, dropped by
// GenInput, GenResume or a preempted turn, or is in exactly one of the lists.
type TurnLoopExitState[T any, M MessageType] struct {
	// ExitReason is why the loop ended; nil after a stop that let the last turn end.
	ExitReason error
	// UnhandledItems were not part of a turn.
	UnhandledItems []T
	// InterruptedItems are those of the turn that was interrupted. CanceledItems is the same list.
	InterruptedItems []T
	CanceledItems    []T
	// StopCause is that of [WithStopCause].
	StopCause string
	// CheckpointAttempted says that the loop was saved, and CheckpointErr what went wrong then, or when an old checkpoint
	// was deleted. Without an error every item of the lists is in the store. Checkpointed is CheckpointAttempted.
	CheckpointAttempted bool
	Checkpointed        bool
	CheckpointErr       error
	// TakeLateItems returns the items that were pushed too late. After that, pushing panics.
	TakeLateItems func() []T
}

// InterruptError ends a loop whose agent was interrupted.
type InterruptError struct {
	InterruptContexts []*InterruptCtx
}

func (e *InterruptError) Error() string {
	return fmt.Sprintf("agent interrupted: %d context(s)", len(e.InterruptContexts))
}

// GetInterruptContexts returns InterruptContexts.
func (e *InterruptError) GetInterruptContexts() []*InterruptCtx { return e.InterruptContexts }

// TurnLoop takes items that are pushed at any time, plans a turn from them, runs an agent, and so on, until it is
// stopped. Its methods may be called by any goroutine and from its callbacks, except for Wait. While it has nothing to
// do it has no goroutine.
type TurnLoop[T any, M MessageType] struct {
	cfg  TurnLoopConfig[T, M]
	ctx  context.Context
	done chan struct{}
	// life is the context of the callbacks and, unless they say otherwise, of the turns. It ends with the loop, and when
	// that is to stop at once while a turn is planned.
	life    context.Context
	endLife context.CancelCauseFunc

	mu      sync.Mutex
	started bool
	ended   bool
	// awake: the loop has its goroutine.
	awake bool
	// forget takes the watch of ctx back.
	forget func() bool
	buffer []T
	late   []T
	sealed bool
	// strategies is how many strategies of pushes look at the present turn.
	strategies int
	turn       *turn[T, M]
	stop       stopState
	// stored is the checkpoint that no turn has been started from yet.
	stored *turnDocument[T]
	// asked: the store was asked for it. loaded: it is known what the store has; before that it must not be overwritten
	// or deleted.
	asked, loaded bool
	exit          TurnLoopExitState[T, M]
}

// NewTurnLoop makes a loop. It panics without GenInput or PrepareAgent.
func NewTurnLoop[T any, M MessageType](cfg TurnLoopConfig[T, M]) *TurnLoop[T, M] {
	if cfg.GenInput == nil {
		panic("adk: NewTurnLoop: GenInput is required")
	}
	if cfg.PrepareAgent == nil {
		panic("adk: NewTurnLoop: PrepareAgent is required")
	}
	if cfg.OnAgentEvents == nil {
		cfg.OnAgentEvents = readToTheEnd[T, M]
	}
	return &TurnLoop[T, M]{cfg: cfg, done: make(chan struct{})}
}

// readToTheEnd is the default of OnAgentEvents.
func readToTheEnd[T any, M MessageType](_ context.Context, _ *TurnContext[T, M], events *AsyncIterator[*TypedAgentEvent[M]]) error {
	for e := range events.All() {
		if e.Err != nil {
			return e.Err
		}
	}
	return nil
}

// Run starts the loop, once, and returns. It ends with ctx. What a checkpoint holds comes first.
func (l *TurnLoop[T, M]) Run(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started {
		return
	}
	l.started = true
	l.ctx = orElse(ctx, context.Background())
	l.life, l.endLife = context.WithCancelCause(l.ctx)
	l.forget = context.AfterFunc(l.ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.signal()
	})
	l.signal()
}

// Wait waits for the end of the loop; before Run it waits for that, too. All callers get the same state.
func (l *TurnLoop[T, M]) Wait() *TurnLoopExitState[T, M] {
	<-l.done
	return &l.exit
}

// signal has the loop look for something to do, with the lock held.
func (l *TurnLoop[T, M]) signal() {
	if l.started && !l.ended && !l.awake {
		l.awake = true
		go l.loop()
	}
}

// loop is the goroutine of the loop, which goes when there is nothing to do.
func (l *TurnLoop[T, M]) loop() {
	end := turnEnd{last: true, reason: errLoopExit} // what a callback that ends its goroutine leaves
	defer func() {
		if v := recover(); v != nil {
			end = turnEnd{last: true, reason: safe.NewPanicError(v, debug.Stack())}
		}
		if end.last {
			defer close(l.done)
			l.finish(end)
		}
	}()
	end = l.turns()
}

var errLoopExit = errors.New("a callback ended the goroutine of the TurnLoop (runtime.Goexit)")

// turns runs turn after turn, until there is nothing to do or the loop ends.
func (l *TurnLoop[T, M]) turns() turnEnd {
	if !l.asked {
		l.asked = true
		if err := l.load(); err != nil {
			return turnEnd{last: true, reason: err}
		}
	}
	for {
		planned, end := l.next()
		if planned == nil {
			return end
		}
		if end = l.runTurn(planned); end.last {
			return end
		}
	}
}

// next returns the turn to plan. Without one the loop has ended, or has nothing to do and gives its goroutine up.
func (l *TurnLoop[T, M]) next() (t *turn[T, M], end turnEnd) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ctx.Err() != nil:
		return nil, turnEnd{last: true, reason: contextEnd(l.ctx)}
	case l.stop.requested:
		return nil, turnEnd{last: true, save: true}
	case l.strategies > 0:
		l.rest()
		return nil, turnEnd{}
	case l.stored != nil && l.stored.HasRunnerState:
		t = newTurn(l, l.buffer)
		t.resumed = l.stored
	case len(l.buffer) > 0:
		t = newTurn(l, l.buffer)
	default:
		l.rest()
		return nil, turnEnd{}
	}
	l.buffer = nil
	l.turn = t
	l.stop.stopTimer()
	return t, turnEnd{}
}

// rest makes the loop idle, with the lock held: whoever has something to do signals.
func (l *TurnLoop[T, M]) rest() {
	l.awake = false
	if l.stop.idle > 0 && l.stop.timer == nil {
		var timer *time.Timer
		timer = time.AfterFunc(l.stop.idle, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.stop.timer == timer { // not stopped too late
				l.idled()
			}
		})
		l.stop.timer = timer
	}
}

// finish ends the loop: from here on items are late.
func (l *TurnLoop[T, M]) finish(end turnEnd) {
	defer l.endLife(nil)
	l.mu.Lock()
	l.ended = true
	l.forget()
	l.stop.stopTimer()
	if t := l.turn; t != nil { // it was never begun, or its callback ended the goroutine
		if !t.begun {
			l.buffer = slices.Concat(t.items, l.buffer)
		}
		t.close()
		l.turn = nil
	}
	unhandled := l.buffer
	l.buffer = nil
	stored, skip, cause := l.stored, l.stop.skipCheckpoint, l.stop.cause
	l.mu.Unlock()

	exit := &l.exit
	exit.ExitReason, exit.StopCause = end.reason, cause
	exit.UnhandledItems = given(unhandled)
	interrupted, _ := end.interrupted.([]T)
	saved := turnDocument[T]{RunnerCheckpoint: end.checkpoint, HasRunnerState: len(end.checkpoint) > 0}
	if stored != nil { // no turn was started from it
		saved.RunnerCheckpoint, saved.HasRunnerState = stored.RunnerCheckpoint, stored.HasRunnerState
		interrupted = stored.CanceledItems
		if stored.HasRunnerState {
			exit.UnhandledItems = given(slices.Concat(stored.UnhandledItems, unhandled))
		}
		end.save = true
	}
	exit.InterruptedItems = given(interrupted)
	exit.CanceledItems = exit.InterruptedItems
	saved.UnhandledItems, saved.CanceledItems = exit.UnhandledItems, exit.InterruptedItems
	l.saveOrDelete(&saved, end.save && !skip)
	if exit.CheckpointAttempted && exit.CheckpointErr == nil {
		exit.CheckpointErr = end.saveErr
	}
	exit.Checkpointed = exit.CheckpointAttempted
	exit.TakeLateItems = l.takeLate
}

// takeLate returns the items that came too late.
func (l *TurnLoop[T, M]) takeLate() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.sealed {
		l.sealed = true
		l.late = given(l.late)
	}
	return l.late
}

// given returns a copy of items for a user, who may append to it.
func given[T any](items []T) []T { return slices.Clip(slices.Clone(items)) }
