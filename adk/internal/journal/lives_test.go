package journal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// walker is one life of the random walk.
type walker struct {
	j     *Journal
	state string // read, began, going, busy, dead
	// base holds what it found, and own what it wrote, as texts.
	base, own []string
}

// texts are the records that replay keeps, without those that only say who lives.
func texts(entries []entry) (all []string) {
	for _, e := range entries {
		if e.Kind == KindTurn {
			all = append(all, e.Messages[0].(string))
		}
	}
	return all
}

// TestLives_RandomInterleavings lets up to six processes resume one run, each of which may stop anywhere. What counts is
// what the current life had read, and all that it wrote, in order. Of those that read the same journal at most one
// continues, and one that may not has written nothing else. (J1-J5)
func TestLives_RandomInterleavings(t *testing.T) {
	seeds := 4000
	if testing.Short() {
		seeds = 300
	}
	for seed := range seeds {
		walk(t, uint64(seed))
	}
}

func walk(t *testing.T, seed uint64) {
	ctx, random := t.Context(), rand.New(rand.NewPCG(seed, 1))
	store := lists{values{}, map[string][][]byte{}}
	first := &walker{j: New(store, "1"), state: "going"}
	require.NoError(t, first.j.Begin(ctx, []byte("input")))
	walkers := []*walker{first}
	for step := range 5 + random.IntN(55) {
		if random.Float64() < 0.25 && len(walkers) < 6 {
			w := &walker{j: New(store, "1"), state: "read"}
			s, _, err := w.j.read(ctx)
			require.NoError(t, err)
			w.base = texts(s.kept)
			_, err = w.j.Replay(ctx)
			require.NoError(t, err)
			walkers = append(walkers, w)
			continue
		}
		walkers[random.IntN(len(walkers))].step(t, random, step)
	}
	s, _, err := first.j.read(ctx)
	require.NoError(t, err, "seed %d", seed)
	followers := map[string]int{}
	for _, w := range walkers {
		if w.j.life == s.life {
			require.Equal(t, slices.Concat(w.base, w.own), texts(s.kept), "seed %d", seed)
		}
		switch w.state {
		case "going", "dead":
			if w != first {
				followers[w.j.past.life]++
			}
		case "busy":
			require.Equal(t, 1, w.j.written, "seed %d", seed)
		}
	}
	for life, n := range followers {
		require.Equal(t, 1, n, "seed %d: followers of %s", seed, life)
	}
}

func (w *walker) step(t *testing.T, random *rand.Rand, step int) {
	ctx := t.Context()
	switch w.state {
	case "read": // the record is written, and another may come before it is read again
		r := &Record{Kind: KindLife, Format: Format, Prev: w.j.past.life, Seen: w.j.past.seen}
		require.NoError(t, w.j.append(ctx, r))
		w.state = "began"
	case "began":
		s, _, err := w.j.read(ctx)
		require.NoError(t, err)
		w.state = "busy"
		if s.life == w.j.life {
			w.state = "going"
		}
	case "going":
		text := fmt.Sprintf("%s %d", w.j.life, step)
		require.NoError(t, w.j.append(ctx, &Record{Kind: KindTurn, Messages: []any{text}}))
		w.own = append(w.own, text)
		if random.Float64() < 0.1 {
			w.state = "dead"
		}
	}
}

// rec is a record as it may stand in a store.
func rec(kind Kind, life string, n int, more func(*Record)) []byte {
	r := &Record{Kind: kind, Life: life, N: n, Format: Format, Visit: "a"}
	if more != nil {
		more(r)
	}
	data, err := encode(r)
	if err != nil {
		panic(err)
	}
	return data
}

func follows(prev string, seen int) func(*Record) {
	return func(r *Record) { r.Prev, r.Seen = prev, seen }
}

func replayOf(t *testing.T, records ...[]byte) (Past, *Journal, error) {
	t.Helper()
	j := New(lists{values{}, map[string][][]byte{"1": records}}, "1")
	past, err := j.Replay(t.Context())
	return past, j, err
}

func TestReplay_DropsWhatAZombieWrote(t *testing.T) {
	call := func(key string) func(*Record) { return func(r *Record) { r.Call = key } }
	past, j, err := replayOf(t,
		rec(KindBegin, "a", 1, func(r *Record) { r.Run = []byte("input") }),
		rec(KindStart, "a", 2, call("known")),
		rec(KindLife, "b", 1, follows("a", 2)),
		rec(KindResult, "a", 3, call("known")), // a had lost the run
		rec(KindStart, "a", 4, call("unknown")),
		rec(KindStart, "b", 2, call("other")))
	require.NoError(t, err)
	require.Equal(t, "b", j.past.life)
	require.Len(t, j.earlier, 2)
	require.Len(t, past.LostCalls, 1, "somebody may have paid")
	require.Equal(t, "unknown", past.LostCalls[0].Call)
}

