package adk

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/schema"
)

// receiver reads a stream and gives up when ctx ends.
type receiver[T any] struct {
	ctx context.Context // nil: it never ends
	s   *schema.StreamReader[T]
	// call is the call of the model or tool whose stream it is, if its run can be cancelled.
	call    *cancelscope.Call
	release func() // of ctx, nil if it is not the receiver's own
	// ended is the error with which the wait was given up because ctx has ended.
	ended error
}

func receiverOf[T any](ctx context.Context, s *schema.StreamReader[T]) receiver[T] {
	return receiver[T]{ctx: ctx, s: s}
}

// next returns the next item. A stream whose run was stopped meanwhile is still read: it has been cut off, or had ended
// before, which the reader of the event may have seen. The run goes by that, too.
func (r *receiver[T]) next() (item T, err error) {
	if r.ctx == nil {
		return r.s.Recv()
	}
	item, err = r.s.RecvContext(r.ctx)
	if err != nil && r.call.Stopped() && errors.Is(err, context.Cause(r.ctx)) {
		r.ctx, r.release = context.WithTimeout(context.WithoutCancel(r.ctx), cancelGrace)
		r.call = nil
		item, err = r.s.RecvContext(r.ctx)
	}
	if err != nil && err != io.EOF && r.ctx.Err() != nil && errors.Is(err, r.ctx.Err()) {
		r.ended = err
	}
	return item, err
}

// close closes the stream. If the reader left because its context has ended, the stream ends for the readers of events,
// too: they may never come, and its producer would wait for them.
func (r *receiver[T]) close() {
	if r.ended != nil {
		r.s.Abandon(r.ended)
	} else {
		r.s.Close()
	}
	if r.release != nil {
		r.release()
	}
}

// StreamCanceledError ends the stream of a model or tool whose run was cancelled at once.
type StreamCanceledError struct{}

// ErrStreamCanceled is matched by every [StreamCanceledError].
var ErrStreamCanceled error = &StreamCanceledError{}

func (e *StreamCanceledError) Error() string { return "stream canceled" }

// Is makes errors of this type equal, also one that was saved and restored.
func (e *StreamCanceledError) Is(target error) bool {
	_, ok := target.(*StreamCanceledError)
	return ok
}

func init() {
	schema.RegisterName[*StreamCanceledError]("_eino_adk_stream_cancelled_error")
}

// cancelGrace is the time for which an immediate cancel waits for agents inside a tool call, which stop by themselves, and
// for streams that are being emitted.
const cancelGrace = time.Second
