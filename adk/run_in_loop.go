package adk

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/weftgo/weft/internal/core"
)

// WithRunInLoop ties a run to the range loop that reads it with [AsyncIterator.All]: it begins with the loop, and ends
// with it. After a break, a return or a panic in its body nothing of the run is left when the loop has ended: its context
// has been cancelled, and it was waited for.
//
// The run is executed by the goroutine of the loop, and waits while the body of the loop runs, where nothing of it needs
// a goroutine of its own: if the agent is a single chat model agent without eager tools, retries, failover and
// EmitInternalEvents, and the run has no [WithCancel]. What a tool sends with [SendEvent] is read when it returns, if it
// is the only call of its message.
//
// Read with [AsyncIterator.Next], the run is an ordinary one, which begins with the first call. The option has no effect
// without a [Runner]. A run without a reader never begins.
func WithRunInLoop() AgentRunOption {
	return WrapImplSpecificOptFn(func(o *runnerOptions) { o.inLoop = true })
}

// WithPieces has the streamed answers of a model come as events of their pieces, in a run that is executed by the loop
// which reads it (see [WithRunInLoop]): one event for each chunk, with IsPiece, and then one with the whole message,
// instead of one with a stream. It costs less. An event of a piece is valid until the next event. In other runs the
// option has no effect.
func WithPieces() AgentRunOption {
	return WrapImplSpecificOptFn(func(o *runnerOptions) { o.pieces = true })
}

// IsPiece reports whether the message of the event is a piece of one. See [WithPieces].
func (e *TypedAgentEvent[M]) IsPiece() bool { return e.origin == originPiece }

// errReaderGone is the cause of the end of a run whose reader has left its loop.
var errReaderGone = errors.New("the loop that read the run has ended")

// loopRun is a run that is tied to the loop that reads it.
type loopRun[M MessageType] struct {
	hub  *hub[M]
	task task
	// context is the context of the run.
	context loopContext
	// inline: the goroutine of the loop executes the run. Otherwise the run has one of its own.
	inline bool
	// pieces: streamed answers come in pieces.
	pieces bool
	// start is a loopStart.
	start atomic.Int32

	// The rest is of an inline run, for the goroutine of its loop alone, but for parked and wake.

	yield func(*TypedAgentEvent[M]) bool
	// body is the state of the loop's body, thrown the value that it panicked with.
	body   loopBody
	thrown any
	// piece is the event of the last piece, which speaker has written.
	piece   messageEvent[M]
	speaker *execution[M]
	// parked: that goroutine waits for tools that run beside it, and is woken by wake when there are events. wake is made
	// before parked becomes true.
	parked atomic.Bool
	wake   chan struct{}
}

// loopStart says whether a run that is tied to a loop has begun. Who moves it from open decides what it becomes.
//
//	from  to       by
//	open  taken    the first All or Next
//	open  refused  Close
type loopStart int32

const (
	startOpen loopStart = iota
	startTaken
	startRefused
)

// claim moves the run from open, and reports whether it was.
func (l *loopRun[M]) claim(to loopStart) bool {
	return l.start.CompareAndSwap(int32(startOpen), int32(to))
}

// loopBody is the state of the body of a loop. The goroutine of the loop makes the transitions.
//
//	from   to        when
//	reads  left      it breaks, returns, or ends the goroutine
//	reads  panicked  it panics: the panic continues when the run has ended
type loopBody int

const (
	bodyReads loopBody = iota
	bodyLeft
	bodyPanicked
)

// tie makes the run one that begins when it is read.
func (run *runnerRun[M]) tie() {
	a, alone := run.runner.agent.(*TypedChatModelAgent[M])
	l := &loopRun[M]{hub: &run.hub, task: run, inline: alone && run.gate.control == nil && a.agent.runsInLoop()}
	l.pieces, l.speaker = l.inline && run.root.options.pieces, &run.exec
	l.context.Context = run.exec.Context
	run.exec.Context = &l.context
	run.root.loop, run.hub.iterator.lazy = l, l
}

// runsInLoop reports whether a run of the agent needs no goroutine of its own.
func (a *chatModelAgent[M]) runsInLoop() bool {
	c := &a.conf
	return c.ModelRetryConfig == nil && c.ModelFailoverConfig == nil && !c.ToolsConfig.EagerExecution &&
		!c.ToolsConfig.EmitInternalEvents
}

// begin starts the run in a goroutine of its own, unless it has begun.
func (l *loopRun[M]) begin() {
	if l.claim(startTaken) {
		l.inline = false
		l.hub.drive(l.task)
	}
}

// refuse keeps the run from beginning.
func (l *loopRun[M]) refuse() {
	if l.claim(startRefused) {
		l.context.cancel(errReaderGone)
		l.hub.close()
	}
}

