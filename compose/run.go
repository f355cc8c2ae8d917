package compose

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
)

// invocation holds what a run of a plan is given.
type invocation struct {
	input       any    // of a run of values
	inputStream stream // of a run of streams
	streaming   bool
	given       []Option
	// nested: the run is a node of another one. saved is then the checkpoint that that one kept for it.
	nested bool
	saved  *checkpoint
	// inside: the run is called by code of another run, such as a tool. whole is its input if inputStream has that alone.
	inside bool
	whole  any
	// path and modify are for the state modifier: the node keys down to the nested graph.
	path   []string
	modify StateModifier
}

// run is one run of a plan, in memory that later runs use again. Its loop is the scheduler: it alone decides what runs
// next, so nothing in it is locked.
type run struct {
	arena
	invocation
	progress
}

// progress holds what a run knows of itself.
type progress struct {
	// ctx is the graph's context: the parent of everything that runs in it.
	ctx      *runContext
	frame    *core.Frame
	scope    *stateScope
	opts     routedOptions
	steps    int
	maxSteps int

	// contexts is room for the contexts of the nodes that run next.
	contexts []runContext
	// siblings is the parent of nodes that run at the same time, made when they first do.
	siblings *siblingContext
	// received is the number of predecessors that delivered for the node that was gathered last.
	received int

	outside *outsideInterrupt
	pause   pause
	// resumed is the checkpoint that the run starts from, until its tasks are made.
	resumed *checkpoint
	// fromCheckpoint: the run started from one.
	fromCheckpoint bool

	// How the run ended: with a value or a stream, or an error.
	value  any
	stream stream
	err    error
}

var errRunEnded = errors.New("the graph run has ended")

// newRun readies a run of the plan, as the root of a run or as a node of another one. It must be followed by do and
// outcome.
func (p *plan) newRun(ctx context.Context, given []Option, nested bool) *run {
	r, ok := p.runs.Get().(*run)
	if !ok {
		r = new(run)
		r.fit(p)
	}
	r.given, r.nested, r.maxSteps = given, nested, p.maxSteps
	own := &graphContext{runContext: newRunContext(ctx)}
	r.ctx, r.scope = &own.runContext, own.scope
	if p.genState != nil {
		own.state.outer = own.scope
		own.scope, r.scope = &own.state, &own.state
	}
	r.frame = &own.frame
	r.outside = outsideInterruptFrom(ctx)
	r.outside.begin()
	return r
}

// place gives a run that is no node of another one its place in what ctx belongs to. Its input is set.
func (r *run) place(ctx context.Context) {
	outer := core.FrameFrom(ctx)
	r.inside = outer != nil
	*r.frame = outer.EnterWhich(ctx, &r.segment, r.isKept)
}

// outcome returns how the run ended, and gives its memory back. A run that leaves tasks behind keeps it: they may still
// write to it.
func (r *run) outcome() (value any, s stream, err error) {
	value, s, err = r.value, r.stream, r.err
	r.outside.end()
	if r.running > 0 || r.abandoned > 0 {
		return value, s, err
	}
	r.reset()
	r.invocation, r.progress = invocation{}, progress{}
	r.runs.Put(r)
	return value, s, err
}

// do executes the plan once. Every panic of user code becomes the error. It and what lies between it and the nodes is
// kept small: it is on the stack of everything that runs in a graph.
func (r *run) do() {
	if r.err = r.begin(); r.err == nil {
		r.execute()
	}
	r.end()
}

// begin does what comes before the nodes. A failure is reported to the callback handlers like the failure of a run.
func (r *run) begin() error {
	r.resumed = r.saved
	setupErr := r.setUp(r.given)
	r.fromCheckpoint = r.resuming()
	r.ctx.callbacks = r.startedCallbacks()
	err := r.reportStart()
	if err == nil {
		err = setupErr
	}
	if err != nil {
		closeStream(r.inputStream)
	}
	return err
}

func (r *run) end() {
	if r.err == nil && r.fromCheckpoint {
		if r.err = r.deleteCheckpoint(r.ctx); r.err != nil {
			closeStream(r.stream) // of the result that is not returned
		}
	}
	r.err = safe.Sound(r.err)
	r.reportEnd()
}

