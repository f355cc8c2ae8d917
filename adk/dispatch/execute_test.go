package dispatch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
)

// TestStretch_DrainsWhereNothingIsLost: the call ends, and the next caller continues behind it.
// Rule distributed/D6.
func TestStretch_DrainsWhereNothingIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended atomic.Int32
		slow := toolNamed(t, "slow", func(ctx context.Context) (string, error) {
			begun.Add(1)
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				return "", ctx.Err()
			}
			ended.Add(1)
			return "slept", nil
		})
		store := checkpoint.NewMemoryStore()
		d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agentOf(t, "a", slow))}})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		begin := make(chan struct{})
		time.AfterFunc(10*time.Second, func() { close(begin) })
		o, err := d.Execute(t.Context(), "1", dispatch.WithDrain(begin, 0))
		require.NoError(t, err)
		require.Equal(t, runs.Ready, o.Status)
		require.EqualValues(t, 1, ended.Load())
		o, err = d.Execute(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Done, o.Status)
		require.EqualValues(t, 1, begun.Load())
	})
}

// TestStretch_DrainsAtOnceAfterItsTimeout.
// Rule distributed/D6.
func TestStretch_DrainsAtOnceAfterItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		endless := toolNamed(t, "endless", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		d := dispatch.New(checkpoint.NewMemoryStore(),
			dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agentOf(t, "a", endless))}})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		begin := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(begin) }) // in the middle of the call
		begun := time.Now()
		o, err := d.Execute(t.Context(), "1", dispatch.WithDrain(begin, 20*time.Second))
		require.NoError(t, err)
		require.Equal(t, runs.Ready, o.Status)
		require.Equal(t, 21*time.Second, time.Since(begun))
	})
}

// TestFail_SettlesARunThatNobodyExecutes, and not one that is executed or has ended.
func TestFail_SettlesARunThatNobodyExecutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agentOf(t, "a"))}})
		gone := errors.New("its engine is gone")
		require.ErrorIs(t, d.Fail(t.Context(), "1", gone), runs.ErrNotFound)
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		lease, err := store.Acquire(t.Context(), "1", runs.LeaseRequest{})
		require.NoError(t, err)
		require.ErrorIs(t, d.Fail(t.Context(), "1", gone), runs.ErrBusy)
		require.NoError(t, lease.Settle(t.Context(), runs.Settlement{}))

		require.NoError(t, d.Fail(t.Context(), "1", gone))
		o := waitFor(t, d, "1", runs.Failed)
		require.EqualError(t, o.Err, gone.Error())
		require.ErrorIs(t, d.Fail(t.Context(), "1", gone), runs.ErrEnded)
		info, _, err := d.Inspect(t.Context(), "1")
		require.NoError(t, err)
		require.Empty(t, info.Owner)
	})
}

// TestFail_IsTheAnswerToTheRunThatWaits.
// Rule distributed/D8.
func TestFail_IsTheAnswerToTheRunThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{
			"a": dispatch.RunnerOf(agentOf(t, "a", dispatch.AsRun("b", "works")))}})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		o, err := d.Execute(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Waiting, o.Status)
		for child, err := range d.List(t.Context(), runs.Query{Parent: "1"}) {
			require.NoError(t, err)
			require.NoError(t, d.Fail(t.Context(), child.ID, errors.New("its engine is gone")))
		}
		o, err = d.Execute(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Failed, o.Status)
		require.ErrorContains(t, o.Err, "its engine is gone")
	})
}

// Neither the clock of this process nor who asks makes a run due: its time does.
//
// Rule distributed/D1.
func TestStretch_LeavesARunWhoseTimeHasNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := true
		agent := agentOf(t, "a", toolNamed(t, "work", func(context.Context) (string, error) {
			if failing {
				return "", passing{}
			}
			return "worked", nil
		}))
		d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)},
			MaxAttempts: 2})
		job := jobOf("1", "a")
		job.NotBefore = time.Now().Add(time.Hour)
		_, err := d.Submit(t.Context(), job)
		require.NoError(t, err)
		early := func(in time.Duration) {
			t.Helper()
			for range 3 { // asking is no attempt
				o, err := d.Execute(t.Context(), "1")
				require.NoError(t, err)
				require.Equal(t, runs.Ready, o.Status)
				require.Equal(t, time.Now().Add(in).UnixMicro(), o.WakeAt.UnixMicro())
			}
		}
		early(time.Hour)
		time.Sleep(time.Hour)
		o, err := d.Execute(t.Context(), "1") // fails, and is to be tried again in 5 seconds
		require.NoError(t, err)
		require.Equal(t, runs.Ready, o.Status)
		failing = false
		early(5 * time.Second)
		time.Sleep(5 * time.Second)
		o, err = d.Execute(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Done, o.Status)
	})
}

