package adk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
)

// onlyJournal is a plain store with a journal, and nothing else of what the store in memory offers.
func onlyJournal(s *checkpoint.MemoryStore) CheckPointStore { return struct{ plainJournal }{s} }

// keeping makes a runner that keeps steps.
func keeping(store CheckPointStore, agent Agent) *Runner {
	return NewRunner(context.Background(),
		RunnerConfig{Agent: agent, CheckPointStore: store, Durability: EveryStep, KeepSteps: true})
}

// askingAgent is an agent that asks, and is done.
func askingAgent(t *testing.T) Agent {
	return newOrdinary(t, "a", recall(callOf("ask", "c1", "x"), chatAnswer("done")), askTool("ask"))
}

// onePoint is the point at which a run stopped.
func onePoint(t *testing.T, it *AsyncIterator[*AgentEvent]) *InterruptCtx {
	t.Helper()
	_, last := drainAll(t, it)
	require.NotNil(t, last.Action)
	require.NotNil(t, last.Action.Interrupted)
	require.Len(t, last.Action.Interrupted.InterruptContexts, 1)
	return last.Action.Interrupted.InterruptContexts[0]
}

// answering resumes a run with an answer.
func answering(t *testing.T, r *Runner, id, point string, answer any) *AsyncIterator[*AgentEvent] {
	t.Helper()
	it, err := r.ResumeWithParams(t.Context(), id, &ResumeParams{Targets: map[string]any{point: answer}})
	require.NoError(t, err)
	return it
}

// TestKeepSteps_OfARunThatAsks: the steps of all stretches stay, and the run continues from its checkpoint as any other
// one does, in stores of runs and in plain ones.
// Rule steps/FK-1.
func TestKeepSteps_OfARunThatAsks(t *testing.T) {
	for name, open := range map[string]func(*checkpoint.MemoryStore) CheckPointStore{
		"runs": func(s *checkpoint.MemoryStore) CheckPointStore { return s }, "plain": onlyJournal,
	} {
		t.Run(name, func(t *testing.T) {
			memory := checkpoint.NewMemoryStore()
			store := open(memory)
			r := keeping(store, askingAgent(t))
			point := onePoint(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
			waiting := []string{"begin[]", "turn[a]", "start[a]", "failed[a]"}
			require.Equal(t, waiting, kinds(stepsOf(t, store, "1")))

			it, err := r.Resume(t.Context(), "1")
			require.NoError(t, err)
			again := onePoint(t, it)
			require.Equal(t, "again", again.Info, "the tool knows that it was interrupted")
			require.NotEqual(t, point.ID, again.ID)
			texts, _ := drainAll(t, answering(t, r, "1", again.ID, "yes"))
			require.Equal(t, []string{"a: answered yes", "a: done"}, texts)
			all := append(waiting, "start[a]", "failed[a]", "start[a]", "result[a]", "turn[a]")
			require.Equal(t, all, kinds(stepsOf(t, store, "1")))

			require.Equal(t, []string{"a: done"}, resumeFork(t, r, "1"), "its end is kept with the steps")
			require.Equal(t, all, kinds(stepsOf(t, store, "1")))
			_, exists, err := memory.Get(t.Context(), "1")
			require.NoError(t, err)
			require.False(t, exists, "the checkpoint is not needed any more")
			drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), WithRestart()))
			require.Equal(t, waiting, kinds(stepsOf(t, store, "1")), "a new run takes the place of the old one")
		})
	}
}

// TestKeepSteps_NeedsAJournalOfEveryStep: what cannot keep steps says so.
// Rule steps/FK-1.
func TestKeepSteps_NeedsAJournalOfEveryStep(t *testing.T) {
	for name, conf := range map[string]RunnerConfig{
		"no store":   {Durability: EveryStep},
		"interrupts": {CheckPointStore: checkpoint.NewMemoryStore()},
		"no journal": {CheckPointStore: newDeletable(), Durability: EveryStep},
	} {
		t.Run(name, func(t *testing.T) {
			conf.Agent, conf.KeepSteps = askingAgent(t), true
			r := NewRunner(t.Context(), conf)
			all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
			require.Len(t, all, 1)
			require.ErrorContains(t, all[0].Err, "KeepSteps needs Durability EveryStep and a CheckPointStore with a journal")
			_, err := r.Resume(t.Context(), "1")
			require.ErrorContains(t, err, "KeepSteps needs")
		})
	}
}

// TestKeepSteps_GoWithTheEndOfTheRun: a plain store forgets the steps when the end of the run has expired, and a store
// of runs when it sweeps.
// Rule steps/FK-1.
func TestKeepSteps_GoWithTheEndOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := checkpoint.NewMemoryStore()
		store := onlyJournal(memory)
		r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", recall(chatAnswer("done"))),
			CheckPointStore: store, Durability: EveryStep, KeepSteps: true, KeepEnded: time.Hour})
		drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		require.Equal(t, []string{"a: done"}, resumeFork(t, r, "1"))
		time.Sleep(2 * time.Hour)
		require.Len(t, stepsOf(t, store, "1"), 2)
		_, err := r.Resume(t.Context(), "1")
		require.ErrorIs(t, err, runs.ErrExpired)
		_, err = Steps(t.Context(), store, "1")
		require.ErrorIs(t, err, runs.ErrNotFound)

		runStore := checkpoint.NewMemoryStore()
		r = keeping(runStore, newOrdinary(t, "a", recall(chatAnswer("done"))))
		drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		require.Len(t, stepsOf(t, runStore, "1"), 2)
		time.Sleep(48 * time.Hour)
		_, err = runStore.Sweep(t.Context(), 10)
		require.NoError(t, err)
		_, err = Steps(t.Context(), runStore, "1")
		require.ErrorIs(t, err, runs.ErrNotFound)
	})
}