// setUp routes the options, loads a checkpoint and makes the state: all that comes before the start is reported.
func (r *run) setUp(opts []Option) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = graphError(safe.NewPanicError(v, debug.Stack()))
		}
	}()
	if err := r.route(opts, &r.opts); err != nil {
		return graphErrorf("graph extract option fail: %w", err)
	}
	if r.opts.maxSteps > 0 {
		if r.dag {
			return graphErrorf("cannot set max run steps in dag")
		}
		r.maxSteps = r.opts.maxSteps
	}
	if r.maxSteps < 1 {
		return graphErrorf("max run steps limit must be at least 1")
	}
	if err := r.loadCheckpoint(); err != nil {
		return err
	}
	return r.makeState()
}

func (r *run) startedCallbacks() callbacks.State {
	inherited := &r.ctx.callbacks
	if r.nested { // the node's RunInfo is pending already
		if !inherited.Active() {
			return *inherited
		}
		return inherited.Started()
	}
	next := inherited.WithInfo(&r.info)
	if len(r.opts.handlers) > 0 {
		next = inherited.Append(&r.info, r.opts.handlers...)
	}
	return next.Started()
}

// makeState gives the run its state: the saved one, or else a new one.
func (r *run) makeState() error {
	if r.genState == nil {
		return nil
	}
	if r.resumed != nil && r.resumed.State != nil {
		if !typeFits(r.resumed.State, r.stateType) {
			return graphErrorf("the checkpoint has a state of type %T, the graph one of type %v", r.resumed.State, r.stateType)
		}
		r.scope.state = r.resumed.State
		return r.modifyState()
	}
	r.scope.state = r.genState(r.ctx)
	return nil
}

func (r *run) reportStart() error {
	if !r.ctx.callbacks.Active() {
		return nil
	}
	var next context.Context
	var err error
	switch {
	case r.inputStream != nil:
		next, r.inputStream, err = r.in.ReportStart(r.ctx, r.inputStream)
	case r.reportsStreams():
		next, err = reportStartOf(r.ctx, r.in, r.input)
	default:
		next, err = callbacks.FireStart(r.ctx, r.input)
	}
	if next != context.Context(r.ctx) { // a handler added something: below it everything stays as it was
		below := *r.ctx
		below.Context = next
		r.ctx = &below
		r.frame = &below.frame
	}
	if err != nil {
		return graphError(err)
	}
	return nil
}

func (r *run) reportEnd() {
	if !r.ctx.callbacks.Active() {
		return
	}
	switch {
	case r.err != nil:
		if _, panicked := callbacks.FireError(r.ctx, r.err); panicked != nil && !isInterrupt(r.err) {
			r.err = errors.Join(r.err, panicked)
		}
	case r.stream != nil:
		r.stream, r.err = r.out.ReportEnd(r.ctx, r.stream)
	case r.reportsStreams():
		r.err = reportEndOf(r.ctx, r.out, r.value)
	default:
		_, r.err = callbacks.FireEnd[any](r.ctx, r.value)
	}
	if r.err != nil {
		r.value, r.stream = nil, nil
		var already *RunError
		if !isInterrupt(r.err) && !errors.As(r.err, &already) {
			r.err = graphError(r.err)
		}
	}
}

// reportsStreams reports whether this run of values looks to callback handlers like one of streams.
func (r *run) reportsStreams() bool {
	return r.plan.reportStreams != nil && r.plan.reportStreams(r.ctx)
}

// reportStartOf and reportEndOf show handlers a value as a stream of one chunk.

func reportStartOf(ctx context.Context, k kind, input any) (context.Context, error) {
	s, err := k.Single(input)
	if err != nil {
		return ctx, err
	}
	next, rest, err := k.ReportStart(ctx, s)
	closeStream(rest)
	return next, err
}

func reportEndOf(ctx context.Context, k kind, output any) error {
	s, err := k.Single(output)
	if err != nil {
		return err
	}
	rest, err := k.ReportEnd(ctx, s)
	closeStream(rest)
	return err
}

