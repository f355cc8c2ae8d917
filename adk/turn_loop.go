package adk

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/internal/turnqueue"
)

// TurnLoopConfig configures a [TurnLoop] on items T and messages M. The loop calls one callback at a time, in a
// goroutine of its own; slices that a callback is given are the callback's to keep. All callbacks' contexts end with
// the loop. An immediate stop also cancels GenInput, GenResume and PrepareAgent.
type TurnLoopConfig[T any, M MessageType] struct {
	// GenInput plans a turn from the items that wait, in the order in which they were pushed. Required.
	GenInput func(ctx context.Context, loop *TurnLoop[T, M], items []T) (*GenInputResult[T, M], error)
	// GenResume plans the first turn of a loop that finds a saved run: from the items of that run, those that waited
	// behind it, and those that were pushed since. Required if a checkpoint with a run is found. If it fails, the loop
	// ends and the checkpoint stays as it is.
	GenResume func(
		ctx context.Context, loop *TurnLoop[T, M], interruptedItems, unhandledItems, newItems []T,
	) (*GenResumeResult[T, M], error)
	// PrepareAgent returns the agent of the turn. Required.
	PrepareAgent func(ctx context.Context, loop *TurnLoop[T, M], consumed []T) (TypedAgent[M], error)
	// OnAgentEvents reads the events of a turn. An error ends the loop. When it returns, what still runs of the turn is
	// cancelled. The default reads to the end, and returns the first error.
	OnAgentEvents func(ctx context.Context, tc *TurnContext[T, M], events *AsyncIterator[*TypedAgentEvent[M]]) error
	// Logger gets the warnings of the runs, see [RunnerConfig], and the errors of turns that were preempted. The
	// default is nil: nothing is logged.
	Logger *slog.Logger
	// Store keeps what is left when the loop ends, under CheckpointID. T must be a type that encoding/gob can encode.
	Store        CheckPointStore
	CheckpointID string
}

// TurnContext describes the turn that runs.
type TurnContext[T any, M MessageType] struct {
	Loop     *TurnLoop[T, M]
	Consumed []T
	// Preempted is closed when a push has cancelled the turn, Stopped when a stop has.
	Preempted <-chan struct{}
	Stopped   <-chan struct{}
	// StopCause returns the cause of the stop, once Stopped is closed.
	StopCause func() string
}

// TurnLoop runs an agent on items that are pushed at any time: it plans a turn from those that wait, runs the turn's
// agent, and so on, until it is stopped. Its methods may be called by any goroutine and from its callbacks, except for
// Wait. While it has nothing to do it has no goroutine.
type TurnLoop[T any, M MessageType] struct {
	cfg  TurnLoopConfig[T, M]
	done chan struct{}

	// mu guards the fields up to stop, and the fields of the present turn that say so. It is locked before the locks of
	// cancel controls. No callback is called with it held.
	mu sync.Mutex
	// queue is the life cycle of the loop: its phase, the items, preempts on their way.
	queue *turnqueue.Queue[T]
	// turn is the latest turn; whether it is over is known to the queue.
	turn *turn[T, M]
	stop stopOrders

	// Run sets the following, which do not change later. life is the context of the callbacks and, unless they choose
	// another one, of the turns. It ends with the loop, and when a stop at once comes while a turn is planned. unwatch
	// ends the watch over ctx.
	ctx     context.Context
	life    context.Context
	endLife context.CancelCauseFunc
	unwatch func() bool

	// The goroutine of the loop has the following to itself. saved is the checkpoint that no turn was started from yet.
	saved *turnDocument[T]
	store storeState
	exit  TurnLoopExitState[T, M]
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
	l := &TurnLoop[T, M]{cfg: cfg, done: make(chan struct{})}
	l.queue = turnqueue.New[T](&l.mu, func() { go l.work() })
	return l
}

// readToTheEnd is the default of OnAgentEvents.
func readToTheEnd[T any, M MessageType](
	_ context.Context, _ *TurnContext[T, M], events *AsyncIterator[*TypedAgentEvent[M]],
) error {
	for e := range events.All() {
		if e.Err != nil {
			return e.Err
		}
	}
	return nil
}

// Run starts the loop and returns. The loop ends with ctx. What a checkpoint holds comes before items that were pushed.
// Calling it again does nothing.
func (l *TurnLoop[T, M]) Run(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx != nil {
		return
	}
	l.ctx = orElse(ctx, context.Background())
	l.life, l.endLife = context.WithCancelCause(l.ctx)
	l.unwatch = context.AfterFunc(l.ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.queue.Wake()
	})
	l.queue.Start()
}

// Wait waits for the end of the loop; before Run it waits for that, too. All callers get the same state.
func (l *TurnLoop[T, M]) Wait() *TurnLoopExitState[T, M] {
	<-l.done
	return &l.exit
}

// work is the goroutine of the loop, which ends when there is nothing to do.
func (l *TurnLoop[T, M]) work() {
	end := &turnEnd[T]{reason: errLoopExit} // what a callback that ends its goroutine leaves
	defer func() {
		if v := recover(); v != nil {
			end = &turnEnd[T]{reason: safe.NewPanicError(v, debug.Stack())}
		}
		if end != nil {
			defer close(l.done)
			l.finish(end)
		}
	}()
	end = l.runTurns()
}

var errLoopExit = errors.New("a callback ended the goroutine of the TurnLoop (runtime.Goexit)")

// runTurns runs turn after turn. It returns how the loop ends, or nil when there is nothing to do at present.
func (l *TurnLoop[T, M]) runTurns() *turnEnd[T] {
	if err := l.load(); err != nil {
		return &turnEnd[T]{reason: err}
	}
	for {
		t, end := l.next()
		if t == nil {
			return end
		}
		if end := l.runTurn(t); end != nil {
			return end
		}
	}
}

// next returns the turn to plan. Without one the loop ends, or is idle and both are nil.
func (l *TurnLoop[T, M]) next() (*turn[T, M], *turnEnd[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return nil, &turnEnd[T]{reason: contextEnd(l.ctx)}
	}
	if l.queue.Phase() == turnqueue.Closing {
		return nil, &turnEnd[T]{save: true}
	}
	saved := l.saved
	if saved != nil && !saved.HasRunnerState {
		saved = nil
	}
	items, ok := l.queue.Next(saved != nil)
	if !ok {
		return nil, nil
	}
	l.turn = newTurn(l, items, saved)
	return l.turn, nil
}

// presentTurn returns the turn that is planned or runs, nil if there is none. mu is held.
func (l *TurnLoop[T, M]) presentTurn() *turn[T, M] {
	if l.queue.Phase().HasTurn() {
		return l.turn
	}
	return nil
}
