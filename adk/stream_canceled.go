package adk

import "github.com/weftgo/weft/schema"

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
