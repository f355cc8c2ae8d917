package adk

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/weftgo/weft/adk/internal/runwatch"
	"github.com/weftgo/weft/internal/eventring"
)

// A sink takes the events of a run on their way to the reader. Layers around agents are sinks that pass events on.
type sink[M MessageType] interface {
	send(e *TypedAgentEvent[M])
}

// A task is a run that has begun. execute does the rest of it in the caller's goroutine, and returns when the last
// event is out.
type task interface {
	execute()
}

// assignment is the task of an agent: to answer the input, or to continue an interrupted run.
type assignment[M MessageType] struct {
	input  *TypedAgentInput[M]
	resume *ResumeInfo
	out    sink[M]
	opts   []AgentRunOption
}

// A starter is an agent that runs in the goroutine of its caller. All agents of this package do, so that a run
// has one goroutine however deeply its agents are nested.
type starter[M MessageType] interface {
	begin(ctx context.Context, do assignment[M]) task
}

// hub is the place where the events of a run leave the runtime.
type hub[M MessageType] struct {
	ring     eventring.Ring[*TypedAgentEvent[M]]
	iterator AsyncIterator[*TypedAgentEvent[M]]
	// watch sees the run, nil for most.
	watch runwatch.Run
	// unread: see runwatch.Options.
	unread bool
}

// open returns the reader's end.
func (h *hub[M]) open() *AsyncIterator[*TypedAgentEvent[M]] {
	h.iterator.ring = &h.ring
	return &h.iterator
}

// send delivers an event, or drops it when the run is over or the reader is gone.
func (h *hub[M]) send(e *TypedAgentEvent[M]) {
	if h.watch != nil {
		h.watch.Event(e)
	}
	if h.unread {
		e.closeReadByRun()
	}
	if !h.ring.Put(e) {
		e.closeStreams()
	} else if h.iterator.lazy != nil {
		h.iterator.lazy.notice()
	}
}

// drive runs a task to its end, in a goroutine of its own. The iterator ends with it, even if user code ends the
// goroutine.
func (h *hub[M]) drive(t task) {
	go func() {
		reserveStack()
		h.run(t)
	}()
}

func (h *hub[M]) run(t task) {
	defer h.close()
	t.execute()
}

// close says that nothing more comes.
func (h *hub[M]) close() {
	if h.watch != nil {
		h.watch.End()
	}
	h.ring.Close()
}

// launch begins what do describes and runs it in a goroutine of its own. It is for agents that run without a runner.
func launch[M MessageType](ctx context.Context, s starter[M], do assignment[M]) *AsyncIterator[*TypedAgentEvent[M]] {
	h := new(hub[M])
	if ctx == nil {
		endCancels(do.opts)
		return h.refuse(errNilContext)
	}
	do.out = h
	d := directRun[M]{hub: h}
	opts, err := d.gate.open(do.opts)
	if err != nil {
		return h.refuse(err)
	}
	if d.gate.control == nil {
		t := s.begin(ctx, do)
		h.drive(t)
		return h.open()
	}
	run := &d
	do.opts, do.out = opts, run
	begun := false
	defer func() {
		if !begun { // user code has ended the caller's goroutine
			run.gate.end()
			h.ring.Close()
		}
	}()
	run.task = s.begin(context.WithValue(ctx, cancelKey{}, run.gate.view()), do)
	begun = true
	h.drive(run)
	return h.open()
}

var errNilContext = errors.New("the context is nil: pass context.Background() if there is none")

// refuse ends a run that could not even begin.
func (h *hub[M]) refuse(err error) *AsyncIterator[*TypedAgentEvent[M]] {
	h.send(&TypedAgentEvent[M]{Err: err})
	h.close()
	return h.open()
}

// done is a task that is over.
type done struct{}

func (done) execute() {}

// reserveStack makes the goroutine's stack as large as a run needs down to its model, while there is hardly anything
// on it. Growing it later would mean to adjust every frame in between, which took a third of the time of a short run.
//
//go:noinline
func reserveStack() byte {
	var room [4400]byte
	i := int(stackProbe.Load()) // keeps the compiler from leaving it out
	room[i%len(room)]++
	return room[(i+1)%len(room)]
}

var stackProbe atomic.Int32