// execute runs the nodes from the input, or from the checkpoint that was loaded, to END, an interrupt or a failure.
func (r *run) execute() {
	defer func() {
		if v := recover(); v != nil {
			r.err = graphError(safe.NewPanicError(v, debug.Stack()))
		}
		r.tearDown(r.err)
	}()
	if r.err = r.enter(); r.err == nil {
		r.err = r.loop()
	}
}

// enter puts what the run starts from before its nodes.
func (r *run) enter() error {
	if r.resumed != nil {
		closeStream(r.inputStream) // the input was given to the run that is being resumed
		return r.restore()
	}
	return r.distribute(&r.nodes[startIndex], r.input, r.inputStream, nil)
}

// tearDown cancels what still runs after a failure, waits for it, and closes the streams that will not be read.
func (r *run) tearDown(err error) {
	if err != nil && r.siblings != nil {
		r.siblings.cancel(err)
	}
	for err != nil && r.running > 0 {
		t := <-r.ended
		r.running--
		t.phase.Store(taskSeen)
	}
	for _, t := range r.tasks {
		if t == nil {
			continue
		}
		if phase := t.phase.Load(); phase == taskPrepared || phase == taskSeen {
			closeStream(t.stream)
			t.original.close()
		}
	}
	r.closePending()
	r.releaseSiblings(err)
}

// releaseSiblings ends the context of the nodes, except where something may still work under it: nodes that END did
// not wait for, and whatever feeds the stream that the run returned.
func (r *run) releaseSiblings(err error) {
	if r.siblings == nil || err == nil && (r.streaming || r.running > 0 || r.abandoned > 0) {
		return
	}
	r.siblings.release(errRunEnded)
}

// taskContext is the parent of the nodes' contexts.
func (r *run) taskContext() context.Context {
	if r.siblings != nil {
		return r.siblings
	}
	return r.ctx
}

// newContext makes a context below parent. Several are one block of memory, which lives as long as one of them.
func (r *run) newContext(parent context.Context, frame core.Frame) *runContext {
	const atOnce = 4
	if len(r.contexts) == 0 {
		r.contexts = make([]runContext, min(len(r.nodes)-1, atOnce)) // START has none
	}
	c := &r.contexts[0]
	r.contexts = r.contexts[1:]
	c.Context, c.frame, c.scope = parent, frame, r.scope
	return c
}

// reportFailure is called by the goroutine of a task that failed.
func (r *run) reportFailure(t *task) {
	if r.failed.CompareAndSwap(nil, t) && r.siblings != nil {
		r.siblings.cancel(t.err)
	}
}

// loop starts what is ready, waits, and hands outputs on, until there is a result. The first of the tasks that start
// together runs here.
func (r *run) loop() error {
	for {
		if r.reachedEnd() && !r.pause.blocksEnd() && !r.resuming() {
			return r.finish()
		}
		r.pause.before = r.listedBefore()
		if r.pause.requested() {
			if r.running == 0 {
				return r.suspend()
			}
			if err := r.await(r.running); err != nil {
				return err
			}
			continue
		}
		own, err := r.launch()
		if err != nil {
			return err
		}
		if own != nil {
			own.execute()
		}
		if err := r.join(own); err != nil {
			return err
		}
	}
}

func (r *run) reachedEnd() bool { return len(r.ready) > 0 && r.ready[0] == endIndex }

// finish takes the result. What else is ready is not started.
func (r *run) finish() (err error) {
	for r.awaitSideNodes && r.running > 0 {
		t := <-r.ended
		r.running--
		t.phase.Store(taskSeen)
		if t.err != nil && t.signal == nil && t.nested == nil {
			return t.err
		}
	}
	r.value, r.stream, err = r.gather(&r.nodes[endIndex])
	return err
}

func (r *run) keysOf(nodes []int) string {
	keys := make([]string, len(nodes))
	for i, n := range nodes {
		keys[i] = r.nodes[n].key
	}
	return NodePath{path: keys}.String()
}

