package nats

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrUnavailable is matched by the error of a call that could not be made: the server was out of reach, or had no
// leader, for as long as the store tries ([Config.Patience]). It may be made again.
var ErrUnavailable = errors.New("the server is not available: try again later")

// retry does something until it succeeds, fails for good, or the patience of the store is over. An attempt that failed
// with an error for which isUnclear reports true may have done everything.
func (s *Store) retry(ctx context.Context, do func(ctx context.Context) error) error {
	began := time.Now()
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := do(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			if errors.Is(err, ctx.Err()) {
				return err
			}
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case !errors.Is(err, errChanged) && !mayPass(err):
			return err
		case time.Since(began) >= s.patience:
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		case n == 0 && errors.Is(err, errChanged):
			continue // most are alone the second time
		}
		pause := min(time.Millisecond<<min(n, 10), time.Second)
		_ = sleep(ctx, pause/2+rand.N(pause))
	}
}

// mayPass reports whether another attempt may not meet an error.
func mayPass(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case codeNotAvailable, codeTooManyBatches, codeTooManyRequests, codeBatchIncomplete:
			return true
		}
		return false
	}
	return isUnclear(err) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// isUnclear reports whether what failed may have been done nevertheless: the answer did not come.
func isUnclear(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrDisconnected)
}
