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
		slow := countingExecutor{counts: func() (int, error) {
			time.Sleep(time.Minute)
			return 2, nil
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
		ok, err = l.add(t.Context(), slow, most)
		require.False(t, ok, "there are as many as there may be")
		require.NoError(t, err)
	})
}

func TestLoad_AsksAgainBehindAFailure(t *testing.T) {
	var l load
	away, fails := errors.New("away"), true
	all := countingExecutor{counts: func() (int, error) {
		if fails {
			fails = false
			panic(away)
		}
		return 3, nil
	}}
	require.PanicsWithValue(t, away, func() { _, _ = l.add(t.Context(), all, 4) })
	ok, err := l.add(t.Context(), all, 4)
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = l.add(t.Context(), all, 4)
	require.NoError(t, err)
	require.False(t, ok)
	broken := countingExecutor{counts: func() (int, error) { return 0, away }}
	_, err = new(load).add(t.Context(), broken, 4)
	require.ErrorIs(t, err, away)
}