// launch makes the tasks that are ready and starts them, up to the one, if any, that it returns for the caller to run.
func (r *run) launch() (own *task, err error) {
	if len(r.ready) == 0 && r.running == 0 && !r.resuming() {
		return nil, r.stuck()
	}
	if err := r.ctx.Err(); err != nil {
		return nil, graphError(contextDone(r.ctx))
	}
	if !r.dag && r.steps >= r.maxSteps {
		return nil, graphError(ErrExceedMaxSteps)
	}
	r.steps++
	batch, err := r.makeTasks()
	if err != nil {
		return nil, err
	}
	inline := r.outside == nil && len(batch) > 0 && (!r.eager || len(batch) == 1 && r.running == 0)
	if len(batch) > 1 || r.running > 0 || !inline && len(batch) > 0 {
		r.needSiblings()
	}
	for _, t := range batch {
		t.prepare(r)
	}
	if inline {
		own, batch = batch[0], batch[1:]
	}
	for _, t := range batch {
		r.spawn(t)
	}
	return own, nil
}

// join waits for what was launched, of which the caller ran one: in a run of steps for all of it, in an eager run for
// whatever ends first.
func (r *run) join(own *task) error {
	wait := r.running
	if own != nil {
		r.collect()
		r.complete(own)
		wait = r.running
		if r.eager {
			wait = 0
		}
	} else if r.eager {
		wait = min(1, wait)
	}
	return r.await(wait)
}

func contextDone(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause != nil && cause != err {
		return fmt.Errorf("context has been canceled: %w: %w", err, cause)
	}
	return fmt.Errorf("context has been canceled: %w", err)
}

func (r *run) needSiblings() {
	if r.siblings == nil {
		r.siblings = &siblingContext{Context: r.ctx}
	}
	if r.ended == nil {
		r.ended = make(chan *task, len(r.nodes))
	}
}

// spawn runs a task on a goroutine of its own.
func (r *run) spawn(t *task) {
	t.phase.Store(taskRunning)
	r.running++
	ended := r.ended
	go func() {
		defer func() { // also when the node ends the goroutine
			if t.phase.CompareAndSwap(taskRunning, taskEnded) {
				ended <- t
				return
			}
			closeStream(t.stream) // abandoned: the result is not needed
		}()
		t.execute()
	}()
}

// makeTasks builds the inputs of the ready nodes.
func (r *run) makeTasks() ([]*task, error) {
	batch := r.batch[:0]
	defer func() { r.batch = batch }()
	if r.resuming() {
		var err error
		batch, err = r.restoredTasks(batch)
		return batch, err
	}
	for _, i := range r.ready {
		n := &r.nodes[i]
		value, s, err := r.gather(n)
		if err != nil {
			return nil, err
		}
		t := r.task(i)
		t.value, t.stream, t.opts = value, s, r.opts.of(i)
		r.keepOriginal(t, r.received == 0)
		batch = append(batch, t)
	}
	r.ready = r.ready[:0]
	return batch, nil
}

// await waits until n more tasks have ended, takes all that have, and hands on their outputs.
func (r *run) await(n int) error {
	if r.outside != nil {
		r.awaitOutside(n)
	} else {
		for ; n > 0; n-- {
			r.complete(<-r.ended)
			r.running--
		}
	}
	r.collect()
	return r.settle()
}

// collect takes what has ended without waiting.
func (r *run) collect() {
	for r.running > 0 {
		select {
		case t := <-r.ended:
			r.running--
			r.complete(t)
		default:
			return
		}
	}
}

func (r *run) complete(t *task) {
	t.phase.Store(taskSeen)
	r.completed = append(r.completed, t)
}

// settle deals with the tasks that ended: a failure ends the run, interrupts are noted, outputs are handed on.
func (r *run) settle() error {
	if failed := r.failed.Load(); failed != nil {
		return r.explained(failed)
	}
	completed := r.completed
	slices.SortFunc(completed, func(a, b *task) int { return a.node.index - b.node.index })
	r.completed = r.completed[:0]
	if len(completed) > 0 {
		r.last = r.last[:0]
	}
	for _, t := range completed {
		r.last = append(r.last, t.node.index)
		if t.err != nil {
			r.pause.interrupted = append(r.pause.interrupted, t)
			continue
		}
		t.original.close()
		value, s := t.value, t.stream
		t.value, t.stream = nil, nil
		if err := r.distribute(t.node, value, s, t.decided); err != nil {
			return err
		}
		if t.node.interruptAfter || r.outside.fired() {
			r.pause.after = append(r.pause.after, t.node.key)
		}
	}
	return nil
}