func TestReplay_OfTwoThatResumeAtOnceTheFirstCounts(t *testing.T) {
	_, j, err := replayOf(t,
		rec(KindBegin, "a", 1, nil), rec(KindTurn, "a", 2, nil),
		rec(KindLife, "b", 1, follows("a", 2)), rec(KindLife, "c", 1, follows("a", 2)),
		rec(KindTurn, "c", 2, nil), rec(KindTurn, "b", 2, nil))
	require.NoError(t, err)
	require.Equal(t, "b", j.past.life)
	require.Len(t, j.earlier, 2)
}

func TestReplay_DropsWhatTheNextLifeHadNotSeen(t *testing.T) {
	_, j, err := replayOf(t,
		rec(KindBegin, "a", 1, nil), rec(KindTurn, "a", 2, nil), rec(KindTurn, "a", 3, nil),
		rec(KindLife, "b", 1, follows("a", 2)))
	require.NoError(t, err)
	require.Len(t, j.earlier, 1)
}

func TestReplay_ForgetsTheRunBeforeTheLastBegin(t *testing.T) {
	past, j, err := replayOf(t,
		rec(KindBegin, "a", 1, nil), rec(KindTurn, "a", 2, nil),
		rec(KindBegin, "b", 1, func(r *Record) { r.Run = []byte("new") }), rec(KindTurn, "a", 3, nil))
	require.NoError(t, err)
	require.Equal(t, "new", string(past.Run))
	require.Empty(t, j.earlier)
}

func TestReplay_CountsARepeatedAppendOnce(t *testing.T) {
	turn := rec(KindTurn, "a", 2, nil)
	_, j, err := replayOf(t, rec(KindBegin, "a", 1, nil), turn, turn, rec(KindTurn, "a", 3, nil))
	require.NoError(t, err)
	require.Len(t, j.earlier, 2)
}

func TestReplay_RefusesGapsAndOtherRepeats(t *testing.T) {
	for _, records := range [][][]byte{
		{rec(KindBegin, "a", 1, nil), rec(KindTurn, "a", 3, nil)},
		{rec(KindBegin, "a", 1, nil), rec(KindTurn, "a", 2, nil), rec(KindFailed, "a", 2, nil)},
	} {
		_, _, err := replayOf(t, records...)
		require.ErrorIs(t, err, runs.ErrDamaged)
		require.ErrorContains(t, err, `of life a in the journal of run "1": checkpoint journal is damaged: it has number`)
	}
}

func TestReplay_RefusesANewerFormat(t *testing.T) {
	_, _, err := replayOf(t, rec(KindBegin, "a", 1, func(r *Record) { r.Format = Format + 1 }))
	require.ErrorContains(t, err, "format 5, and at most format 4 is known: use a newer Weft")
}

// Rule distributed/J8.
func TestReplay_RefusesRecordsThatNoJournalHas(t *testing.T) {
	for name, record := range map[string][]byte{
		"a beginning without a format": rec(KindBegin, "a", 1, func(r *Record) { r.Format = 0 }),
		"an older format":              rec(KindBegin, "a", 1, func(r *Record) { r.Format = oldest - 1 }),
		"no life":                      rec(KindBegin, "", 0, nil),
		"no number":                    rec(KindBegin, "a", 0, nil),
	} {
		_, _, err := replayOf(t, record)
		require.ErrorIs(t, err, runs.ErrDamaged, name)
	}
}

// TestReplay_NoDamageIsAnotherRecord: whatever happens to a byte of a record, it is refused.
// Rule distributed/J5.
func TestReplay_NoDamageIsAnotherRecord(t *testing.T) {
	whole := [][]byte{begun(), rec(KindTurn, "a", 2, nil), rec(KindLife, "b", 1, follows("a", 2)),
		rec(KindStart, "b", 2, func(r *Record) { r.Call = "paid" })}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		records := slices.Clone(whole)
		n := random.IntN(len(records))
		data := slices.Clone(records[n])
		at := random.IntN(len(data))
		switch random.IntN(4) {
		case 0:
			data[at] ^= byte(1 + random.IntN(255))
		case 1:
			data = data[:at]
		case 2:
			clear(data[at:min(len(data), at+8)])
		case 3:
			data = slices.Insert(data, at, byte(random.IntN(256)))
		}
		if bytes.Equal(data, records[n]) {
			continue
		}
		records[n] = data
		_, _, err := replayOf(t, records...)
		require.Error(t, err, "record %d is %q", n, data)
	}
}

