package adk

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/internal/safe"
)

// failsOver reports whether another model is to be tried.
func (t *modelTurn[M]) failsOver(ctx context.Context, n uint, last *modelAttempt[M], err error) bool {
	failover := t.chain.failover
	if failover == nil || n > failover.MaxRetries || ctx.Err() != nil || isFinal(err) {
		return false
	}
	defer blamePanic("ShouldFailover")
	return failover.ShouldFailover(ctx, last.message, err)
}

// nextModel asks for the model to try now, and its input.
func (t *modelTurn[M]) nextModel(ctx context.Context, n uint, partial M, err error) (*modelTarget[M], []M, error) {
	m, input, err := t.getFailoverModel(ctx, &FailoverContext[M]{
		FailoverAttempt: n, InputMessages: t.input, LastOutputMessage: partial, LastErr: err,
	})
	if err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if m == nil {
		return nil, nil, fmt.Errorf("failover GetFailoverModel returned nil model at attempt %d", n)
	}
	if input == nil {
		input = t.input
	}
	if safe.Same(m, t.chain.target.model) {
		return t.chain.target, input, nil
	}
	return newFallback(ctx, m), input, nil
}

func (t *modelTurn[M]) getFailoverModel(
	ctx context.Context, fc *FailoverContext[M],
) (_ model.BaseModel[M], _ []M, err error) {
	defer blame("GetFailoverModel", &err)
	return t.chain.failover.GetFailoverModel(ctx, fc)
}

// generateWithRetry calls the model, and others where failover says so, until an answer or the last error stands.
func (t *modelTurn[M]) generateWithRetry(ctx context.Context) (answer M, err error) {
	target := t.chain.target
	if t.run.fallback != nil {
		target = t.run.fallback
	}
	last, err := t.tryWithRetries(ctx, target, t.input)
	for n := uint(1); err != nil && t.failsOver(ctx, n, last, err); n++ {
		last.reject(&WillRetryError{ErrStr: err.Error(), RetryAttempt: int(n) - 1, err: err})
		var input []M
		if target, input, err = t.nextModel(ctx, n, last.message, err); err != nil {
			return answer, err
		}
		if last, err = t.tryWithRetries(ctx, target, input); err == nil {
			t.run.fallback = target
		}
	}
	if err != nil && t.run.stopped() { // the next life tries it again: it is no failure of the run
		last.cut()
		return answer, t.run.stoppedOr(ctx, err)
	}
	if err != nil {
		last.fail()
		return answer, err
	}
	last.accept()
	return last.message, nil
}
