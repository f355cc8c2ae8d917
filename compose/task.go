package compose

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
)

// task is one execution of a node. The scheduler makes it, the goroutine that runs the node owns it until it ends.
// value and stream hold the input first, the output at the end; which of them is used depends on the run.
type task struct {
	run    *run
	node   *planNode
	value  any
	stream stream
	err    error

	// ctx is for the node's state handlers, body for what runs in the node: it has the node's RunInfo, too.
	ctx, body *runContext
	opts      *nodeOptions
	// skipPre: the pre-handler ran before the interrupt that this run resumes from.
	skipPre bool
	// checkpoint is the checkpoint of the nested graph to resume.
	checkpoint *checkpoint
	// original is the input before the pre-handler, kept only where an interrupt from outside may need it.
	original *savedInput

	// decided is the choice of the node's branches, if they were asked here.
	decided *decision

	signal *core.InterruptSignal // the node asked for an interrupt
	nested *nestedInterrupt      // so did a graph in the node
	phase  atomic.Int32
}

// The phases of a task. Between running and ended its goroutine and an interrupt from outside may both decide.
const (
	taskPrepared int32 = iota
	taskRunning
	taskEnded     // the scheduler has not seen it yet
	taskAbandoned // the run does not wait for it any more
	taskSeen
)

// prepare makes the contexts and runs the pre-handler, unless the handler first has to read a stream to its end: that
// must not hold up the other nodes, so it is left to the node's own goroutine.
func (t *task) prepare(r *run) {
	n := t.node
	t.run = r
	parent := r.taskContext()
	frame := r.frame.Enter(parent, &n.segment)
	t.body = r.newContext(parent, frame)
	t.body.callbacks = t.bodyCallbacks(callbacks.FromContext(parent))
	t.ctx = t.body
	if (n.pre != nil || n.post != nil) && t.body.callbacks.Active() {
		t.ctx = r.newContext(parent, frame)
		if s := callbacks.FromContext(parent); s != nil {
			t.ctx.callbacks = *s
		}
	}
	if !t.joinsForPre() {
		t.runPre()
	}
}

func (t *task) bodyCallbacks(inherited *callbacks.State) callbacks.State {
	n := t.node
	if n.action == nil && n.sub == nil {
		return callbacks.State{} // a passthrough calls no handlers
	}
	var state callbacks.State
	if t.opts != nil && len(t.opts.handlers) > 0 {
		state = inherited.Append(&n.info, t.opts.handlers...)
	} else {
		state = inherited.WithInfo(&n.info)
	}
	if n.sub == nil && !n.silent {
		state = state.Started()
	}
	return state
}

func (t *task) joinsForPre() bool {
	return t.run.streaming && t.node.pre != nil && t.node.pre.onValue != nil
}

func (t *task) runPre() {
	if t.node.pre == nil || t.skipPre {
		return
	}
	if err := t.handle("pre", t.node.pre, t.node.input()); err != nil {
		t.fail(fmt.Errorf("run node[%s] pre processor fail: %w", t.node.key, err))
	}
}

// execute runs the node, state handlers included. It never panics.
func (t *task) execute() {
	finished := false
	defer func() {
		if v := recover(); v != nil {
			t.fail(safe.NewPanicError(v, debug.Stack()))
		} else if !finished {
			t.fail(errGoexit)
		}
		if t.err != nil && t.stream != nil {
			t.stream.Close()
			t.stream = nil
		}
	}()
	if t.err == nil && t.joinsForPre() {
		t.runPre()
	}
	if t.err == nil {
		if err := t.runBody(); err != nil {
			t.fail(err)
		} else {
			t.runPost()
		}
	}
	if t.err == nil {
		t.decide()
	}
	finished = true
}

// errGoexit is the error of user code that ended its goroutine, as a failing mock does with FailNow.
var errGoexit = errors.New("the goroutine was ended by runtime.Goexit")

func (t *task) runPost() {
	if t.node.post == nil {
		return
	}
	if err := t.handle("post", t.node.post, t.node.output()); err != nil {
		t.fail(fmt.Errorf("run node[%s] post processor fail: %w", t.node.key, err))
	}
}

func (t *task) runBody() (err error) {
	n, streaming := t.node, t.run.streaming
	if n.inputKey != "" {
		if err := t.unwrapInput(); err != nil {
			return err
		}
	}
	var opts []any
	if t.opts != nil {
		opts = t.opts.component
	}
	switch {
	case n.sub != nil:
		err = t.runNested()
	case n.action == nil: // a passthrough
	case streaming:
		in := t.stream
		t.stream = nil
		t.stream, err = n.action.Transform(t.body, in, opts)
	default:
		t.value, err = n.action.Invoke(t.body, t.value, opts)
	}
	if err != nil || n.outputKey == "" {
		return err
	}
	if streaming {
		t.stream = n.out.WithKey(t.stream, n.outputKey)
	} else {
		t.value = map[string]any{n.outputKey: t.value}
	}
	return nil
}

