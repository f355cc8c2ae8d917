package compose

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
)

// Siblings cost nothing until Done of their context is called.
func TestSiblingContext_IsFreeUntilAsked(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	defer cancel()
	b := &siblingContext{Context: parent}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = b.Err(), b.Value(toolCallKey{})
		b.release(nil)
	}))
}

// Contexts that are unreachable leave nothing behind, and are no danger to tests with synthetic time: the garbage
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

// Nor is a context kept by what it was cancelled for, or by a context that was derived from it and not cancelled.
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

// Nor is it kept by a parent that lives on, or by its own cleanup, though the parent leads to it: a run refers to the
// calls that it has started, and those to what they were given.
func TestSiblingContext_IsCollectedWithARunThatRefersToIt(t *testing.T) {
	type aRun struct {
		runContext
		siblings *siblingContext
	}
	for name, derive := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"parent lives on": func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
		"parent has a value": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithValue(ctx, referring{}, 1), func() {}
		},
		"parent goes with it": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithCancel(context.WithoutCancel(ctx))
		},
		"parent is cancelled later": context.WithCancel,
	} {
		t.Run(name, func(t *testing.T) {
			base, cancel := context.WithCancel(context.Background())
			defer cancel()
			parent, later := derive(base)
			r := &aRun{runContext: newRunContext(parent)}
			r.siblings = &siblingContext{Context: r}
			_ = r.siblings.Done()
			gone := weak.Make(r)
			r, parent = nil, nil
			require.Eventually(t, func() bool {
				runtime.GC()
				return gone.Value() == nil
			}, 5*time.Second, time.Millisecond)
			later()
		})
	}
}

// A parent that lives on does not gather what is left of unreachable contexts.
func TestSiblingContext_LeavesItsParent(t *testing.T) {
	parent := &registering{Context: context.Background(), done: make(chan struct{})}
	for range 3 {
		s := &siblingContext{Context: parent}
		_ = s.Done()
	}
	require.Equal(t, 3, parent.count())
	require.Eventually(t, func() bool {
		runtime.GC()
		return parent.count() == 0
	}, 5*time.Second, time.Millisecond)
}

// registering is a context that ends in a way of its own and counts what is to end with it.
type registering struct {
	context.Context
	done   chan struct{}
	places sync.Map
}

func (r *registering) Done() <-chan struct{} { return r.done }

func (r *registering) AfterFunc(f func()) (stop func() bool) {
	key := new(int)
	r.places.Store(key, f)
	return func() bool { r.places.Delete(key); return true }
}

func (r *registering) count() (n int) {
	r.places.Range(func(any, any) bool { n++; return true })
	return n
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
				after := &siblingContext{Context: parent} // Done was not called before the end
				for _, ctx := range []context.Context{before, child, after} {
					<-ctx.Done()
					require.Equal(t, tc.err, ctx.Err())
					require.Equal(t, tc.cause, context.Cause(ctx))
				}
			})
		})
	}
}
