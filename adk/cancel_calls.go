package adk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// patience is how long an immediate cancel waits for agents inside a tool call, which stop by themselves.
const patience = time.Second

// errStopped says that a call was given up because the run is to stop at once.
var errStopped = errors.New("the call was given up because the run was cancelled")

// errLeftBehind is errStopped for a call that has not ended by then.
var errLeftBehind = fmt.Errorf("%w, and may still be running", errStopped)

// watchedCall is a call of a model, a tool or a hook in a run that can be cancelled, and its context.
type watchedCall struct {
	context.Context
	view   *cancelscope.View
	life   context.Context // what the context was made of
	cancel context.CancelCauseFunc
	// aware: there is an agent inside that stops by itself.
	aware atomic.Bool

	mu      sync.Mutex
	changed sync.Cond
	ended   bool // the call is over, or nobody waits for it any more
	stop    bool
	settled bool // the call counts: a stop comes too late for it
	ending  bool // its stream is about to be told: a stop cuts that off
	timeout bool
	cuts    []func(error)  // cut the call's streams off
	first   [1]func(error) // room for the only one of most calls
}

type watchedCallKey struct{}

func (c *watchedCall) Value(key any) any {
	if _, ok := key.(watchedCallKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// StopNow cuts the call's streams off, ends its context, with the cause, and the wait for it. In this order: a stream
// tells its readers that the run was cancelled, and not what a model makes of the end of its context.
func (c *watchedCall) StopNow() {
	for _, cut := range c.stopped() {
		cut(ErrStreamCanceled)
	}
	c.endContext()
}

// endContext ends the call's context; that of a call that was stopped says so.
func (c *watchedCall) endContext() {
	if !c.wasStopped() {
		c.cancel(nil)
		return
	}
	info, _, _ := c.view.Control().State()
	c.cancel(cancelError(info))
}

func (c *watchedCall) stopped() (cuts []func(error)) {
	c.note(&c.stop)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}

// note sets one of the conditions of the wait.
func (c *watchedCall) note(what *bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*what = true
	c.changed.Broadcast()
}

// wasStopped reports whether the call is to stop. Of nil it is false.
func (c *watchedCall) wasStopped() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop
}

// onStop has a stream of the call cut off when the call is stopped.
func (c *watchedCall) onStop(cut func(error)) {
	c.mu.Lock()
	stopped := c.stop
	if !stopped {
		if c.cuts == nil {
			c.cuts = c.first[:0]
		}
		c.cuts = append(c.cuts, cut)
	}
	c.mu.Unlock()
	if stopped {
		cut(ErrStreamCanceled)
	}
}

func (c *watchedCall) release() {
	c.view.Forget(c)
	c.endContext()
}

var errCallEnded = errors.New("the call ended its goroutine (runtime.Goexit)")

// stoppable returns a context for code of users that runs in the run's own goroutine: hooks, and what decides on other
// attempts. It ends when the run is to stop at once. That code is waited for all the same.
func (r *agentRun[M]) stoppable(ctx context.Context) (_ context.Context, release func()) {
	if r == nil || r.view == nil {
		return ctx, noRelease
	}
	c := new(watchedCall)
	c.open(ctx, r.view)
	return c, c.release
}

func noRelease() {}

// stoppedOr is an error of such code, or the interrupt of a run that has been stopped meanwhile.
func (r *agentRun[M]) stoppedOr(ctx context.Context, err error) error {
	if err != nil && r != nil && r.stopped() && !core.IsInterrupt(err) {
		return compose.Interrupt(ctx, infoStopped)
	}
	return err
}

// stoppableInput has a GenModelInput of the user's run in such a context.
func stoppableInput[M MessageType](generate TypedGenModelInput[M]) TypedGenModelInput[M] {
	return func(ctx context.Context, instruction string, input *TypedAgentInput[M]) ([]M, error) {
		ctx, release := agentRunFrom[M](ctx).stoppable(ctx)
		defer release()
		return generate(ctx, instruction, input)
	}
}

// stoppableArguments has a ToolArgumentsHandler run in a context that ends when the run is to stop at once.
func stoppableArguments[M MessageType](handle func(ctx context.Context, name, arguments string) (string, error)) func(context.Context, string, string) (string, error) {
	if handle == nil {
		return nil
	}
	return func(ctx context.Context, name, arguments string) (string, error) {
		r := agentRunFrom[M](ctx)
		stoppable, release := r.stoppable(ctx)
		defer release()
		arguments, err := handle(stoppable, name, arguments)
		return arguments, r.stoppedOr(ctx, err)
	}
}

// pendingCall is a watched call with its result to come.
type pendingCall[T any] struct {
	watchedCall
	run   func(ctx context.Context) (T, error)
	value T
	err   error
}

// watch prepares a call. Its context ends when the run is to stop at once; release must be called. A stream that comes
// when nobody waits for it any more is closed.
func watch[T any](ctx context.Context, view *cancelscope.View, run func(ctx context.Context) (T, error)) *pendingCall[T] {
	p := &pendingCall[T]{run: run, err: errCallEnded}
	p.open(ctx, view)
	return p
}

// open has the call's context end when the run is to stop at once.
func (c *watchedCall) open(ctx context.Context, view *cancelscope.View) {
	c.view, c.life = view, ctx
	c.changed.L = &c.mu
	c.Context, c.cancel = context.WithCancelCause(ctx)
	view.OnNow(c)
}

// do runs the call and waits for it, or until it is to stop. The call has a goroutine of its own, because it may ignore
// that it is to stop.
func (p *pendingCall[T]) do() (value T, err error) {
	go p.work()
	if !p.wait() {
		return value, errLeftBehind
	}
	if p.err != nil && p.view.Now() && !core.IsInterrupt(p.err) {
		return value, errStopped
	}
	return p.value, p.err
}

func (p *pendingCall[T]) work() {
	defer func() {
		if v := recover(); v != nil {
			p.err = safe.NewPanicError(v, debug.Stack())
		}
		if late := !p.end(); late && p.err == nil {
			if stream, ok := any(p.value).(interface{ Close() }); ok {
				stream.Close()
			}
		}
	}()
	p.value, p.err = p.run(&p.watchedCall)
}

// end says that the call is over. It reports false if nobody waits for it.
func (c *watchedCall) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.ended = true
	c.changed.Broadcast()
	return true
}