// readAll begins the run and reads it to its end. It reports false if the run has begun already.
func (l *loopRun[M]) readAll(yield func(*TypedAgentEvent[M]) bool) bool {
	if !l.claim(startTaken) {
		return false
	}
	defer l.context.cancel(nil)
	if l.inline {
		l.execute(yield)
	} else {
		l.follow(yield)
	}
	return true
}

// execute executes the run in this goroutine.
func (l *loopRun[M]) execute(yield func(*TypedAgentEvent[M]) bool) {
	l.yield = yield
	l.hub.run(l.task)
	l.deliver()
	if l.body == bodyPanicked {
		panic(l.thrown)
	}
}

// follow has the run executed by another goroutine, and reads it. However the loop ends, the run has ended before.
func (l *loopRun[M]) follow(yield func(*TypedAgentEvent[M]) bool) {
	l.hub.drive(l.task)
	defer func() {
		l.context.cancel(errReaderGone)
		for {
			e, ok := l.hub.ring.Take()
			if !ok {
				return
			}
			e.closeStreams()
		}
	}()
	for {
		e, ok := l.hub.ring.Take()
		if !ok || !yield(e) {
			return
		}
	}
}

// deliver passes the events that have arrived to the body of the loop, and reports whether the loop still has a body. It
// is called by the goroutine of the loop, which must not hold a lock. In other goroutines, while the loop waits for them,
// it does nothing.
func (l *loopRun[M]) deliver() bool {
	if l == nil || !l.inline || l.parked.Load() {
		return true
	}
	l.drain()
	return l.body == bodyReads
}

func (l *loopRun[M]) drain() {
	for {
		e, ok := l.hub.ring.TryTake()
		switch {
		case !ok:
			return
		case l.body != bodyReads:
			e.closeStreams()
		default:
			l.pass(e)
		}
	}
}

// lookAt passes on a piece of an answer.
func (l *loopRun[M]) lookAt(piece M) {
	l.drain()
	if l.body != bodyReads {
		return
	}
	l.piece = messageEvent[M]{}
	e := l.piece.of(piece, nil)
	opsOf[M]().modelVariant(&e.variant)
	e.event.origin, e.event.AgentName, e.event.RunPath = originPiece, l.speaker.name, l.speaker.path
	l.pass(&e.event)
}

// pass has the body of the loop run with an event. A panic of the body is kept for the end of the run: it is not the
// run's. A body that ends the goroutine (runtime.Goexit) ends the run, too.
func (l *loopRun[M]) pass(e *TypedAgentEvent[M]) {
	stays := false
	defer func() {
		if stays {
			return
		}
		l.body = bodyLeft
		if v := recover(); v != nil {
			l.body, l.thrown = bodyPanicked, v
		}
		l.context.cancel(errReaderGone)
	}()
	stays = l.yield(e)
}

// WaitFor implements core.Waiter: it passes on what comes from tools that run beside each other.
func (l *loopRun[M]) WaitFor(done <-chan struct{}) {
	if l.wake == nil {
		l.wake = make(chan struct{}, 1)
	}
	l.parked.Store(true)
	defer func() { // also if the body of the loop ends the goroutine
		<-done
		l.parked.Store(false)
	}()
	for {
		l.drain()
		select {
		case <-done:
			return
		case <-l.wake:
		}
	}
}

// notice wakes the goroutine of the loop, if it waits, because there is an event.
func (l *loopRun[M]) notice() {
	if l == nil || !l.parked.Load() {
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// loop is the loop that executes the run, nil if there is none. A run inside another has none: the goroutine that it has
// is its own, or one of user code.
func (r *agentRun[M]) loop() *loopRun[M] {
	if x, ok := r.out.(*execution[M]); ok && x.parent == nil && x.run.loop != nil && x.run.loop.inline {
		return x.run.loop
	}
	return nil
}

// inPieces reports whether the answers of the run are passed on in pieces.
func (r *agentRun[M]) inPieces() bool {
	l := r.loop()
	return l != nil && l.pieces && !r.agent.handlers.modelSender
}

// deliver passes the events of a run that is executed by a loop to its body. An error says that the loop has ended. It is
// for places where the run holds no lock.
func (r *agentRun[M]) deliver() error {
	if !r.loop().deliver() {
		return errReaderGone
	}
	return nil
}

// waiterOf returns the Waiter for the tools of the run that ctx belongs to, nil if the run is ordinary.
func waiterOf[M MessageType](ctx context.Context) core.Waiter {
	if l := agentRunFrom[M](ctx).loop(); l != nil {
		return l
	}
	return nil
}
