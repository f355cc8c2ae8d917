package adk

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// storeDeed is something that a store does instead of its work.
type storeDeed func(ctx context.Context) error

// badStore does a deed in the operations that are named in it.
type badStore struct {
	*deletable
	deed storeDeed
	get  bool
}

func (s *badStore) Get(ctx context.Context, id string) ([]byte, bool, error) {
	if !s.get {
		return s.deletable.Get(ctx, id)
	}
	return nil, false, s.deed(ctx)
}
func (s *badStore) Set(ctx context.Context, _ string, _ []byte) error { return s.deed(ctx) }
func (s *badStore) Delete(ctx context.Context, _ string) error        { return s.deed(ctx) }

var errBadStore = errors.New("bad store")

var badDeeds = map[string]storeDeed{
	"panics": func(context.Context) error { panic(errBadStore) },
	"fails":  func(context.Context) error { return errBadStore },
	"blocks": func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("%w: %w", errBadStore, ctx.Err()) },
}

// TestRunner_BadStores: a store that panics, fails or blocks costs a run what it could not save and nothing else: its
// end is emitted, the waiter of a cancel is released, and the caller gets an error.
// Rule runtime/B15.13.
func TestRunner_BadStores(t *testing.T) {
	for name, deed := range badDeeds {
		for _, durability := range []Durability{OnInterrupt, EveryStep} {
			for _, cancelled := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v/cancelled=%v", name, durability, cancelled), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { testBadStore(t, deed, durability, cancelled) })
				})
			}
		}
	}
}

func testBadStore(t *testing.T, deed storeDeed, durability Durability, cancelled bool) {
	ctx, stop := context.WithTimeout(t.Context(), time.Hour)
	defer stop()
	store := &badStore{deletable: newDeletable(), deed: deed}
	r := NewRunner(ctx, RunnerConfig{Agent: asker(t, "a"), CheckPointStore: store, Durability: durability})
	option, cancel := WithCancel()
	if cancelled {
		cancel(WithAgentCancelMode(CancelAfterChatModel))
	}
	var errs []error
	interrupted := false
	for e := range r.Query(ctx, "hi", WithCheckPointID("1"), option).All() {
		errs = append(errs, e.Err)
		interrupted = e.Action != nil && e.Action.Interrupted != nil
	}
	require.ErrorIs(t, errors.Join(errs...), errBadStore)
	if durability == OnInterrupt {
		require.Equal(t, !cancelled, interrupted, "the interrupt is emitted all the same")
		require.Equal(t, cancelled, errors.As(errs[len(errs)-1], new(*CancelError)))
	}
	handle, _ := cancel()
	handle.Wait()

	store.get = true
	option, cancel = WithCancel()
	_, err := r.Resume(ctx, "1", option)
	require.ErrorIs(t, err, errBadStore)
	handle, _ = cancel()
	require.ErrorIs(t, handle.Wait(), ErrExecutionEnded)
}

// TestRunner_BadStoreAtTheEnd: the steps of a run that has succeeded cannot be removed: it has succeeded all the
// same, and the error comes after its answer.
// Rule runtime/B15.13.
func TestRunner_BadStoreAtTheEnd(t *testing.T) {
	for name, deed := range badDeeds {
		synctest.Test(t, func(t *testing.T) {
			store := &removing{newDeletable(), deed}
			r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", recall(chatAnswer("done"))),
				CheckPointStore: store, Durability: EveryStep})
			all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
			require.Equal(t, []string{ended, "error"}, linesOf(all), name)
			require.ErrorIs(t, all[1].Err, errBadStore)
		})
	}
}

// removing is a store that cannot delete.
type removing struct {
	*deletable
	deed storeDeed
}

func (s *removing) Delete(ctx context.Context, _ string) error { return s.deed(ctx) }
