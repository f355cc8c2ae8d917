package adk

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// callPolicy says how the calls of models, tools and hooks are stopped.
var callPolicy = &cancelscope.CallPolicy{
	Grace: cancelGrace,
	Cut:   ErrStreamCanceled,
	Cause: func(info cancelscope.Info) error { return cancelError(info) },
}

// stoppable returns a context for code of users that runs in the run's own goroutine: hooks, and what decides on other
// attempts. It ends when the run is to stop at once. That code is waited for all the same.
func (r *agentRun[M]) stoppable(ctx context.Context) (_ context.Context, release func()) {
	if r == nil || r.view == nil {
		return ctx, noRelease
	}
	c := new(cancelscope.Call)
	c.Open(ctx, r.view, callPolicy)
	return c, c.Release
}

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
func stoppableArguments[M MessageType](
	handle func(ctx context.Context, name, arguments string) (string, error),
) func(context.Context, string, string) (string, error) {
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

// pendingCall is a call of a model or tool with its result to come.
type pendingCall[T any] struct {
	cancelscope.Call
	view  *cancelscope.View
	run   func(ctx context.Context) (T, error)
	value T
	err   error
}

// watch prepares a call. Its context ends when the run is to stop at once; Release must be called. A stream that comes
// when no caller waits for it any more is closed.
func watch[T any](
	ctx context.Context, view *cancelscope.View, run func(ctx context.Context) (T, error),
) *pendingCall[T] {
	p := &pendingCall[T]{view: view, run: run, err: errCallEnded}
	p.Open(ctx, view, callPolicy)
	return p
}

// do runs the call and waits for it, or until it is to stop. The call has a goroutine of its own, because it may ignore
// that it is to stop.
func (p *pendingCall[T]) do() (value T, err error) {
	go p.work()
	if !p.Wait() {
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
		if late := !p.Return(); late && p.err == nil {
			if stream, ok := any(p.value).(interface{ Close() }); ok {
				stream.Close()
			}
		}
	}()
	if p.Abandoned() { // before this goroutine came to run: the resumed run makes the call
		return
	}
	held, _ := p.Value(fencingKey{}).(*heldRun)
	if p.err = held.fresh(&p.Call); p.err == nil {
		p.value, p.err = p.run(&p.Call)
	}
}

// ownCall is the call of the run that ctx belongs to, if the run can be cancelled.
func (r *agentRun[M]) ownCall(ctx context.Context) *cancelscope.Call {
	if r == nil || r.view == nil {
		return nil
	}
	return cancelscope.CallFrom(ctx)
}

// detach returns a context for an agent inside a watched call, which is not to end because that call is given up, but
// for every other reason.
func detach(ctx context.Context) (detached context.Context, stop func()) {
	call := cancelscope.CallFrom(ctx)
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
	own, outer := follow(ctx), follow(call.Outside())
	return detached, func() {
		own()
		outer()
		cancel(nil)
	}
}

// callCancellable calls a tool in a run that can be cancelled, in another one, or without a run (r is nil).
func callCancellable[M MessageType](
	ctx context.Context, r *agentRun[M], in *compose.ToolInput, call compose.ToolCallEndpoint,
) (*compose.ToolCallOutput, error) {
	if r == nil || r.view == nil {
		return call(ctx, in)
	}
	return callWatched(ctx, r, in, call)
}

// callWatched calls a tool in a run that can be cancelled.
func callWatched[M MessageType](
	ctx context.Context, r *agentRun[M], in *compose.ToolInput, next compose.ToolCallEndpoint,
) (*compose.ToolCallOutput, error) {
	interrupted, _, state := tool.GetInterruptState[any](ctx)
	if r.view.Now() && !(interrupted && hasPointsInside(ctx)) { // an agent inside stops by itself, and keeps what it has
		return nil, r.giveUpCall(ctx, interrupted, state)
	}
	call := watch(ctx, r.view, func(ctx context.Context) (*compose.ToolCallOutput, error) {
		out, err := next(ctx, in)
		if err == nil {
			err = gather(ctx, out)
		}
		return out, err
	})
	defer call.Release()
	call.StopsItself(interrupted && hasPointsInside(ctx))
	out, err := call.do()
	if err == errLeftBehind {
		r.warnOfLeftBehind(ctx, "tool", in.Name, "call", in.CallID)
	}
	if errors.Is(err, errStopped) {
		return nil, r.giveUpCall(ctx, interrupted, state)
	}
	return out, err
}

// giveUpCall is givenUp for the call of ctx, which is recorded.
func (r *agentRun[M]) giveUpCall(ctx context.Context, interrupted bool, state any) error {
	if call := r.callRecorded(ctx); call != nil && interrupted {
		call.Park()
	}
	return givenUp(ctx, interrupted, state)
}

// givenUp is the error of a call that was given up. One that continued from an interrupt is interrupted again, with all
// that was interrupted inside it, so that its state is not lost.
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

// gather reads the stream of a watched call to its end. Its chunks stay as they came.
func gather(ctx context.Context, out *compose.ToolCallOutput) (err error) {
	if out.TextStream != nil {
		out.TextStream, err = gathered(ctx, out.TextStream)
	}
	if out.ResultStream != nil && err == nil {
		out.ResultStream, err = gathered(ctx, out.ResultStream)
	}
	return err
}

// gathered reads a stream to its end and returns its items as a stream.
func gathered[T any](ctx context.Context, s *schema.StreamReader[T]) (*schema.StreamReader[T], error) {
	items, err := gatheredItems(ctx, s, cancelscope.CallFrom(ctx))
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray(items), nil
}

// gatheredItems reads a stream to its end and closes it.
func gatheredItems[T any](
	ctx context.Context, s *schema.StreamReader[T], call *cancelscope.Call,
) (items []T, err error) {
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

// cutOff returns a stream that ends with [ErrStreamCanceled] when the run is to stop at once, if that happens during the
// call which the stream is of.
func cutOff[M MessageType, T any](ctx context.Context, s *schema.StreamReader[T]) *schema.StreamReader[T] {
	call := agentRunFrom[M](ctx).ownCall(ctx)
	if call == nil {
		return s
	}
	s, abort := schema.StreamReaderWithAbort(s)
	call.OnStop(abort)
	return s
}
