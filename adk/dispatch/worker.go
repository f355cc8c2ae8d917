package dispatch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
)

// WorkerConfig configures [TypedDispatcher.Work]. The zero value works.
type WorkerConfig struct {
	// Queues lists the queues whose runs are executed. The default is all.
	Queues []string
	// Slots limits the number of runs executed at the same time. The default is 64.
	Slots int
	// Pool has the worker share its slots with others, instead of Slots: with the workers of other tenants, each of which
	// has a dispatcher on its own part of a store and a worker of its own.
	Pool *Pool
	// Poll is the interval at which an idle worker looks for runs that are due, with a jitter of 30 percent. The default is
	// a second, at least 10 ms.
	Poll time.Duration
	// DrainTimeout limits the time, when the worker ends, in which its runs come to a place where nothing is lost. Then
	// they are stopped at once: calls in flight are abandoned. The default is 25 seconds; negative is at once.
	DrainTimeout time.Duration
	// Hurry ends the DrainTimeout early when it is closed, such as because the process has no more time. Before the worker
	// ends it does nothing. The default is nil.
	Hurry <-chan struct{}
	// SweepEvery is the interval at which expired runs and old events are removed. The default is a minute,
	// negative never.
	SweepEvery time.Duration
	// KeepEvents is the time for which the events of a run stay in the store of Config.Log after its end: see
	// [TypedDispatcher.Sweep].
	KeepEvents time.Duration
}

// withDefaults fills in what is not set.
func (c WorkerConfig) withDefaults() WorkerConfig {
	set := func(d *time.Duration, byDefault time.Duration) {
		if *d == 0 {
			*d = byDefault
		}
	}
	if c.Slots <= 0 {
		c.Slots = 64
	}
	set(&c.Poll, time.Second)
	c.Poll = max(c.Poll, 10*time.Millisecond)
	set(&c.DrainTimeout, 25*time.Second)
	set(&c.SweepEvery, time.Minute)
	return c
}

// drain is the end of a worker, which stops its runs. The zero value never begins.
//
//	from     to       when
//	working  begun    the worker ends
//	begun    hurried  WorkerConfig.Hurry is closed
type drain struct {
	begun, hurried context.Context
	begin, hurry   context.CancelFunc
	timeout        time.Duration
}

func newDrain(timeout time.Duration) *drain {
	d := &drain{timeout: timeout}
	d.begun, d.begin = context.WithCancel(context.Background())
	d.hurried, d.hurry = context.WithCancel(context.Background())
	return d
}

// onRequest has a function called in a goroutine of its own with each request that the drain has for a run, unless ignore
// is called before. A run that waits for it costs no goroutine.
func (d *drain) onRequest(do func(runs.StopRequest)) (ignore func() bool) {
	if d.begun == nil {
		return func() bool { return false }
	}
	begun := context.AfterFunc(d.begun, func() { do(d.request()) })
	hurried := context.AfterFunc(d.hurried, func() { do(d.lastRequest()) })
	return func() bool {
		first, second := begun(), hurried()
		return first && second
	}
}

// end releases what a drain holds, when nothing waits for it.
func (d *drain) end() {
	if d.begin != nil {
		d.begin()
		d.hurry()
	}
}

// request stops a run at a safe point, and at once when the time is over.
func (d *drain) request() runs.StopRequest {
	if d.timeout < 0 {
		return d.lastRequest()
	}
	return runs.StopRequest{Reason: "its worker ends", Timeout: d.timeout}
}

// lastRequest stops a run at once.
func (d *drain) lastRequest() runs.StopRequest {
	return runs.StopRequest{Reason: "its worker ends", Immediate: true}
}

// Work executes runs that are due, of agents that this process knows, until ctx ends. Then it takes nothing new, stops
// its runs at the next place where nothing is lost, and returns when all of them are settled: they are ready, and other
// workers continue. It returns an error only if it cannot begin.
//
// Errors of the store are logged, and the worker waits, up to 30 seconds, before it looks again. An idle worker asks
// the store once in WorkerConfig.Poll. Several workers may share a store, in one process or in many.
func (d *TypedDispatcher[M]) Work(ctx context.Context, conf WorkerConfig) error {
	if len(d.conf.Agents) == 0 {
		return errors.New("a worker needs agents: set Config.Agents")
	}
	w := &worker[M]{d: d, conf: conf.withDefaults()}
	w.due = runs.Due{Queues: conf.Queues, Agents: slices.Sorted(maps.Keys(d.conf.Agents))}
	w.drain = newDrain(w.conf.DrainTimeout)
	if w.conf.Pool == nil {
		w.conf.Pool = NewPool(w.conf.Slots, w.conf.Slots)
	}
	w.slots = w.conf.Pool.join()
	if waker, ok := checkpoint.As[runs.Waker](d.store); ok {
		w.wake = waker.Wake(ctx, w.due)
	}
	var services sync.WaitGroup
	services.Go(func() { w.every(ctx, w.conf.SweepEvery, w.sweep) })
	services.Go(func() { w.every(ctx, unknownAfter, w.warnOfUnknown) })
	w.take(ctx)
	w.drain.begin()
	w.wait()
	services.Wait()
	w.drain.end()
	return nil
}

// wait waits until the runs have stopped, at once if that is asked for.
func (w *worker[M]) wait() {
	stopped := make(chan struct{})
	go func() {
		w.runs.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
		return
	case <-w.conf.Hurry:
		w.drain.hurry()
	}
	<-stopped
}

