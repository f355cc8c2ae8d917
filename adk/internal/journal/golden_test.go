package journal

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// goldenJournals are journals as releases have written them, a file of testdata each, with what a process that resumes
// them finds: the life that counts, how many steps of it, and how many calls were made by a process that had lost the
// run.
var goldenJournals = map[string]struct {
	records func() [][]byte
	life    string
	steps   int
	lost    int
}{
	"two-mixed-lives": {func() [][]byte {
		return [][]byte{begun(), rec(KindTurn, "a", 2, nil), rec(KindLife, "b", 1, follows("a", 2)), rec(KindTurn, "a", 3, nil),
			rec(KindTurn, "b", 2, nil), rec(KindTurn, "a", 4, nil), rec(KindTurn, "b", 3, nil)}
	}, "b", 3, 0},
	"zombies-tail": {func() [][]byte {
		return [][]byte{begun(), rec(KindLife, "b", 1, follows("a", 1)), rec(KindTurn, "b", 2, nil),
			rec(KindStart, "a", 2, func(r *Record) { r.Call = "paid" }), rec(KindTurn, "a", 3, nil)}
	}, "b", 1, 1},
	"two-follow-one": {func() [][]byte {
		return [][]byte{begun(), rec(KindTurn, "a", 2, nil), rec(KindLife, "b", 1, follows("a", 2)),
			rec(KindLife, "c", 1, follows("a", 2)), rec(KindTurn, "b", 2, nil)}
	}, "b", 2, 0},
}

func begun() []byte {
	return rec(KindBegin, "a", 1, func(r *Record) { r.Run = []byte("input") })
}

// TestReplay_OfGoldenJournals: what a release has written is continued by every later one.
// Rule distributed/J8.
func TestReplay_OfGoldenJournals(t *testing.T) {
	for name, want := range goldenJournals {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name+".golden")
			if os.Getenv("WEFT_WRITE_GOLDEN") != "" {
				data, err := json.Marshal(want.records())
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(file, data, 0o644))
			}
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var records [][]byte
			require.NoError(t, json.Unmarshal(data, &records))
			past, j, err := replayOf(t, records...)
			require.NoError(t, err)
			require.Equal(t, "input", string(past.Run))
			require.Equal(t, want.life, j.past.life)
			require.Len(t, j.earlier, want.steps)
			require.Len(t, past.LostCalls, want.lost)
			require.NoError(t, j.Adopt(Rest{}))
			require.NoError(t, j.Continue(t.Context(), nil))
			require.NoError(t, j.append(t.Context(), &Record{Kind: KindTurn, Visit: "a"}))
			again, next, err := replayFrom(t, j)
			require.NoError(t, err)
			require.Equal(t, want.steps+1, again.Steps)
			require.Equal(t, j.life, next.past.life)
		})
	}
}

// replayFrom reads the journal of another one as the next process does.
func replayFrom(t *testing.T, j *Journal) (Past, *Journal, error) {
	t.Helper()
	next := New(lists{values{}, map[string][][]byte{"1": recordsOf(t, j)}}, "1")
	past, err := next.Replay(t.Context())
	return past, next, err
}

func recordsOf(t *testing.T, j *Journal) [][]byte {
	t.Helper()
	records, err := j.store.ReadRecords(t.Context(), "1")
	require.NoError(t, err)
	return records
}

// raced is a store in which another process resumes the run at the same moment as this one.
type raced struct {
	lists
	other []byte
}

func (r *raced) AppendRecord(ctx context.Context, id string, record []byte) error {
	if r.other != nil {
		other := r.other
		r.other = nil
		if err := r.lists.AppendRecord(ctx, id, other); err != nil {
			return err
		}
	}
	return r.lists.AppendRecord(ctx, id, record)
}

// TestContinue_WhoCameSecondIsBusy, although both have read the same journal: only reading it again says who was first.
// Rule distributed/J4.
func TestContinue_WhoCameSecondIsBusy(t *testing.T) {
	store := &raced{lists: lists{values{}, map[string][][]byte{"1": {begun(), rec(KindTurn, "a", 2, nil)}}}}
	j := New(store, "1")
	_, err := j.Replay(t.Context())
	require.NoError(t, err)
	require.NoError(t, j.Adopt(Rest{}))
	store.other = rec(KindLife, "b", 1, follows("a", 2))
	require.ErrorIs(t, j.Continue(t.Context(), nil), runs.ErrBusy)
	require.Error(t, j.append(t.Context(), &Record{Kind: KindTurn, Visit: "a"}), "it writes nothing from then on")
	past, next, err := replayFrom(t, j)
	require.NoError(t, err)
	require.Equal(t, "b", next.past.life)
	require.Equal(t, 1, past.Steps)
}

// A journal of a build that was not released is refused, and never taken for none: the run would begin again.
// Rule distributed/J8.
func TestReplay_RefusesJournalsOfOlderBuilds(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "format-1.golden"))
	require.NoError(t, err)
	var records [][]byte
	require.NoError(t, json.Unmarshal(data, &records))
	_, _, err = replayOf(t, records...)
	require.ErrorIs(t, err, runs.ErrDamaged)
	require.ErrorContains(t, err, "was written by an older Weft")
}
