package live

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRunContext: a run ends with the context of its caller, for the same reason, until it is over.
func TestRunContext(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		caller     func() (context.Context, func())
		err, cause error
	}{
		"cancelled": {func() (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(context.Background())
			return ctx, func() { cancel(boom) }
		}, context.Canceled, boom},
		"too late": {func() (context.Context, func()) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			return ctx, func() { time.Sleep(2 * time.Second); cancel() }
		}, context.DeadlineExceeded, context.DeadlineExceeded},
		"cancelled before it is too late": {func() (context.Context, func()) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			return ctx, cancel
		}, context.Canceled, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				caller, done := c.caller()
				ctx, end, _ := runContext(caller)
				defer end()
				require.NoError(t, ctx.Err())
				done()
				synctest.Wait()
				require.Equal(t, c.err, ctx.Err())
				require.Equal(t, c.cause, context.Cause(ctx))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		caller, cancel := context.WithCancel(context.Background())
		over, endOver, leave := runContext(caller)
		leave()
		endOver() // its reader has read everything
		closed, end, _ := runContext(caller)
		end()
		require.ErrorIs(t, closed.Err(), context.Canceled)
		cancel()
		synctest.Wait()
		require.NoError(t, over.Err(), "whoever observes a run that is over goes on")
	})
}