// wait reports whether the call has ended before it was to be given up. A call that stops by itself, or whose stream is
// read, gets time for it.
func (c *watchedCall) wait() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.ended && (!c.stop || c.settled) {
		c.changed.Wait()
	}
	if !c.ended && (c.ending || c.stopsByItself()) {
		timer := time.AfterFunc(patience, func() { c.note(&c.timeout) })
		defer timer.Stop()
		for !c.ended && (!c.timeout || c.settled) {
			c.changed.Wait()
		}
	}
	ended := c.ended
	c.ended = true
	return ended
}

// stopsByItself reports whether there is an agent inside that has heard of the stop.
func (c *watchedCall) stopsByItself() bool {
	info, _, _ := c.view.Control().State()
	return info.Recursive && c.aware.Load()
}

// settle decides that the call of a tool counts, because its result is about to be told. It reports false if the call
// was given up before.
func (r *agentRun[M]) settle(ctx context.Context) bool {
	return r.ownCall(ctx).unlessEnded(func(c *watchedCall) { c.settled = true })
}

// settleStream is settle for a call with a stream, which counts if that comes to its end.
func (r *agentRun[M]) settleStream(ctx context.Context) bool {
	return r.ownCall(ctx).unlessEnded(func(c *watchedCall) { c.ending = true })
}

// unlessEnded reports whether somebody waits for the call, and decides on it then. Without a call it is true.
func (c *watchedCall) unlessEnded(decide func(*watchedCall)) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	decide(c)
	return true
}

// isSettled reports whether the call of a tool counts although the run may have been stopped meanwhile.
func (r *agentRun[M]) isSettled(ctx context.Context) bool {
	c := r.ownCall(ctx)
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settled
}

// ownCall is the call of the run that ctx belongs to, if the run can be cancelled.
func (r *agentRun[M]) ownCall(ctx context.Context) *watchedCall {
	if r == nil || r.view == nil {
		return nil
	}
	c, _ := ctx.Value(watchedCallKey{}).(*watchedCall)
	return c
}

// detach returns a context for an agent inside a watched call, which is not to end because that call is given up, but
// for every other reason.
func detach(ctx context.Context) (detached context.Context, stop func()) {
	call, _ := ctx.Value(watchedCallKey{}).(*watchedCall)
	if call == nil {
		return ctx, noRelease
	}
	detached, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	follow := func(leader context.Context) func() bool {
		return context.AfterFunc(leader, func() {
			cause := context.Cause(leader)
			var cancelled *CancelError
			if !errors.As(cause, &cancelled) {
				cancel(cause)
			}
		})
	}
	own, outer := follow(ctx), follow(call.life)
	return detached, func() {
		own()
		outer()
		cancel(nil)
	}
}