// lostSettlement is a store whose next settlement of a run that is done does not arrive.
type lostSettlement struct {
	*checkpoint.MemoryStore
	lost *atomic.Bool
}

func (s lostSettlement) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	l, err := s.MemoryStore.Acquire(ctx, id, req)
	return lostLease{l, s.lost}, err
}

type lostLease struct {
	runs.Lease
	lost *atomic.Bool
}

func (l lostLease) Settle(ctx context.Context, s runs.Settlement) error {
	if s.Status == runs.Done && l.lost.CompareAndSwap(true, false) {
		return errors.New("the store is out of reach")
	}
	return l.Lease.Settle(ctx, s)
}

// TestKeepSteps_TheEndIsKnownBeforeTheRunIsDone: a process that dies between the last step and the end of the lease
// leaves a run that ends when it is resumed, without a call.
// Rule steps/FK-1.
func TestKeepSteps_TheEndIsKnownBeforeTheRunIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lostSettlement{checkpoint.NewMemoryStore(), new(atomic.Bool)}
		store.lost.Store(true)
		m := recall(chatAnswer("done"))
		r := keeping(store, newOrdinary(t, "a", m))
		all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		require.ErrorContains(t, all[len(all)-1].Err, "out of reach")
		time.Sleep(time.Minute) // the lease ends
		require.Equal(t, []string{"a: done"}, resumeFork(t, r, "1"))
		require.Equal(t, 1, m.n)
		info, _, err := store.Inspect(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Done, info.Status)
		require.Empty(t, info.Owner)
		require.Len(t, stepsOf(t, store, "1"), 2)
	})
}

// TestSteps_OfADamagedJournal: the steps before the damage come with the error, and can be forked.
// Rule steps/FK-1.
func TestSteps_OfADamagedJournal(t *testing.T) {
	dir := t.TempDir()
	store, err := checkpoint.NewFileStore(dir)
	require.NoError(t, err)
	agent := newOrdinary(t, "a", recall(callOf("look", "c1", "x"), chatAnswer("done")), textTool("look", "seen"))
	drainAll(t, keeping(store, agent).Query(t.Context(), "hi", WithCheckPointID("1")))
	require.Equal(t, []string{"begin[]", "turn[a]", "start[a]", "result[a]", "turn[a]"}, kinds(stepsOf(t, store, "1")))

	files, err := filepath.Glob(filepath.Join(dir, "*journal*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	data[len(data)*2/3] ^= 1 // somewhere behind the first turn
	require.NoError(t, os.WriteFile(files[0], data, 0o600))
	steps, err := Steps(t.Context(), store, "1")
	require.ErrorIs(t, err, runs.ErrDamaged)
	require.NotEmpty(t, steps)
	require.Less(t, len(steps), 5)
	require.NoError(t, Fork(t.Context(), store, "1", ForkOptions{At: len(steps), NewID: "2"}))
	require.ErrorIs(t, Fork(t.Context(), store, "1", ForkOptions{At: 5, NewID: "3"}), runs.ErrDamaged)
	require.Contains(t, resumeFork(t, keeping(store, agent), "2"), "a: done")
}

// textTool says always the same.
func textTool(name, text string) *toolFunc {
	return &toolFunc{named(name), func(context.Context, string) (string, error) { return text, nil }}
}

// TestSteps_WithoutAny: that there are none is an error that says why.
// Rule steps/FK-1.
func TestSteps_WithoutAny(t *testing.T) {
	_, err := Steps(t.Context(), newDeletable(), "1")
	require.ErrorContains(t, err, "has no journal: use one that offers adk.CheckPointJournal")
	_, err = Steps(t.Context(), nil, "1")
	require.ErrorIs(t, err, ErrCheckpointStoreNil)
	store := checkpoint.NewMemoryStore()
	_, err = Steps(t.Context(), store, "1")
	require.EqualError(t, err, `failed to read the steps of run "1": there are none, or they are not kept `+
		`(see RunnerConfig.KeepSteps): checkpoint[1] not exist`)
	r := NewRunner(t.Context(), RunnerConfig{Agent: askingAgent(t), CheckPointStore: store, Durability: EveryStep})
	onePoint(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	_, err = Steps(t.Context(), store, "1")
	require.ErrorIs(t, err, runs.ErrNotFound, "they are in the checkpoint alone")
	it, err := keeping(store, askingAgent(t)).Resume(t.Context(), "1")
	require.NoError(t, err)
	onePoint(t, it)
	steps := stepsOf(t, store, "1")
	require.Equal(t, StepBegin, steps[0].Kind)
	err = Fork(t.Context(), store, "1", ForkOptions{At: 1, NewID: "2"})
	require.ErrorContains(t, err, "its steps are recorded only since it was resumed")
}
