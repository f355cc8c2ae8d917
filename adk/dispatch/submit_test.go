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
)

// barrierStore is a store in which the first two that list runs wait for each other.
type barrierStore struct {
	checkpoint.RunStore
	lists sync.WaitGroup
	left  atomic.Int32
}

func newBarrierStore(store checkpoint.RunStore) *barrierStore {
	s := &barrierStore{RunStore: store}
	s.lists.Add(2)
	s.left.Store(2)
	return s
}

func (s *barrierStore) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.RunInfo, error] {
	var runs []checkpoint.RunInfo
	for info, err := range s.RunStore.List(ctx, q) {
		if err != nil {
			panic(err)
		}
		runs = append(runs, info)
	}
	if s.left.Add(-1) >= 0 {
		s.lists.Done()
	}
	s.lists.Wait()
	return func(yield func(checkpoint.RunInfo, error) bool) {
		for _, info := range runs {
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
	both := func(t *testing.T, onBusy dispatch.OnBusy) (errs []error, status map[string]checkpoint.Status) {
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
		status = map[string]checkpoint.Status{}
		for info, err := range store.List(t.Context(), checkpoint.Query{Key: "ana"}) {
			require.NoError(t, err)
			status[info.ID] = info.Status
		}
		return errs, status
	}
	t.Run("rejected", func(t *testing.T) {
		errs, status := both(t, dispatch.Reject)
		require.Len(t, status, 1)
		refused := errors.Join(errs...)
		require.ErrorIs(t, refused, checkpoint.ErrRunBusy)
		for i, err := range errs {
			require.Equal(t, err == nil, status[fmt.Sprint(i)] == checkpoint.Ready)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		errs, status := both(t, dispatch.Interrupt)
		require.NoError(t, errors.Join(errs...))
		require.ElementsMatch(t, []checkpoint.Status{checkpoint.Ready, checkpoint.Paused},
			slices.Collect(maps.Values(status)))
	})
}
