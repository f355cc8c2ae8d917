package adk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/backoff"
)

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

// verdict says how an attempt ends.
type verdict[M MessageType] struct {
	again bool
	// err becomes the error of the turn if the attempt stands or no other is allowed.
	err error
	// rejected: a good answer was not good enough.
	rejected bool
	decision *TypedRetryDecision[M]
}

// modelRequest is the request to a model.
type modelRequest[M MessageType] struct {
	input   []M
	options []model.Option
}

// tryWithRetries calls one model until an attempt stands. The last attempt is left open, unless it was rejected.
func (t *modelTurn[M]) tryWithRetries(
	ctx context.Context, target *modelTarget[M], input []M,
) (a *modelAttempt[M], err error) {
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

// applyDecision takes over what the decision says about the attempts to come.
func (t *modelTurn[M]) applyDecision(
	ctx context.Context, d *TypedRetryDecision[M], request modelRequest[M],
) (modelRequest[M], error) {
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

// pause is the time to wait before retry number n.
func pause[M MessageType](
	ctx context.Context, retry *TypedModelRetryConfig[M], d *TypedRetryDecision[M], n int,
) time.Duration {
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
