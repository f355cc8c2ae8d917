package adk

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLoopContext_IsFreeUntilAsked(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := new(loopContext)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		*c = loopContext{Context: parent}
		_, _ = c.Err(), c.Value(executionKey{})
		c.cancel(nil)
	}))
}

func TestLoopContext_EndsWithItsLoop(t *testing.T) {
	for name, tc := range map[string]struct{ given, cause error }{
		"the run has ended":  {nil, context.Canceled},
		"the reader is gone": {errReaderGone, errReaderGone},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := &loopContext{Context: t.Context()}, &loopContext{Context: t.Context()}
			child, release := context.WithCancel(before)
			defer release()
			require.NoError(t, before.Err())
			before.cancel(tc.given)
			after.cancel(tc.given) // Done was not called before
			late, release := context.WithCancel(after)
			defer release()
			for _, ctx := range []context.Context{before, child, after, late} {
				require.Equal(t, context.Canceled, ctx.Err())
				require.Equal(t, tc.cause, context.Cause(ctx))
				<-ctx.Done()
			}
		})
	}
}

func TestLoopContext_EndsAsItsParentDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		before, after := &loopContext{Context: parent}, &loopContext{Context: parent}
		child, release := context.WithCancel(before)
		defer release()
		time.Sleep(time.Minute)
		synctest.Wait()
		before.cancel(errReaderGone) // too late
		after.cancel(nil)
		for _, ctx := range []context.Context{before, child, after} {
			<-ctx.Done()
			require.Equal(t, context.DeadlineExceeded, ctx.Err())
			require.Equal(t, context.DeadlineExceeded, context.Cause(ctx))
		}
	})
}
