package tooltimeout

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"sync/atomic"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// WrapInvokableToolCall gives the call its time, and so do the three methods after it.
func (m *middleware[M]) WrapInvokableToolCall(_ context.Context, endpoint adk.InvokableToolCallEndpoint, tCtx *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return value(m.limit(tCtx), endpoint), nil
}

// WrapEnhancedInvokableToolCall gives the call its time.
func (m *middleware[M]) WrapEnhancedInvokableToolCall(_ context.Context, endpoint adk.EnhancedInvokableToolCallEndpoint, tCtx *adk.ToolContext) (adk.EnhancedInvokableToolCallEndpoint, error) {
	return value(m.limit(tCtx), endpoint), nil
}

// WrapStreamableToolCall gives the call and its stream their time.
func (m *middleware[M]) WrapStreamableToolCall(_ context.Context, endpoint adk.StreamableToolCallEndpoint, tCtx *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	return stream(m.limit(tCtx), endpoint), nil
}

// WrapEnhancedStreamableToolCall gives the call and its stream their time.
func (m *middleware[M]) WrapEnhancedStreamableToolCall(_ context.Context, endpoint adk.EnhancedStreamableToolCallEndpoint, tCtx *adk.ToolContext) (adk.EnhancedStreamableToolCallEndpoint, error) {
	return stream(m.limit(tCtx), endpoint), nil
}

// endpoint is a call of a tool with arguments A.
type endpoint[A, R any] = func(ctx context.Context, arguments A, opts ...tool.Option) (R, error)

// value gives a call its time.
func value[A, R any](limit *Error, next endpoint[A, R]) endpoint[A, R] {
	if limit == nil {
		return next
	}
	return func(ctx context.Context, arguments A, opts ...tool.Option) (R, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit.Timeout, limit)
		defer cancel()
		return await(ctx, limit, func() (R, error) { return next(ctx, arguments, opts...) }, func(R) {})
	}
}

// stream gives a call and its stream their time. Its context ends with the stream.
func stream[A, T any](limit *Error, next endpoint[A, *schema.StreamReader[T]]) endpoint[A, *schema.StreamReader[T]] {
	if limit == nil {
		return next
	}
	return func(ctx context.Context, arguments A, opts ...tool.Option) (*schema.StreamReader[T], error) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit.Timeout, limit)
		s, err := await(ctx, limit, func() (*schema.StreamReader[T], error) { return next(ctx, arguments, opts...) },
			(*schema.StreamReader[T]).Close)
		if err != nil || s == nil {
			cancel()
			return s, err
		}
		s, abort := schema.StreamReaderWithAbort(s)
		stop := context.AfterFunc(ctx, func() {
			if context.Cause(ctx) == error(limit) {
				abort(limit)
			}
		})
		return schema.StreamReaderWithConvert(s, func(chunk T) (T, error) { return chunk, nil },
			schema.WithErrWrapper(func(err error) error { return named(ctx, limit, err) }),
			schema.WithOnEOF(func() (any, error) {
				stop()
				cancel()
				return nil, io.EOF
			})), nil
	}
}

// outcome is how a call ended.
type outcome[R any] struct {
	value R
	err   error
}

var errGoexit = errors.New("the tool ended its goroutine (runtime.Goexit)")

// await runs a call in a goroutine of its own and waits for it until its time is up; what comes then is dropped. If its
// context ends for another reason the call is waited for: an agent in it has to stop first.
func await[R any](ctx context.Context, limit *Error, call func() (R, error), drop func(R)) (result R, err error) {
	ended := make(chan outcome[R], 1)
	var over atomic.Bool
	go func() {
		o := outcome[R]{err: errGoexit}
		defer func() {
			if v := recover(); v != nil {
				o.err = safe.NewPanicError(v, debug.Stack())
			}
			if over.CompareAndSwap(false, true) {
				ended <- o
			} else if o.err == nil {
				drop(o.value)
			}
		}()
		o.value, o.err = call()
	}()
	select {
	case o := <-ended:
		return o.value, named(ctx, limit, o.err)
	case <-ctx.Done():
	}
	if context.Cause(ctx) == error(limit) && over.CompareAndSwap(false, true) {
		return result, limit
	}
	o := <-ended
	return o.value, named(ctx, limit, o.err)
}

// named is the error of a call; that of one that gave up because its time was over says so.
func named(ctx context.Context, limit *Error, err error) error {
	if err != nil && context.Cause(ctx) == error(limit) && errors.Is(err, context.DeadlineExceeded) {
		return limit
	}
	return err
}