func TestReplay_CollectsTheAnswersOfAllLives(t *testing.T) {
	answers := func(prev string, seen int, m map[string][]byte) func(*Record) {
		return func(r *Record) { r.Prev, r.Seen, r.Answers = prev, seen, m }
	}
	past, _, err := replayOf(t,
		rec(KindBegin, "a", 1, answers("", 0, map[string][]byte{"q1": []byte("yes")})),
		rec(KindLife, "b", 1, answers("a", 1, map[string][]byte{"q1": []byte("no"), "q2": nil})))
	require.NoError(t, err)
	require.Equal(t, "yes", string(past.Answers["q1"]), "an answer is given once")
	require.Contains(t, past.Answers, "q2")
}

func TestEnd_IsFoundByTheNextProcess(t *testing.T) {
	store := lists{values{}, map[string][][]byte{}}
	j := New(store, "1")
	require.NoError(t, j.Begin(t.Context(), []byte("input")))
	require.NoError(t, j.End(t.Context(), &End{Message: "bye", Agent: "a", Path: []string{"a"}}))
	past, err := New(store, "1").Replay(t.Context())
	require.NoError(t, err)
	require.Equal(t, &End{Message: "bye", Agent: "a", Path: []string{"a"}}, past.End)
	data, err := EncodeEnd(past.End)
	require.NoError(t, err)
	again, err := DecodeEnd(data)
	require.NoError(t, err)
	require.Equal(t, past.End, again)
	_, err = DecodeEnd(rec(KindTurn, "a", 1, nil))
	require.ErrorContains(t, err, "it is no end of a run")
}

// unclear does an append or not, and says each time that it failed.
type unclear struct {
	lists
	plan []string // of the next appends: "" works
}

func (u *unclear) AppendRecord(ctx context.Context, id string, record []byte) error {
	var how string
	if len(u.plan) > 0 {
		how, u.plan = u.plan[0], u.plan[1:]
	}
	if how != "lost" {
		_ = u.lists.AppendRecord(ctx, id, record)
	}
	if how != "" {
		return errors.New("no answer")
	}
	return nil
}

// TestAppend_AfterAnUnclearErrorIsRepeated: whether the record of a failed append is there or not, the journal stays
// whole, and a call that could not begin does not count as begun.
func TestAppend_AfterAnUnclearErrorIsRepeated(t *testing.T) {
	for _, plan := range [][]string{{"lost"}, {"done"}, {"lost", "lost"}, {"done", "done"}, {"lost", "done", "lost"}} {
		store := &unclear{lists: lists{values{}, map[string][][]byte{}}}
		j := New(store, "1")
		require.NoError(t, j.Begin(t.Context(), []byte("input")))
		v := j.Root().Begin("a", false)
		store.plan = plan
		require.ErrorContains(t, v.Call("c1", 9).Start(t.Context()), "no answer")
		store.plan = nil
		require.NoError(t, v.Call("c2", 9).Start(t.Context()))
		again := revive(t, store).Root().Begin("a", false)
		if known := again.Call("c1", 9).Known(); known != nil && len(plan) == 1 {
			require.Equal(t, KindFailed, known.Kind, "%v", plan)
		}
		require.Equal(t, KindStart, again.Call("c2", 9).Known().Kind, "%v", plan)
	}
}

func TestStart_WritesNothingInAContextThatHasEnded(t *testing.T) {
	store := lists{values{}, map[string][][]byte{}}
	j := New(store, "1")
	require.NoError(t, j.Begin(t.Context(), nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, j.Root().Begin("a", false).Call("c", 1).Start(ctx), context.Canceled)
	require.Len(t, store.records["1"], 1)
}

// TestReplay_RefusesAFieldThatItDoesNotKnow: of a record of this format nothing is passed over.
// Rule distributed/J8.
func TestReplay_RefusesAFieldThatItDoesNotKnow(t *testing.T) {
	with := func(format byte) []byte {
		data := rec(KindBegin, "a", 1, func(r *Record) { r.Format = int(format) })
		n := len(data) - sumSize - markSize
		data = bytes.Replace(data[:n], []byte(`"Kind"`), []byte(`"Agent":"a","Kind"`), 1)
		mark := []byte{'w', 'r', format}
		return append(binary.LittleEndian.AppendUint32(data, sumOf(data, mark)), mark...)
	}
	_, _, err := replayOf(t, with(Format))
	require.ErrorIs(t, err, runs.ErrDamaged)
	require.ErrorContains(t, err, `there is no field "Agent"`)
	_, _, err = replayOf(t, with(Format+1))
	require.ErrorIs(t, err, runs.ErrNewerFormat)
	require.ErrorContains(t, err, "life a")
}
