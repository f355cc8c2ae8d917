package tooltimeout

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"sync/atomic"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// inTime gives a call, and its stream if it has one, their time. The context of a call ends with its result.
func (m *middleware[M]) inTime(
	ctx context.Context, call *compose.ToolInput, next compose.ToolCallEndpoint,
) (*compose.ToolCallOutput, error) {
	limit := m.limit(call)
	if limit == nil {
		return next(ctx, call)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit.Timeout, limit)
	own := *call // it may be in use when the caller has stopped waiting
	out, err := await(ctx, limit, func() (*compose.ToolCallOutput, error) { return next(ctx, &own) })
	switch {
	case err != nil:
		cancel()
		return nil, err
	case out.ResultStream != nil:
		out.ResultStream = stream(ctx, cancel, limit, out.ResultStream)
	case out.TextStream != nil:
		out.TextStream = stream(ctx, cancel, limit, out.TextStream)
	default:
		cancel()
	}
	return out, nil
}

// stream gives a stream what is left of its time. Its context ends with it.
func stream[T any](
	ctx context.Context, cancel context.CancelFunc, limit *Error, s *schema.StreamReader[T],
) *schema.StreamReader[T] {
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
		}))
}

// outcome is the outcome of a call.
type outcome struct {
	output *compose.ToolCallOutput
	err    error
}

var errGoexit = errors.New("the tool ended its goroutine (runtime.Goexit)")

// await runs a call in a goroutine of its own and waits for it until its time is up; what comes then is dropped. If its
// context ends for another reason the call is waited for: an agent in it has to stop first.
func await(
	ctx context.Context, limit *Error, call func() (*compose.ToolCallOutput, error),
) (*compose.ToolCallOutput, error) {
	ended := make(chan outcome, 1)
	var over atomic.Bool
	go func() {
		o := outcome{err: errGoexit}
		defer func() {
			if v := recover(); v != nil {
				o.err = safe.NewPanicError(v, debug.Stack())
			}
			if over.CompareAndSwap(false, true) {
				ended <- o
			} else if o.err == nil {
				o.output.Close()
			}
		}()
		o.output, o.err = call()
	}()
	select {
	case o := <-ended:
		return o.output, named(ctx, limit, o.err)
	case <-ctx.Done():
	}
	if context.Cause(ctx) == error(limit) && over.CompareAndSwap(false, true) {
		return nil, limit
	}
	o := <-ended
	return o.output, named(ctx, limit, o.err)
}

// named returns the error of a call; the error of a call that gave up because its time was over says so.
func named(ctx context.Context, limit *Error, err error) error {
	if err != nil && context.Cause(ctx) == error(limit) && errors.Is(err, context.DeadlineExceeded) {
		return limit
	}
	return err
}