func (t *task) unwrapInput() error {
	key := t.node.inputKey
	if t.run.streaming {
		m, err := streamAs[map[string]any](t.stream)
		if err != nil {
			return err
		}
		t.stream = t.node.in.FromKey(m, key)
		return nil
	}
	m, err := valueAs[map[string]any](t.value)
	if err != nil {
		return err
	}
	v, ok := m[key]
	if !ok {
		return noInputKey(key)
	}
	t.value = v
	return nil
}

func (t *task) runNested() (err error) {
	var opts []Option
	if t.opts != nil {
		opts = t.opts.graph
	}
	outer := t.run
	nested := t.node.sub.newRun(t.body, opts, true)
	nested.input, nested.inputStream, nested.streaming = t.value, t.stream, outer.streaming
	nested.saved, nested.modify = t.checkpoint, outer.modify
	if nested.modify != nil { // who else would ask
		nested.path = append(slices.Clip(outer.path), t.node.key)
	}
	t.stream = nil
	nested.do()
	t.value, t.stream, err = nested.outcome()
	return err
}

// handle runs a state handler on the task's value or stream.
func (t *task) handle(which string, h *stateHandler, k kind) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = handlerPanic(which, v)
		}
	}()
	if h.onValue != nil {
		return t.handleValue(h, k)
	}
	return t.handleStream(h, k)
}

// handleValue joins the stream of a run of streams for the handler and makes one of its result. The state is not
// locked meanwhile.
func (t *task) handleValue(h *stateHandler, k kind) (err error) {
	if in := t.stream; in != nil {
		t.stream = nil
		if t.value, err = k.Concat(in); err != nil {
			return fmt.Errorf("concat stream reader fail: %w", err)
		}
	}
	err = t.run.scope.with(func(state any) (err error) {
		t.value, err = h.onValue(t.ctx, t.value, state)
		return err
	})
	if err == nil && t.run.streaming {
		t.stream, err = k.Single(t.value)
		t.value = nil
	}
	return err
}

// handleStream makes a stream of the value of a run of values for the handler and joins its result.
func (t *task) handleStream(h *stateHandler, k kind) (err error) {
	in := t.stream
	if !t.run.streaming {
		if in, err = k.Single(t.value); err != nil {
			return err
		}
	}
	t.stream = nil
	other := h.value.Type() != k.Type() // the handler of a passthrough is on any
	if other {
		in = k.Untyped(in)
	}
	var out stream
	err = t.run.scope.with(func(state any) (err error) {
		out, err = h.onStream(t.ctx, in, state)
		return err
	})
	if err != nil {
		return err
	}
	if other {
		out = k.Typed(h.value.Untyped(out), k.Check)
	}
	if t.run.streaming {
		t.stream = out
		return nil
	}
	if t.value, err = k.Concat(out); err != nil {
		return fmt.Errorf("concat stream reader fail: %w", err)
	}
	return nil
}

func handlerPanic(which string, v any) error {
	said := fmt.Errorf("panic in %s handler: %v", which, v)
	if err, ok := v.(error); ok {
		said = fmt.Errorf("panic in %s handler: %w", which, err)
	}
	return safe.NewPanicError(said, debug.Stack())
}

// fail ends the task with an error, which may ask for an interrupt. The first task that really fails cancels the
// others.
func (t *task) fail(err error) {
	err = safe.Sound(err)
	t.err = err
	if errors.As(err, &t.nested) {
		return
	}
	if signal, interrupted := core.SignalFrom(t.body, err); interrupted {
		t.signal = ownSignal(t.body, err, signal)
		return
	}
	t.err = nodeError(t.node.key, err)
	t.run.reportFailure(t)
}

// ownSignal is the signal of the code at ctx's address. A graph that ran inside that code on its own has a signal from
// its root down: the code passes it on.
func ownSignal(ctx context.Context, err error, signal *core.InterruptSignal) *core.InterruptSignal {
	var root core.InterruptContextsProvider
	if !errors.As(err, &root) {
		return signal
	}
	subs := []*core.InterruptSignal{signal}
	if signal.ID == "" {
		subs = signal.Subs
	}
	own, _ := core.Interrupt(ctx, nil, nil, subs)
	return own
}
