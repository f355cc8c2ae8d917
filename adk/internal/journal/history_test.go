package journal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// kept is a journal that is kept, in a new process that continues from the checkpoint.
func kept(t *testing.T, store lists) *Journal {
	t.Helper()
	j := New(store, "1")
	j.Keep = true
	past, err := j.Replay(t.Context())
	require.NoError(t, err)
	require.Nil(t, past.Run, "the run continues from its checkpoint")
	require.False(t, past.Stray)
	return j
}

func stepTexts(h History) (texts []string) {
	for _, r := range h.Steps {
		if r.Kind == KindTurn {
			texts = append(texts, r.Messages[len(r.Messages)-1].(string))
		}
	}
	return texts
}

func read(t *testing.T, store lists) History {
	t.Helper()
	h, err := ReadHistory(t.Context(), store, "1")
	require.NoError(t, err)
	return h
}

// stretchOf records one turn of a stretch.
func stretchOf(t *testing.T, j *Journal, run, text string) *Visit {
	t.Helper()
	require.NoError(t, j.Begin(t.Context(), []byte(run)))
	v := j.Root().Begin("a", false, "outer", "a")
	require.NoError(t, v.SaveTurn(t.Context(), turnOf(0, 9, text)))
	return v
}

func TestStop_KeepsTheStepsOfAllStretches(t *testing.T) {
	store := lists{values{}, map[string][][]byte{}}
	first := New(store, "1")
	first.Keep = true
	v := stretchOf(t, first, "input", "one")
	require.NoError(t, v.SaveTurn(t.Context(), turnOf(1, 8, "two")))
	first.Close()
	require.NoError(t, first.Stop(t.Context()))
	require.ErrorIs(t, v.SaveTurn(t.Context(), turnOf(2, 7, "late")), ErrClosed)

	second := kept(t, store)
	stretchOf(t, second, "checkpoint", "three")
	h := read(t, store)
	require.Equal(t, "input", string(h.Run))
	require.Equal(t, []string{"one", "two", "three"}, stepTexts(h))
	require.Equal(t, []string{"outer", "a"}, h.Steps[0].Path)
	require.Empty(t, h.Steps[1].Path, "once for each visit")

	past, err := New(store, "1").Replay(t.Context())
	require.NoError(t, err)
	require.Equal(t, "checkpoint", string(past.Run), "who resumes the run needs the last stretch alone")
	require.Equal(t, 1, past.Steps)

	other := New(store, "1")
	_, err = other.Replay(t.Context())
	require.NoError(t, err)
	stretchOf(t, other, "anew", "four")
	require.Equal(t, []string{"four"}, stepTexts(read(t, store)), "one that does not keep steps removes them")
}

// TestStop_WhatComesLateIsDropped: a process that does not know that the run was saved writes behind the stop.
func TestStop_WhatComesLateIsDropped(t *testing.T) {
	store := lists{values{}, map[string][][]byte{}}
	first := New(store, "1")
	stretchOf(t, first, "input", "one")
	require.NoError(t, first.Stop(t.Context()))
	require.NoError(t, first.append(t.Context(), &Record{Kind: KindTurn, Visit: "a", Messages: []any{"late"}}))
	require.Equal(t, []string{"one"}, stepTexts(read(t, store)))
	stretchOf(t, kept(t, store), "checkpoint", "two")
	require.Equal(t, []string{"one", "two"}, stepTexts(read(t, store)))
}

// TestStop_OfTwoThatContinueOneCounts: in a store without leases two processes may continue from one checkpoint. The
// one that began last counts, and what was before the stop stays.
func TestStop_OfTwoThatContinueOneCounts(t *testing.T) {
	store := lists{values{}, map[string][][]byte{}}
	first := New(store, "1")
	stretchOf(t, first, "input", "one")
	require.NoError(t, first.Stop(t.Context()))
	b, c := kept(t, store), kept(t, store)
	stretchOf(t, b, "checkpoint", "b")
	v := stretchOf(t, c, "checkpoint", "c")
	require.NoError(t, b.Stop(t.Context()))
	require.NoError(t, v.SaveTurn(t.Context(), turnOf(1, 8, "c again")))
	require.Equal(t, []string{"one", "c", "c again"}, stepTexts(read(t, store)))
}

func TestReadHistory_GivesWhatIsBeforeTheDamage(t *testing.T) {
	store := lists{values{}, map[string][][]byte{}}
	first := New(store, "1")
	v := stretchOf(t, first, "input", "one")
	require.NoError(t, v.SaveTurn(t.Context(), turnOf(1, 8, "two")))
	require.NoError(t, first.Stop(t.Context()))
	stretchOf(t, kept(t, store), "checkpoint", "three")
	whole := store.records["1"]

	store.records["1"] = append(append([][]byte{}, whole[:1]...), whole[2:]...) // the first turn is missing
	h, err := ReadHistory(t.Context(), store, "1")
	require.ErrorIs(t, err, runs.ErrDamaged)
	require.Equal(t, "input", string(h.Run))
	require.Empty(t, stepTexts(h))

	store.records["1"] = append(append([][]byte{}, whole[:2]...), []byte("damaged"), whole[3])
	h, err = ReadHistory(t.Context(), store, "1")
	require.ErrorIs(t, err, runs.ErrDamaged)
	require.ErrorContains(t, err, `record 3 in the journal of run "1": `)
	require.Equal(t, []string{"one"}, stepTexts(h))

	h, err = ReadHistory(t.Context(), store, "none")
	require.NoError(t, err)
	require.Nil(t, h.Run)
}

func TestDraft_IsAJournal(t *testing.T) {
	var d Draft
	require.NoError(t, d.Begin([]byte("input")))
	require.NoError(t, d.Add(&Record{Kind: KindTurn, Visit: "a#0", Messages: []any{"hi"}, Life: "another", N: 7}))
	store := lists{values{}, map[string][][]byte{"1": d.Records}}
	v := revive(t, store).Root().Begin("a", false)
	require.Equal(t, []any{"hi"}, v.LastTurn().Messages)
}
