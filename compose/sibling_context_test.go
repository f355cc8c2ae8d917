package compose

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
)

// Siblings cost nothing until somebody asks when their context ends.
func TestSiblingContext_IsFreeUntilAsked(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	defer cancel()
	b := &siblingContext{Context: parent}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = b.Err(), b.Value(toolCallKey{})
		b.release(nil)
	}))
}

// Contexts that nobody sees any more leave nothing behind, and are no danger to tests with synthetic time: the garbage
// collector works outside of their bubble. A parent with a deadline may live for days, too.
func TestSiblingContext_IsCollected(t *testing.T) {
	for name, limit := range map[string]time.Duration{"no deadline": 0, "deadline": time.Hour} {
		t.Run(name, func(t *testing.T) {
			parent, cancel := context.WithCancel(context.Background())
			if limit > 0 {
				parent, cancel = context.WithTimeout(context.Background(), limit)
			}
			defer cancel()
			_ = parent.Done() // made out here
			collected := make(chan struct{})
			synctest.Test(t, func(t *testing.T) {
				func() {
					s := &siblingContext{Context: parent}
					_ = s.Done()
					runtime.AddCleanup(s.ending.Load(), func(c chan struct{}) { close(c) }, collected)
				}()
				runtime.GC()
			})
			for range 100 {
				runtime.GC()
				select {
				case <-collected:
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
			t.Fatal("the context was not collected")
		})
	}
}

// Nor is a context kept by what it was cancelled for, or by a context that somebody has made of it and not cancelled.
func TestSiblingContext_IsCollectedWithWhatRefersToIt(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, use := range map[string]func(s *siblingContext){
		"cause":   func(s *siblingContext) { s.cancel(&referring{s}) },
		"context": func(s *siblingContext) { context.AfterFunc(s, func() { _ = s.Err() }) },
	} {
		s := &siblingContext{Context: parent}
		gone := weak.Make(s)
		use(s)
		s = nil
		require.Eventually(t, func() bool {
			runtime.GC()
			return gone.Value() == nil
		}, 5*time.Second, time.Millisecond, name)
	}
}

type referring struct{ to *siblingContext }

func (*referring) Error() string { return "because of it" }

// Siblings see how their parent ends as if they ran under it.
func TestSiblingContext_EndsAsItsParentDoes(t *testing.T) {
	because := errors.New("because")
	for name, tc := range map[string]struct {
		parent func(context.Context) (context.Context, context.CancelFunc)
		err    error
		cause  error
	}{
		"deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Minute)
		}, context.DeadlineExceeded, context.DeadlineExceeded},
		"deadline with a cause": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, time.Minute, because)
		}, context.DeadlineExceeded, because},
		"cancel with a cause": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Minute, func() { cancel(because) })
			return ctx, func() { cancel(nil) }
		}, context.Canceled, because},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := tc.parent(t.Context())
				defer cancel()
				before := &siblingContext{Context: parent}
				child, release := context.WithCancel(before)
				defer release()
				time.Sleep(time.Minute)
				synctest.Wait()
				after := &siblingContext{Context: parent} // nobody asked before the end
				for _, ctx := range []context.Context{before, child, after} {
					<-ctx.Done()
					require.Equal(t, tc.err, ctx.Err())
					require.Equal(t, tc.cause, context.Cause(ctx))
				}
			})
		})
	}
}