// A run that kills its process is not tried again, whatever Retry says of errors that it does not know.
//
// Rule distributed/Q7.
func TestStretch_DoesNotAskToRetryAPoisonedRun(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agentOf(t, "a"))}, MaxAttempts: 1,
		Retry: func(error, int) (time.Duration, bool) { return 0, true }})
	_, err := d.Submit(t.Context(), jobOf("1", "a"))
	require.NoError(t, err)
	_, err = store.Acquire(t.Context(), "1", runs.LeaseRequest{TTL: time.Second}) // and dies
	require.NoError(t, err)
	_, err = store.Acquire(t.Context(), "1", runs.LeaseRequest{Steal: true, TTL: time.Second})
	require.NoError(t, err)
	waitForLeaseOf(t, store, "1")
	o, err := d.Execute(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, runs.Failed, o.Status)
	var poisoned *dispatch.PoisonedError
	require.ErrorAs(t, o.Err, &poisoned)
}

// waitForLeaseOf lets the lease of a process that is gone end.
func waitForLeaseOf(t *testing.T, store runs.Store, id string) {
	t.Helper()
	require.Eventually(t, func() bool {
		info, _, err := store.Inspect(t.Context(), id)
		return err == nil && time.Now().After(info.LeaseUntil)
	}, 10*time.Second, 10*time.Millisecond)
}

// TestStretch_IsMeasured while it is executed: its lease, its steps, the calls in flight. The lease lasts for as long as
// the caller wishes.
// Rules distributed/D1, temporal/W4.
func TestStretch_IsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := toolNamed(t, "slow", func(context.Context) (string, error) {
			time.Sleep(time.Minute)
			return "slept", nil
		})
		store := checkpoint.NewMemoryStore()
		d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agentOf(t, "a", slow))}})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		var m dispatch.Meter
		require.Zero(t, m.Progress())
		go func() {
			_, err := d.Execute(t.Context(), "1", dispatch.WithMeter(&m), dispatch.WithTTL(3*time.Second))
			require.NoError(t, err)
		}()
		time.Sleep(30 * time.Second)
		info, _, err := d.Inspect(t.Context(), "1")
		require.NoError(t, err)
		during := m.Progress()
		require.Equal(t, info.Token, during.Token)
		require.Positive(t, during.Steps)
		require.Equal(t, []string{"slow"}, during.Tools)
		require.Less(t, time.Until(info.LeaseUntil), 4*time.Second)
		time.Sleep(time.Minute)
		after := m.Progress()
		require.Greater(t, after.Steps, during.Steps)
		require.Empty(t, after.Tools)
	})
}

// A run whose state cannot be read behind its lease is not taken for one that does not exist.
func TestExecute_WhatCannotBeReadIsNotMissing(t *testing.T) {
	store := &awayWhenTaken{MemoryStore: checkpoint.NewMemoryStore()}
	d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agentOf(t, "a"))}})
	job := jobOf("1", "a")
	job.NotBefore = time.Now().Add(time.Hour)
	_, err := d.Submit(t.Context(), job)
	require.NoError(t, err)
	_, err = d.Execute(t.Context(), "1")
	require.ErrorIs(t, err, errAway)
	require.NotErrorIs(t, err, runs.ErrNotFound)
}

var errAway = errors.New("the store is away")

// awayWhenTaken is a store that cannot be asked about a run once that was taken.
type awayWhenTaken struct {
	*checkpoint.MemoryStore
	taken bool
}

func (s *awayWhenTaken) Acquire(ctx context.Context, id string, r runs.LeaseRequest) (runs.Lease, error) {
	s.taken = true
	return s.MemoryStore.Acquire(ctx, id, r)
}

func (s *awayWhenTaken) Inspect(ctx context.Context, id string) (runs.Info, bool, error) {
	if s.taken {
		return runs.Info{}, false, errAway
	}
	return s.MemoryStore.Inspect(ctx, id)
}
