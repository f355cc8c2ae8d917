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
//
// Its fields, which are documented at [TypedRetryContext]:
//
//   - RetryAttempt: counts the calls of the turn from 1
//   - InputMessages, Options: what the model got
//   - OutputMessage: the answer, or what came of it before the error
//   - Err: why the call failed, nil if it did not
type RetryContext = TypedRetryContext[*schema.Message]

// TypedRetryDecision is the verdict on a call of the model.
type TypedRetryDecision[M MessageType] struct {
	// Retry has the model called again. Without it the call stands, with its answer or error.
	Retry bool
	// RewriteError, without Retry, is returned instead of the answer or error.
	RewriteError error
	// ModifiedInputMessages, with Retry and if not nil, is the input from now on in this turn;
	// PersistModifiedInputMessages puts it into the history, too.
	ModifiedInputMessages        []M
	PersistModifiedInputMessages bool
	// AdditionalOptions are added to the options of the calls to come in this turn.
	AdditionalOptions []model.Option
	// Backoff is the time to wait before the next call. 0 leaves that to the configuration.
	Backoff time.Duration
	// RejectReason is for the consumer of the event stream, see [WillRetryError].
	RejectReason any
}

// RetryDecision is the verdict on calls with ordinary messages.
//
// Its fields, which are documented at [TypedRetryDecision]:
//
//   - Retry: has the model called again
//   - RewriteError: is returned instead of the answer or error, without Retry
//   - ModifiedInputMessages: the input of the next call
//   - PersistModifiedInputMessages: puts that input into the history, too
//   - AdditionalOptions: are added to the options of the calls to come in this turn
//   - Backoff: how long to wait; 0 leaves that to the configuration
//   - RejectReason: what readers of the events get to know
type RetryDecision = TypedRetryDecision[*schema.Message]

// TypedModelRetryConfig says when an agent calls its model again. The functions must be safe for concurrent use.
type TypedModelRetryConfig[M MessageType] struct {
	// MaxRetries is the number of calls that may follow the first one of a turn.
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
//
// Its fields, which are documented at [TypedModelRetryConfig]:
//
//   - MaxRetries: how many calls may follow the first one of a turn
//   - ShouldRetry: judges every call, also those that succeeded
//   - IsRetryAble: without ShouldRetry, which errors deserve another call; default all
//   - BackoffFunc: how long to wait before a retry
type ModelRetryConfig = TypedModelRetryConfig[*schema.Message]

// decide asks ShouldRetry.
func (c *TypedModelRetryConfig[M]) decide(ctx context.Context, rc *TypedRetryContext[M]) *TypedRetryDecision[M] {
	defer blamePanic("ShouldRetry")
	return c.ShouldRetry(ctx, rc)
}

// retryable asks IsRetryAble, without which every error is.
func (c *TypedModelRetryConfig[M]) retryable(ctx context.Context, err error) bool {
	defer blamePanic("IsRetryAble")
	return c.IsRetryAble == nil || c.IsRetryAble(ctx, err)
}

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
// rejected for the last time). What came before it should be withdrawn from the user's view.
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

// RejectReason is the reason that the decision gave; nil after the error was saved.
func (e *WillRetryError) RejectReason() any { return e.rejectReason }

func init() {
	schema.RegisterName[*WillRetryError]("eino_adk_chatmodel_will_retry_error")
}

// FailoverContext describes the failed attempt to [ModelFailoverConfig].GetFailoverModel.
type FailoverContext[M MessageType] struct {
	// FailoverAttempt counts from 1.
	FailoverAttempt uint
	// InputMessages is the input of the turn.
	InputMessages []M
	// LastOutputMessage is the output of the last model before it failed, nil without any.
	LastOutputMessage M
	LastErr           error
}

// ModelFailoverConfig lets another model answer where one failed. With a retry configuration each model is retried
// first. The functions must be safe for concurrent use.
type ModelFailoverConfig[M MessageType] struct {
	// MaxRetries limits the other models that a turn tries.
	MaxRetries uint
	// ShouldFailover says whether a failure deserves another model. Required. outputMessage is what came before the
	// error, or nil.
	ShouldFailover func(ctx context.Context, outputMessage M, outputErr error) bool
	// GetFailoverModel chooses the model and, if not nil, other input for it. Required. The one that answers stays the
	// first choice for the rest of the run.
	GetFailoverModel func(ctx context.Context, failoverCtx *FailoverContext[M]) (failoverModel model.BaseModel[M], failoverModelInputMessages []M, failoverErr error)
}