// watchedTools is the outermost middleware of every tool. In a run that can be cancelled it gives up calls in flight,
// and has streams read to their end inside the call, so that a result is there or is not.
func watchedTools[M MessageType]() compose.ToolMiddleware {
	return compose.ToolMiddleware{
		Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			return watchedTool[M](next, func(context.Context, *compose.ToolOutput) error { return nil })
		},
		EnhancedInvokable: func(next compose.EnhancedInvokableToolEndpoint) compose.EnhancedInvokableToolEndpoint {
			return watchedTool[M](next, func(context.Context, *compose.EnhancedInvokableToolOutput) error { return nil })
		},
		Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			return watchedTool[M](next, func(ctx context.Context, out *compose.StreamToolOutput) (err error) {
				out.Result, err = gathered(ctx, out.Result)
				return err
			})
		},
		EnhancedStreamable: func(next compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
			return watchedTool[M](next, func(ctx context.Context, out *compose.EnhancedStreamableToolOutput) (err error) {
				out.Result, err = gathered(ctx, out.Result)
				return err
			})
		},
	}
}

// toolCall is how one kind of tool is called.
type toolCall[O any] = func(context.Context, *compose.ToolInput) (*O, error)

// watchedTool watches one kind of endpoint. finish completes an output inside the call.
func watchedTool[M MessageType, O any](next toolCall[O], finish func(context.Context, *O) error) toolCall[O] {
	return func(ctx context.Context, in *compose.ToolInput) (*O, error) {
		if r := agentRunFrom[M](ctx); r != nil && r.view != nil {
			return callWatched(ctx, r, in, next, finish)
		}
		return next(ctx, in)
	}
}

// callWatched calls a tool in a run that can be cancelled.
func callWatched[M MessageType, O any](ctx context.Context, r *agentRun[M], in *compose.ToolInput, next toolCall[O], finish func(context.Context, *O) error) (*O, error) {
	interrupted, _, state := tool.GetInterruptState[any](ctx)
	if r.view.Now() && !(interrupted && hasPointsInside(ctx)) { // an agent inside stops by itself, and keeps what it has
		return nil, givenUp(ctx, interrupted, state)
	}
	call := watch(ctx, r.view, func(ctx context.Context) (*O, error) {
		out, err := next(ctx, in)
		if err == nil && out != nil {
			err = finish(ctx, out)
		}
		return out, err
	})
	defer call.release()
	call.aware.Store(interrupted && hasPointsInside(ctx))
	out, err := call.do()
	if err == errLeftBehind {
		r.warnOfLeftBehind(ctx, "tool", in.Name, "call", in.CallID)
	}
	if errors.Is(err, errStopped) {
		return nil, givenUp(ctx, interrupted, state)
	}
	return out, err
}

// givenUp is the error of a call that was given up. One that went on from an interrupt is interrupted again, with all that
// was interrupted inside it, so that its state is not lost.
func givenUp(ctx context.Context, interrupted bool, state any) error {
	if !interrupted {
		return compose.ErrToolCallGivenUp
	}
	var inside []error
	for _, signal := range core.InterruptedBelow(ctx, infoStopped) {
		inside = append(inside, signal)
	}
	return tool.CompositeInterrupt(ctx, infoStopped, state, inside...)
}

// hasPointsInside reports whether something inside the running code was interrupted.
func hasPointsInside(ctx context.Context) bool {
	next, err := core.GetNextResumptionPoints(ctx)
	return err == nil && len(next) > 0
}

// gathered reads the stream of a watched call to its end and returns its items as a stream.
func gathered[T any](ctx context.Context, s *schema.StreamReader[T]) (*schema.StreamReader[T], error) {
	if s == nil {
		return nil, nil
	}
	call, _ := ctx.Value(watchedCallKey{}).(*watchedCall)
	items, err := gatheredItems(ctx, s, call)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray(items), nil
}

// gatheredItems reads a stream to its end and closes it.
func gatheredItems[T any](ctx context.Context, s *schema.StreamReader[T], call *watchedCall) (items []T, err error) {
	recv := receiverOf(ctx, s)
	recv.call = call
	defer recv.close()
	for {
		item, err := recv.next()
		if isEOF(err) {
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

// abortableTools cuts the streams of tools off, for whoever reads them, when the run is to stop at once.
func abortableTools[M MessageType]() compose.ToolMiddleware {
	return compose.ToolMiddleware{
		Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
				out, err := next(ctx, in)
				if err == nil && out != nil && out.Result != nil {
					out.Result = cutOff[M](ctx, out.Result)
				}
				return out, err
			}
		},
		EnhancedStreamable: func(next compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
				out, err := next(ctx, in)
				if err == nil && out != nil && out.Result != nil {
					out.Result = cutOff[M](ctx, out.Result)
				}
				return out, err
			}
		},
	}
}

// cutOff returns a stream that ends with [ErrStreamCanceled] when the run is to stop at once, if that happens during the
// call which the stream is of.
func cutOff[M MessageType, T any](ctx context.Context, s *schema.StreamReader[T]) *schema.StreamReader[T] {
	call := agentRunFrom[M](ctx).ownCall(ctx)
	if call == nil {
		return s
	}
	s, abort := schema.StreamReaderWithAbort(s)
	call.onStop(abort)
	return s
}
