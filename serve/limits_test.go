package serve

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// countingExecutor answers the counts of runs with a function.
type countingExecutor struct {
	executor
	counts func() (int, error)
}

func (c countingExecutor) count(context.Context, runs.Query) (int, error) { return c.counts() }

func TestLoad_ASlowStoreStopsNoOtherStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 5
		var l load
		kept := 2
		slow := countingExecutor{counts: func() (int, error) {
			defer time.Sleep(time.Minute)
			return kept, nil
		}}
		first := make(chan bool)
		go func() {
			ok, err := l.add(t.Context(), slow, most)
			first <- ok && err == nil
		}()
		synctest.Wait()
		began := time.Now()
		ok, err := l.add(t.Context(), slow, most)
		require.True(t, ok)
		require.NoError(t, err)
		require.Zero(t, time.Since(began), "it goes by what is known")
		require.True(t, <-first)
		ok, err = l.add(t.Context(), slow, most)
		require.True(t, ok, "the store has two, and two began here")
		require.NoError(t, err)
		kept = most
		ok, err = l.add(t.Context(), slow, most)
		require.False(t, ok, "there are as many as there may be")
		require.NoError(t, err)
	})
}

func TestLoad_AsksAgainBehindAFailure(t *testing.T) {
	var l load
	away, fails, kept := errors.New("away"), true, 3
	all := countingExecutor{counts: func() (int, error) {
		if fails {
			fails = false
			panic(away)
		}
		return kept, nil
	}}
	require.PanicsWithValue(t, away, func() { _, _ = l.add(t.Context(), all, 4) })
	ok, err := l.add(t.Context(), all, 4)
	require.NoError(t, err)
	require.True(t, ok)
	kept = 4
	ok, err = l.add(t.Context(), all, 4)
	require.NoError(t, err)
	require.False(t, ok)
	broken := countingExecutor{counts: func() (int, error) { return 0, away }}
	_, err = new(load).add(t.Context(), broken, 4)
	require.ErrorIs(t, err, away)
}

// A run that has ended makes room at once, although the server is not told.
func TestLoad_RefusesNoneBecauseOfRunsThatHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3
		var l load
		running, asked := 0, 0
		store := countingExecutor{counts: func() (int, error) {
			asked++
			return running, nil
		}}
		for i := range 10 * most { // each has ended when the next one is started
			ok, err := l.add(t.Context(), store, most)
			require.NoError(t, err)
			require.True(t, ok, "run %d", i)
		}
		require.LessOrEqual(t, asked, 10, "it is asked when the runs that were started would fill the server")

		running = most
		for range most {
			_, err := l.add(t.Context(), store, most)
			require.NoError(t, err)
		}
		asked = 0
		for range 100 {
			ok, err := l.add(t.Context(), store, most)
			require.NoError(t, err)
			require.False(t, ok)
		}
		require.Zero(t, asked, "it is known that the server is full")
	})
}

// Starts that are in doubt wait for the answer that one of them asks for.
func TestLoad_StartsInDoubtAskTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3
		var l load
		asked := 0
		store := countingExecutor{counts: func() (int, error) {
			asked++
			time.Sleep(time.Millisecond)
			return 0, nil
		}}
		for range most {
			ok, err := l.add(t.Context(), store, most)
			require.True(t, ok)
			require.NoError(t, err)
		}
		got := make(chan bool, most)
		for range most {
			go func() {
				ok, err := l.add(t.Context(), store, most)
				got <- ok && err == nil
			}()
		}
		for range most {
			require.True(t, <-got)
		}
		require.Equal(t, 2, asked)
	})
}
