package sqlrun

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var errBusy = errors.New("the database is busy")

func patient(patience time.Duration) *Store {
	return &Store{engine: &engine{patience: patience, dialect: Dialect{
		Retryable: func(err error) bool { return errors.Is(err, errBusy) },
	}}}
}

func TestRetry_TriesAgainUntilItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts []int
		err := patient(time.Minute).retry(t.Context(), func(_ context.Context, attempt int) error {
			attempts = append(attempts, attempt)
			if attempt < 3 {
				return errBusy
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, []int{0, 1, 2, 3}, attempts)
	})
}

func TestRetry_IsUnavailableWhenPatienceIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := patient(time.Minute).retry(t.Context(), func(context.Context, int) error { return errBusy })
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorIs(t, err, errBusy)
		require.InDelta(t, 60, time.Since(began).Seconds(), 2)
	})
}

func TestRetry_FailsForGood(t *testing.T) {
	bad, n := errors.New("no such column"), 0
	err := patient(time.Minute).retry(t.Context(), func(context.Context, int) error { n++; return bad })
	require.Equal(t, bad, err)
	require.Equal(t, 1, n)
}

func TestRetry_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := patient(time.Minute).retry(ctx, func(context.Context, int) error { return errBusy })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errBusy)
	})
}
