package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
)

// barrierStore is a store in which the first two that list runs wait for each other.
type barrierStore struct {
	runs.Store
	lists sync.WaitGroup
	left  atomic.Int32
}

func newBarrierStore(store runs.Store) *barrierStore {
	s := &barrierStore{Store: store}
	s.lists.Add(2)
	s.left.Store(2)
	return s
}

func (s *barrierStore) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	var all []runs.Info
	for info, err := range s.Store.List(ctx, q) {
		if err != nil {
			panic(err)
		}
		all = append(all, info)
	}
	if s.left.Add(-1) >= 0 {
		s.lists.Done()
	}
	s.lists.Wait()
	return func(yield func(runs.Info, error) bool) {
		for _, info := range all {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Two callers that submit with one key at the same moment see the key free, and still only one run is executed.
//
// Rule distributed/D10.
func TestSubmit_OfTwoOfOneKeyAtTheSameMomentOneCounts(t *testing.T) {
	both := func(t *testing.T, onBusy dispatch.OnBusy) (errs []error, status map[string]runs.Status) {
		store := checkpoint.NewMemoryStore()
		d := dispatch.New(newBarrierStore(store), dispatch.Config{})
		errs = make([]error, 2)
		var submitted sync.WaitGroup
		for i := range errs {
			submitted.Go(func() {
				job := jobOf(fmt.Sprint(i), "a")
				job.Key, job.OnBusy = "ana", onBusy
				_, errs[i] = d.Submit(t.Context(), job)
			})
		}
		submitted.Wait()
		status = map[string]runs.Status{}
		for info, err := range store.List(t.Context(), runs.Query{Key: "ana"}) {
			require.NoError(t, err)
			status[info.ID] = info.Status
		}
		return errs, status
	}
	t.Run("rejected", func(t *testing.T) {
		errs, status := both(t, dispatch.Reject)
		require.Len(t, status, 1)
		refused := errors.Join(errs...)
		require.ErrorIs(t, refused, runs.ErrBusy)
		for i, err := range errs {
			require.Equal(t, err == nil, status[fmt.Sprint(i)] == runs.Ready)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		errs, status := both(t, dispatch.Interrupt)
		require.NoError(t, errors.Join(errs...))
		require.ElementsMatch(t, []runs.Status{runs.Ready, runs.Paused},
			slices.Collect(maps.Values(status)))
	})
}