// worker is one call of Work.
type worker[M adk.MessageType] struct {
	d     *TypedDispatcher[M]
	conf  WorkerConfig
	due   runs.Due
	drain *drain
	// slots has one for each run that is executed, and runs waits for them.
	slots *member
	runs  sync.WaitGroup
	// wake receives when something may be due, if the store can say so.
	wake <-chan struct{}
}

// take takes what is due until ctx ends.
func (w *worker[M]) take(ctx context.Context) {
	backoff := time.Duration(0)
	for {
		if !w.slots.take(ctx) {
			return
		}
		changed := w.d.change()
		asked := time.Now()
		taken, err := w.d.store.AcquireDue(ctx, w.d.leaseRequest(), w.due)
		if err == nil {
			backoff = 0
			lease := newTakenLease(taken, asked)
			w.observeLag(lease)
			w.runs.Go(func() {
				defer w.slots.leave()
				w.execute(context.WithoutCancel(ctx), lease)
			})
			continue
		}
		w.slots.pass()
		pause := w.conf.Poll
		if errors.Is(err, runs.ErrNothingDue) {
			backoff = 0
		} else {
			if ctx.Err() != nil {
				return
			}
			changed = nil // that does not help the store
			backoff = min(max(2*backoff, time.Second), 30*time.Second)
			pause = backoff
			w.d.warn(ctx, "the worker cannot take runs; it tries again", "after", pause, "error", err)
		}
		if !w.sleep(ctx, jittered(pause), changed) {
			return
		}
	}
}

// sleep reports whether the worker is to continue.
func (w *worker[M]) sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-w.wakes(wake):
	case <-timer.C:
	}
	return true
}

// wakes is the channel of the store, nil for a pause that nothing shortens.
func (w *worker[M]) wakes(shortened <-chan struct{}) <-chan struct{} {
	if shortened == nil {
		return nil
	}
	return w.wake
}

// jittered changes a pause by up to 30 percent, so that workers do not ask the store all at the same time.
func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.7 + 0.6*rand.Float64()))
}

func (w *worker[M]) observeLag(lease *takenLease) {
	info := lease.Info()
	since := info.WakeAt
	if info.Status == runs.Running {
		since = info.LeaseUntil
	}
	if !since.IsZero() {
		w.d.observe(ObserveLag, lease.clock.Now().Sub(since), info)
	}
}

// execute executes a stretch. A panic of the store is not the end of the other runs.
func (w *worker[M]) execute(ctx context.Context, lease *takenLease) {
	info := lease.Info()
	defer func() {
		if v := recover(); v != nil {
			w.d.warn(ctx, "a run was broken off", "run", info.ID, "error", fmt.Sprint("panic: ", v))
		}
	}()
	o, err := w.d.execute(ctx, lease, executeOptions{drain: w.drain})
	switch {
	case errors.Is(err, ErrWrongWorker):
	case err != nil:
		w.d.warn(ctx, "a run was broken off; whoever takes it continues", "run", info.ID, "agent", info.Agent, "error", err)
	case o.Status == runs.Failed:
		w.d.warn(ctx, "a run has failed", "run", info.ID, "agent", info.Agent, "error", o.Err)
	}
}

// every calls do now and then until ctx ends.
func (w *worker[M]) every(ctx context.Context, d time.Duration, do func(context.Context)) {
	for d > 0 && w.sleep(ctx, jittered(d), nil) {
		do(ctx)
	}
}

// sweep removes what is kept no longer. Several workers may do so at the same time.
func (w *worker[M]) sweep(ctx context.Context) {
	if err := w.d.Sweep(ctx, w.conf.KeepEvents); err != nil && ctx.Err() == nil {
		w.d.warn(ctx, "what is kept no longer cannot be removed", "error", err)
	}
}

// unknownAfter is the time for which a run may be due whose agent no worker knows, before a worker warns of it.
const unknownAfter = 5 * time.Minute

// warnOfUnknown names runs whose agents this worker does not know and that no worker has taken.
func (w *worker[M]) warnOfUnknown(ctx context.Context) {
	before := time.Now().Add(-unknownAfter)
	q := runs.Query{Status: []runs.Status{runs.Ready}, UpdatedBefore: before}
	warned := map[string]bool{}
	looked := 0
	for info, err := range w.d.store.List(ctx, q) {
		if err != nil {
			if ctx.Err() == nil {
				w.d.warn(ctx, "runs that nobody executes cannot be looked for", "error", err)
			}
			return
		}
		if w.d.conf.Agents[info.Agent] == nil && w.isOfQueue(info) && info.WakeAt.Before(before) && !warned[info.Agent] {
			warned[info.Agent] = true
			w.d.warn(ctx, "no worker has executed a run of an agent that this one does not know", "agent", info.Agent,
				"run", info.ID, "ready since", info.WakeAt)
		}
		if looked++; looked == mostLooked {
			return
		}
	}
}

// mostLooked is the number of runs that are looked at for agents that no worker knows.
const mostLooked = 10_000

// isOfQueue reports whether a run is in a queue that the worker looks at.
func (w *worker[M]) isOfQueue(info runs.Info) bool {
	return len(w.conf.Queues) == 0 || slices.Contains(w.conf.Queues, info.Queue)
}
