package backoff

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Rule agent/RT-2.
func TestDefault_DoublesAndStaysBounded(t *testing.T) {
	require.Equal(t, 100*time.Millisecond, Default(0))
	for n := 1; n <= 12; n++ {
		base := 10 * time.Second
		if n <= 7 {
			base = 100 * time.Millisecond << (n - 1)
		}
		for range 200 {
			d := Default(n)
			require.GreaterOrEqual(t, d, base)
			require.LessOrEqual(t, d, base+base/2)
		}
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		require.NoError(t, Wait(t.Context(), 0))
		require.NoError(t, Wait(t.Context(), -time.Second))
		require.Zero(t, time.Since(start))
		require.NoError(t, Wait(t.Context(), time.Second))
		require.Equal(t, time.Second, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, Wait(ctx, time.Hour), context.DeadlineExceeded)
		require.Equal(t, 2*time.Second, time.Since(start))
		require.ErrorIs(t, Wait(ctx, 0), context.DeadlineExceeded)
	})
}
