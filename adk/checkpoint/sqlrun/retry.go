package sqlrun

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weftgo/weft/runs"
)

// ErrUnavailable is matched by the error of a call that could not be made: the database was busy, or out of reach, for
// as long as the store tries ([Config.Patience]). It may be made again.
var ErrUnavailable = errors.New("the database is not available: try again later")

// againError is an error that another attempt may not meet.
type againError struct{ error }

func (e againError) Unwrap() error { return e.error }

// again marks an error as one that another attempt may not meet, if that is so.
func again(retryable bool, err error) error {
	if err == nil || !retryable {
		return err
	}
	return againError{err}
}

// retry does something until it succeeds, fails for good, or the patience of the store is over. attempt counts from 0: an
// earlier one may have done everything and failed to say so. The context is the context of the attempt.
func (s *engine) retry(ctx context.Context, do func(ctx context.Context, attempt int) error) error {
	began := time.Now()
	for attempt := 0; ; attempt++ {
		err := s.attempt(ctx, attempt, do)
		if err == nil {
			return nil
		}
		if ended := ctx.Err(); ended != nil {
			if errors.Is(err, ended) {
				return err
			}
			return fmt.Errorf("%w: %w", ended, err)
		}
		if marked := (againError{}); errors.As(err, &marked) {
			err = marked.error
		} else if !errors.Is(err, context.DeadlineExceeded) && !s.dialect.Retryable(err) {
			if full := s.dialect.Full; full != nil && full(err) {
				err = fmt.Errorf("%w: %w", runs.ErrFull, err)
			}
			return err
		}
		if time.Since(began) >= s.patience {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		pause := min(5*time.Millisecond<<min(attempt, 8), time.Second)
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-ctx.Done():
		}
	}
}

// attempt bounds the time of one attempt: a network may lose an answer without saying so.
func (s *engine) attempt(ctx context.Context, attempt int, do func(ctx context.Context, attempt int) error) error {
	if s.answerIn <= 0 {
		return do(ctx, attempt)
	}
	ctx, cancel := context.WithTimeout(ctx, s.answerIn)
	defer cancel()
	return do(ctx, attempt)
}
