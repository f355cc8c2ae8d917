package compose

import (
	"context"
	"sync"
	"time"
)

type graphInterruptOptions struct {
	timeout *time.Duration
}

// GraphInterruptOption configures an interrupt from outside.
type GraphInterruptOption func(o *graphInterruptOptions)

// WithGraphInterruptTimeout says how long the nodes that run may continue. What is not done by then is given up and
// runs again when the run is resumed. Zero or less gives up at once. The default is to wait for as long as it takes.
func WithGraphInterruptTimeout(timeout time.Duration) GraphInterruptOption {
	return func(o *graphInterruptOptions) { o.timeout = &timeout }
}

// WithGraphInterrupt returns a context for one run of a graph and a function that interrupts that run from outside,
// nested graphs included: running nodes finish, no new ones start. The function may be called from any goroutine and
// more than once; a later call can only shorten the time that nodes have.
//
// A run with such a context keeps the original input of every running node, so that nodes which are given up run
// again with it.
func WithGraphInterrupt(parent context.Context) (ctx context.Context, interrupt func(opts ...GraphInterruptOption)) {
	if parent == nil {
		parent = context.Background()
	}
	o := &outsideInterrupt{expired: make(chan struct{})}
	return context.WithValue(parent, outsideKey{}, o), o.request
}

type outsideKey struct{}

func outsideInterruptFrom(ctx context.Context) *outsideInterrupt {
	o, _ := ctx.Value(outsideKey{}).(*outsideInterrupt)
	return o
}

// outsideInterrupt is shared by all graphs of the run, so that they all see the same signal and the same deadline.
type outsideInterrupt struct {
	mu        sync.Mutex // guards all fields below
	requested bool
	// runs counts the graphs that run. There is a timer only while there are any.
	runs     int
	deadline time.Time
	timer    *time.Timer
	// expired is closed when the nodes' time is over.
	expired chan struct{}
	over    bool
}

func (o *outsideInterrupt) request(opts ...GraphInterruptOption) {
	var conf graphInterruptOptions
	for _, opt := range opts {
		if opt != nil {
			opt(&conf)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requested = true
	if conf.timeout == nil || o.over {
		return
	}
	if *conf.timeout <= 0 {
		o.expire()
		return
	}
	deadline := time.Now().Add(*conf.timeout)
	if o.deadline.IsZero() || deadline.Before(o.deadline) {
		o.deadline = deadline
		o.setTimer()
	}
}

// begin is called when a graph of the run begins, and end when it ends.
func (o *outsideInterrupt) begin() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.runs++; o.runs == 1 {
		o.setTimer()
	}
}

func (o *outsideInterrupt) end() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.runs--; o.runs == 0 {
		o.stopTimer()
	}
}

// setTimer must be called with the lock held.
func (o *outsideInterrupt) setTimer() {
	o.stopTimer()
	if o.runs == 0 || o.deadline.IsZero() || o.over {
		return
	}
	o.timer = time.AfterFunc(time.Until(o.deadline), func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.expire()
	})
}

// stopTimer must be called with the lock held.
func (o *outsideInterrupt) stopTimer() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}

// expire must be called with the lock held.
func (o *outsideInterrupt) expire() {
	if !o.over {
		o.over = true
		close(o.expired)
	}
}

// fired reports whether an interrupt was asked for.
func (o *outsideInterrupt) fired() bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.requested
}

// awaitOutside waits for n tasks like await, but no longer than an interrupt from outside allows.
func (r *run) awaitOutside(n int) {
	for ; n > 0; n-- {
		select {
		case <-r.outside.expired: // wins over a result that comes at the same time
			r.abandon()
			return
		default:
		}
		select {
		case <-r.outside.expired:
			r.abandon()
			return
		case t := <-r.ended:
			r.running--
			r.complete(t)
		}
	}
}

// abandon gives the running nodes up. Nested graphs are waited for: they see the same deadline and come back with
// what they have saved.
func (r *run) abandon() {
	for _, t := range r.tasks {
		if t == nil || t.node == nil || t.node.sub != nil || !t.phase.CompareAndSwap(taskRunning, taskAbandoned) {
			continue
		}
		r.running--
		r.abandoned++
		r.pause.timedOut = append(r.pause.timedOut, t)
	}
	for r.running > 0 {
		t := <-r.ended
		r.running--
		r.complete(t)
	}
}
