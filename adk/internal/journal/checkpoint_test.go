package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

// leased is a journal whose store is a lease.
func leased(store core.CheckPointStore) *Journal {
	j := New(store, "1")
	j.fenced = true
	return j
}

// taken is the journal of a process that takes a run over, as a runner reads it.
func taken(t *testing.T, store lists) (*Journal, Past) {
	t.Helper()
	j := leased(store)
	past, err := j.Replay(t.Context())
	require.NoError(t, err)
	if past.Run == nil {
		past.Run = bytes.Clone(store.values["1"])
	}
	if !past.Died {
		j.From(past.Run)
	}
	require.NoError(t, j.Adopt(Rest{}))
	return j, past
}

// stopped saves a run as a runner does.
func stopped(t *testing.T, j *Journal, store lists, checkpoint []byte) (inJournal bool) {
	t.Helper()
	j.Close()
	saved, err := j.StopAt(t.Context(), checkpoint)
	require.NoError(t, err)
	if !saved {
		store.values["1"] = checkpoint
		delete(store.records, "1")
	}
	return saved
}

// TestStopAt_WhateverHappensBetween: a run continues from the checkpoint that was saved last, with the turns that were
// saved, however often it stopped and died, whichever process recorded steps, and whatever was kept.
// Rule distributed/J10.
func TestStopAt_WhateverHappensBetween(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		store := lists{values{}, map[string][][]byte{}}
		var said []any
		say := func() {
			said = append(said, fmt.Sprintf("%d: %s", r.Int(), strings.Repeat("word ", r.IntN(200))))
		}
		say()
		j := leased(store)
		j.Keep = seed%3 == 0
		require.NoError(t, j.Begin(t.Context(), []byte("input")))
		require.NoError(t, j.Adopt(Rest{}))
		want := "input"
		for range 30 {
			visit := j.Root().Begin("a", false)
			turns := r.IntN(3)
			for i := range turns {
				before := len(said)
				say()
				turn := turnOf(before, 9-i, said[before:]...)
				if i == 0 {
					turn = turnOf(0, 9, said...)
				}
				require.NoError(t, visit.SaveTurn(t.Context(), turn))
			}
			if r.IntN(3) == 0 { // it dies
				var past Past
				j, past = taken(t, store)
				require.Equal(t, want, string(past.Run), "seed %d", seed)
				if past.Died {
					require.NoError(t, j.Continue(t.Context(), nil))
				} else {
					require.NoError(t, j.BeginAgain(t.Context(), past.Run, nil))
				}
				if last := j.Root().Begin("a", false).LastTurn(); turns > 0 && past.Died {
					require.Equal(t, said, last.Messages, "seed %d", seed)
				}
				j, past = taken(t, store)
				require.NoError(t, j.Continue(t.Context(), nil))
			}
			want = fmt.Sprintf("head %d, %q, tail", r.Int(), said)
			stopped(t, j, store, []byte(want))
			var past Past
			j, past = taken(t, store)
			require.Equal(t, want, string(past.Run), "seed %d", seed)
			require.False(t, past.Died)
			j.Keep = seed%3 == 0
			if r.IntN(3) > 0 { // otherwise nothing is recorded
				require.NoError(t, j.BeginAgain(t.Context(), past.Run, nil))
			}
		}
	}
}

// TestStopAt_WritesAllAnewWhenTheJournalIsLong: what is read to continue stays within a few times the checkpoint.
// Rule distributed/J10.
func TestStopAt_WritesAllAnewWhenTheJournalIsLong(t *testing.T) {
	store := lists{values{}, map[string][][]byte{}}
	j := leased(store)
	checkpoint := []byte(strings.Repeat("all that was said. ", 100))
	require.False(t, stopped(t, j, store, checkpoint), "the first one is whole")
	anew := 0
	for range 200 {
		j, past := taken(t, store)
		require.NoError(t, j.BeginAgain(t.Context(), past.Run, nil))
		if !stopped(t, j, store, checkpoint) {
			anew++
		}
		size := 0
		for _, record := range store.records["1"] {
			size += len(record)
		}
		require.Less(t, size, (most+1)*len(checkpoint))
	}
	require.Positive(t, anew)
	require.Less(t, anew, 40)
}

// TestReplay_RefusesAnotherCheckpoint: a journal that continues from one checkpoint is not continued from another.
// Rule distributed/J10.
func TestReplay_RefusesAnotherCheckpoint(t *testing.T) {
	store := lists{values{}, map[string][][]byte{}}
	checkpoint := []byte(strings.Repeat("all that was said. ", 100))
	stopped(t, leased(store), store, checkpoint)
	j, past := taken(t, store)
	require.NoError(t, j.BeginAgain(t.Context(), past.Run, nil))
	require.True(t, stopped(t, j, store, append(bytes.Clone(checkpoint), "and more"...)))
	for name, other := range map[string][]byte{
		"another":   bytes.ToUpper(checkpoint),
		"a shorter": checkpoint[:40],
		"none":      nil,
	} {
		t.Run(name, func(t *testing.T) {
			damaged := lists{values{"1": other}, store.records}
			if other == nil {
				delete(damaged.values, "1")
			}
			_, err := leased(damaged).Replay(t.Context())
			require.True(t, errors.Is(err, runs.ErrDamaged) || errors.Is(err, runs.ErrNotFound), "%v", err)
		})
	}
}
