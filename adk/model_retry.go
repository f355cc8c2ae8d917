package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/backoff"
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

// answer has the history answered.
func (t *modelTurn[M]) answer(ctx context.Context) (answer M, err error) {
	defer t.failOpen()
	if t.chain.retry != nil || t.chain.failover != nil {
		return t.generateWithRetry(ctx)
	}
	a := t.newAttempt()
	a.run(ctx, t.chain.target, modelRequest[M]{t.input, t.options})
	if a.err != nil {
		a.fail()
		return answer, a.err
	}
	a.accept()
	return a.message, nil
}

// failOpen closes the attempt that a panic of the user's code, or the end of the goroutine, has left.
func (t *modelTurn[M]) failOpen() {
	if t.open != nil {
		t.open.fail()
	}
}

// verdict is what becomes of an attempt.
type verdict[M MessageType] struct {
	again bool
	// err becomes that of the turn if the attempt stands or no other is allowed.
	err error
	// rejected: a good answer was not good enough.
	rejected bool
	decision *TypedRetryDecision[M]
}

// modelRequest is what a model is asked.
type modelRequest[M MessageType] struct {
	input   []M
	options []model.Option
}

// tryWithRetries calls one model until an attempt stands. The last attempt is left open, unless it was rejected.
func (t *modelTurn[M]) tryWithRetries(ctx context.Context, target *modelTarget[M], input []M) (a *modelAttempt[M], err error) {
	retry, request := t.chain.retry, modelRequest[M]{input, t.options}
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil && a != nil {
			return a, err
		}
		a = t.newAttempt()
		a.run(ctx, target, request)
		if retry == nil {
			return a, a.err
		}
		v := a.judge(ctx, n, request)
		if !v.again {
			return a, v.err
		}
		cause := a.err
		if v.rejected {
			cause = fmt.Errorf("model output rejected by ShouldRetry at attempt %d", n+1)
		}
		exhausted := n >= retry.MaxRetries
		if !exhausted || v.decision != nil {
			because := &WillRetryError{ErrStr: cause.Error(), RetryAttempt: n, err: a.err}
			if v.decision != nil {
				because.rejectReason = v.decision.RejectReason
			}
			a.reject(because)
		}
		if exhausted {
			return a, &RetryExhaustedError{LastErr: cause, TotalRetries: retry.MaxRetries}
		}
		if request, err = t.applyDecision(ctx, v.decision, request); err != nil {
			return a, err
		}
		if err := backoff.Wait(ctx, pause(ctx, retry, v.decision, n+1)); err != nil {
			return a, err
		}
		t.countRetry(ctx, n+1)
	}
}

// judge decides on an attempt, the n-th from 0.
func (a *modelAttempt[M]) judge(ctx context.Context, n int, request modelRequest[M]) verdict[M] {
	c := a.turn.chain.retry
	stands := verdict[M]{err: a.err}
	if a.err != nil && (isFinal(a.err) || a.turn.run.stopped()) {
		return stands
	}
	if c.ShouldRetry == nil {
		if a.err == nil || ctx.Err() != nil || !c.retryable(ctx, a.err) {
			return stands
		}
		return verdict[M]{again: true}
	}
	d := c.decide(ctx, &TypedRetryContext[M]{
		RetryAttempt: n + 1, InputMessages: request.input, Options: request.options, OutputMessage: a.message, Err: a.err,
	})
	switch {
	case d == nil:
		return stands
	case d.Retry:
		return verdict[M]{again: true, rejected: a.err == nil, decision: d}
	case d.RewriteError != nil:
		stands.err = d.RewriteError
	}
	return stands
}

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

// applyDecision takes over what the decision says about the attempts to come.
func (t *modelTurn[M]) applyDecision(ctx context.Context, d *TypedRetryDecision[M], request modelRequest[M]) (modelRequest[M], error) {
	if d == nil {
		return request, nil
	}
	if len(d.AdditionalOptions) > 0 {
		request.options = append(slices.Clip(request.options), d.AdditionalOptions...)
		t.options = request.options
	}
	if d.ModifiedInputMessages == nil {
		return request, nil
	}
	request.input = slices.Clip(d.ModifiedInputMessages)
	if !d.PersistModifiedInputMessages {
		return request, nil
	}
	return request, compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.Messages = request.input
		return nil
	})
}

// pause is how long to wait before retry number n.
func pause[M MessageType](ctx context.Context, retry *TypedModelRetryConfig[M], d *TypedRetryDecision[M], n int) time.Duration {
	switch {
	case d != nil && d.Backoff != 0:
		return d.Backoff
	case retry.BackoffFunc != nil:
		defer blamePanic("BackoffFunc")
		return retry.BackoffFunc(ctx, n)
	}
	return backoff.Default(n)
}

// countRetry notes in the state which retry runs.
func (t *modelTurn[M]) countRetry(ctx context.Context, n int) {
	_ = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.RetryAttempt = n
		return nil
	})
}
