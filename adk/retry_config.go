package adk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// ErrExceedMaxRetries is matched by the error of a model call that failed, or was rejected, as often as allowed.
var ErrExceedMaxRetries = errors.New("exceeds max retries")

// TypedRetryContext is one call of the model, as [TypedModelRetryConfig].ShouldRetry judges it.
type TypedRetryContext[M MessageType] struct {
	// RetryAttempt counts the calls of the turn from 1.
	RetryAttempt int
	// InputMessages and Options are what the model got.
	InputMessages []M
	Options       []model.Option
	// OutputMessage is the answer. With Err it is what came before the error, or nil.
	OutputMessage M
	Err           error
}

// RetryContext is the context of calls with ordinary messages.
type RetryContext = TypedRetryContext[*schema.Message]

// TypedRetryDecision is the verdict on a call of the model.
type TypedRetryDecision[M MessageType] struct {
	// Retry has the model called again. Without it the call stands, with its answer or error.
	Retry bool
	// RewriteError, without Retry, is returned in place of the answer or error.
	RewriteError error
	// ModifiedInputMessages, with Retry and if not nil, is the input from now on in this turn;
	// PersistModifiedInputMessages puts it into the history, too.
	ModifiedInputMessages        []M
	PersistModifiedInputMessages bool
	// AdditionalOptions are added to those of the calls to come in this turn.
	AdditionalOptions []model.Option
	// Backoff is how long to wait before the next call. 0 leaves that to the configuration.
	Backoff time.Duration
	// RejectReason is for the consumer of the event stream, see [WillRetryError].
	RejectReason any
}

// RetryDecision is the verdict on calls with ordinary messages.
type RetryDecision = TypedRetryDecision[*schema.Message]

// TypedModelRetryConfig says when an agent calls its model again. The functions must be safe for concurrent use.
type TypedModelRetryConfig[M MessageType] struct {
	// MaxRetries is how many calls may follow the first one of a turn.
	MaxRetries int
	// ShouldRetry judges every call, also those that succeeded; nil lets the call stand. With it, answers that are
	// not streams become events only when they stand.
	ShouldRetry func(ctx context.Context, retryCtx *TypedRetryContext[M]) *TypedRetryDecision[M]
	// IsRetryAble says, where there is no ShouldRetry, which errors deserve another call. Default: all.
	IsRetryAble func(ctx context.Context, err error) bool
	// BackoffFunc says how long to wait before retry number attempt, from 1. Default: 100 ms doubled each time up to
	// 6.4 s, then 10 s, plus up to half of it at random.
	BackoffFunc func(ctx context.Context, attempt int) time.Duration
}

// ModelRetryConfig is the configuration for ordinary messages.
type ModelRetryConfig = TypedModelRetryConfig[*schema.Message]

// RetryExhaustedError says that the last call allowed failed, too, or was rejected. It matches [ErrExceedMaxRetries]
// and whatever LastErr matches.
type RetryExhaustedError struct {
	LastErr      error
	TotalRetries int
}

func (e *RetryExhaustedError) Error() string {
	if e.LastErr == nil {
		return ErrExceedMaxRetries.Error()
	}
	return fmt.Sprintf("%v: last error: %v", ErrExceedMaxRetries, e.LastErr)
}

// Unwrap returns [ErrExceedMaxRetries].
func (e *RetryExhaustedError) Unwrap() error { return ErrExceedMaxRetries }

// Is also looks into LastErr.
func (e *RetryExhaustedError) Is(target error) bool {
	return e.LastErr != nil && errors.Is(e.LastErr, target)
}

// As also looks into LastErr.
func (e *RetryExhaustedError) As(target any) bool {
	return e.LastErr != nil && errors.As(e.LastErr, target)
}

// WillRetryError ends the event stream of an answer that does not count, because the model is called again (or was
// rejected for the last time). What came before it should be taken back from the user.
type WillRetryError struct {
	// ErrStr is the text of what was wrong.
	ErrStr string
	// RetryAttempt counts the calls of the turn from 0.
	RetryAttempt int

	err          error
	rejectReason any
}

func (e *WillRetryError) Error() string { return e.ErrStr }

// Unwrap returns the error of the call; nil if the answer was rejected, or after the error was saved.
func (e *WillRetryError) Unwrap() error { return e.err }

// RejectReason is that of the decision; nil after the error was saved.
func (e *WillRetryError) RejectReason() any { return e.rejectReason }

func init() {
	schema.RegisterName[*WillRetryError]("eino_adk_chatmodel_will_retry_error")
}
