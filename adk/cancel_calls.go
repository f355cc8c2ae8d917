package adk

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// patience is how long an immediate cancel waits for agents inside a tool call, which stop by themselves.
const patience = time.Second

// errStopped says that a call was given up because the run is to stop at once.
var errStopped = errors.New("the call was given up because the run was cancelled")

// watchedCall is a call of a model or tool in a run that can be cancelled. It runs in a goroutine of its own, because
// it may ignore that it is to stop.
type watchedCall struct {
	view   *cancelscope.View
	ctx    context.Context
	life   context.Context // what ctx was made of
	cancel context.CancelCauseFunc
	now    chan struct{}
	stop   func()
	// aware: there is an agent inside that stops by itself.
	aware atomic.Bool
}

type watchedCallKey struct{}

// watch prepares a call. Its context ends, with the cause, when the run is to stop at once; release must be called.
func watch(ctx context.Context, view *cancelscope.View) *watchedCall {
	c := &watchedCall{view: view, life: ctx, now: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(context.WithValue(ctx, watchedCallKey{}, c))
	c.stop = view.OnNow(func() {
		info, _, _ := view.Control().State()
		c.cancel(cancelError(info))
		close(c.now)
	})
	return c
}

func (c *watchedCall) release() {
	c.stop()
	c.cancel(nil)
}

// do runs the call and waits for it, or until it is to stop. A result that comes too late is dropped.
func do[T any](c *watchedCall, call func(ctx context.Context) (T, error), drop func(T)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	result := make(chan outcome, 1)
	var late atomic.Bool
	go func() {
		out := outcome{err: errors.New("the call ended its goroutine (runtime.Goexit)")}
		defer func() {
			if v := recover(); v != nil {
				out = outcome{err: safe.NewPanicError(v, debug.Stack())}
			}
			if late.Swap(true) {
				if out.err == nil {
					drop(out.value)
				}
				return
			}
			result <- out
		}()
		v, err := call(c.ctx)
		out = outcome{v, err}
	}()
	var none T
	select {
	case out := <-result:
		if out.err != nil && c.view.Now() && !isInterrupt(out.err) {
			return none, errStopped
		}
		return out.value, out.err
	case <-c.now:
	}
	if c.aware.Load() {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case out := <-result:
			if out.err == nil || isInterrupt(out.err) {
				return out.value, out.err
			}
			return none, errStopped
		case <-timer.C:
		}
	}
	if late.Swap(true) { // it has just come
		out := <-result
		if out.err == nil || isInterrupt(out.err) {
			return out.value, out.err
		}
	}
	return none, errStopped
}

// detach returns a context for an agent inside a watched call, which is not to end because that call is given up, but
// for every other reason.
func detach(ctx context.Context) (detached context.Context, stop func()) {
	call, _ := ctx.Value(watchedCallKey{}).(*watchedCall)
	if call == nil {
		return ctx, func() {}
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

// watchedTool watches one kind of endpoint. finish completes an output inside the call.
func watchedTool[M MessageType, O any](next func(context.Context, *compose.ToolInput) (*O, error), finish func(context.Context, *O) error) func(context.Context, *compose.ToolInput) (*O, error) {
	return func(ctx context.Context, in *compose.ToolInput) (*O, error) {
		r := agentRunFrom[M](ctx)
		if r == nil || r.view == nil {
			return next(ctx, in)
		}
		if r.view.Now() {
			return nil, compose.ErrToolCallGivenUp
		}
		call := watch(ctx, r.view)
		defer call.release()
		out, err := do(call, func(ctx context.Context) (*O, error) {
			out, err := next(ctx, in)
			if err == nil && out != nil {
				err = finish(ctx, out)
			}
			return out, err
		}, func(*O) {})
		if errors.Is(err, errStopped) {
			return nil, compose.ErrToolCallGivenUp
		}
		return out, err
	}
}

// gathered reads a stream to its end and returns its items as a stream.
func gathered[T any](ctx context.Context, s *schema.StreamReader[T]) (*schema.StreamReader[T], error) {
	if s == nil {
		return nil, nil
	}
	defer s.Close()
	recv := receiver(ctx, s)
	var items []T
	for {
		item, err := recv()
		if isEOF(err) {
			return schema.StreamReaderFromArray(items), nil
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
				if r := agentRunFrom[M](ctx); err == nil && out != nil && out.Result != nil && r != nil {
					out.Result = cutOff(r.view, out.Result)
				}
				return out, err
			}
		},
		EnhancedStreamable: func(next compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
				out, err := next(ctx, in)
				if r := agentRunFrom[M](ctx); err == nil && out != nil && out.Result != nil && r != nil {
					out.Result = cutOff(r.view, out.Result)
				}
				return out, err
			}
		},
	}
}

// cutOff returns a stream that ends with [ErrStreamCanceled] when the run is to stop at once.
func cutOff[T any](view *cancelscope.View, s *schema.StreamReader[T]) *schema.StreamReader[T] {
	if view == nil {
		return s
	}
	s, abort := schema.StreamReaderWithAbort(s)
	view.OnNow(func() { abort(ErrStreamCanceled) })
	return s
}
