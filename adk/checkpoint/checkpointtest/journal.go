package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
)

// runJournal tests the journal of a store.
func runJournal(t *testing.T, newStore func(t *testing.T) checkpoint.Store) {
	if _, ok := newStore(t).(runs.Journal); !ok {
		t.Skip("the store is no checkpoint.Journal")
	}
	for _, rule := range []struct {
		name string
		test func(*testing.T, checkpoint.Store, runs.Journal)
	}{
		{"order", journalOrder},
		{"from", journalFrom},
		{"remove", journalRemove},
		{"isolated", journalIsolated},
		{"beside the checkpoint", journalBeside},
		{"hostile ids", journalHostileIDs},
		{"large", journalLarge},
		{"context ended", journalContextEnded},
		{"concurrent", journalConcurrent},
	} {
		t.Run(rule.name, func(t *testing.T) {
			store := newStore(t)
			rule.test(t, store, store.(runs.Journal))
		})
	}
}

func journalOrder(t *testing.T, _ checkpoint.Store, j runs.Journal) {
	recorded(t, j, "id")
	var want []string
	for _, r := range []string{"first", "", "third\x00\xff\n", "", "last"} {
		appendTo(t, j, "id", r)
		want = append(want, r)
		recorded(t, j, "id", want...)
	}
	recorded(t, j, "other")
}

// journalFrom: a store that offers the records behind some has the same as one that is read whole.
func journalFrom(t *testing.T, _ checkpoint.Store, j runs.Journal) {
	tail, ok := j.(runs.RecordsFrom)
	if !ok {
		return
	}
	appendTo(t, j, "other", "of another")
	for n := range 5 {
		for from := range n + 2 {
			all, err := j.ReadRecords(context.Background(), "id")
			noError(t, err)
			some, err := tail.ReadRecordsFrom(context.Background(), "id", from)
			noError(t, err)
			if want := all[min(from, len(all)):]; len(some) != len(want) ||
				!slices.EqualFunc(some, want, func(a, b []byte) bool { return bytes.Equal(a, b) }) {
				t.Fatalf("of %d records there are %q behind the first %d, want %q", n, some, from, want)
			}
		}
		appendTo(t, j, "id", strings.Repeat("x", n*n))
	}
	noError(t, j.RemoveRecords(context.Background(), "id"))
	some, err := tail.ReadRecordsFrom(context.Background(), "id", 3)
	noError(t, err)
	if len(some) > 0 {
		t.Fatalf("there are %q of what was removed", some)
	}
}

func journalRemove(t *testing.T, _ checkpoint.Store, j runs.Journal) {
	noError(t, j.RemoveRecords(context.Background(), "never appended to"))
	appendTo(t, j, "gone", "x")
	appendTo(t, j, "stays", "y")
	noError(t, j.RemoveRecords(context.Background(), "gone"))
	recorded(t, j, "gone")
	recorded(t, j, "stays", "y")
	appendTo(t, j, "gone", "new")
	recorded(t, j, "gone", "new")
}

func journalIsolated(t *testing.T, _ checkpoint.Store, j runs.Journal) {
	given := []byte("one")
	noError(t, j.AppendRecord(context.Background(), "id", given))
	copy(given, "bad")
	appendTo(t, j, "id", "two")
	got, err := j.ReadRecords(context.Background(), "id")
	noError(t, err)
	for i, r := range got {
		copy(r, "bad")
		_ = append(r, "bad"...) // into the next record, if they share their bytes carelessly
		got[i] = nil
	}
	recorded(t, j, "id", "one", "two")

	got, err = j.ReadRecords(context.Background(), "id")
	noError(t, err)
	if len(got) == 2 {
		_ = append(got[0], "bad"...)
		if string(got[1]) != "two" {
			t.Errorf("appending to a record changed the next one to %q", got[1])
		}
	}
}

// journalBeside: a checkpoint and a journal of one ID do not touch each other.
func journalBeside(t *testing.T, store checkpoint.Store, j runs.Journal) {
	set(t, store, "id", []byte("checkpoint"))
	recorded(t, j, "id")
	appendTo(t, j, "id", "record")
	holds(t, store, "id", []byte("checkpoint"))
	if d, ok := store.(checkpoint.Deleter); ok {
		noError(t, d.Delete(context.Background(), "id"))
		absent(t, store, "id")
		recorded(t, j, "id", "record")
		set(t, store, "id", []byte("checkpoint"))
	}
	noError(t, j.RemoveRecords(context.Background(), "id"))
	holds(t, store, "id", []byte("checkpoint"))
}

func journalHostileIDs(t *testing.T, _ checkpoint.Store, j runs.Journal) {
	for i, id := range hostile() {
		recorded(t, j, id)
		appendTo(t, j, id, fmt.Sprint(i))
	}
	for i, id := range hostile() {
		recorded(t, j, id, fmt.Sprint(i))
		noError(t, j.RemoveRecords(context.Background(), id))
		recorded(t, j, id)
	}
}

func journalLarge(t *testing.T, _ checkpoint.Store, j runs.Journal) {
	large := string(bytes.Repeat([]byte("0123456789abcdef"), 2<<20/16))
	appendTo(t, j, "id", "small")
	appendTo(t, j, "id", large)
	appendTo(t, j, "id", "small again")
	recorded(t, j, "id", "small", large, "small again")
}

func journalContextEnded(t *testing.T, _ checkpoint.Store, j runs.Journal) {
	appendTo(t, j, "id", "one")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	want := []string{"one"}
	switch err := j.AppendRecord(ctx, "id", []byte("two")); {
	case err == nil:
		want = append(want, "two")
	case !errors.Is(err, context.Canceled):
		t.Errorf("AppendRecord with a context that has ended: %v; want an error that wraps context.Canceled", err)
	}
	recorded(t, j, "id", want...)
	appendTo(t, j, "id", "three")
	recorded(t, j, "id", append(want, "three")...)
}

// journalConcurrent: each record of each goroutine is there once, whole, and the records of one goroutine are in its order.
func journalConcurrent(t *testing.T, _ checkpoint.Store, j runs.Journal) {
	const writers, each = 4, 10
	record := func(g, i int) string {
		return fmt.Sprintf("%d %d %s", g, i, bytes.Repeat([]byte{'a' + byte(g)}, 100*i))
	}
	together(writers, func(g int) {
		for i := range each {
			appendTo(t, j, "id", record(g, i))
			if _, err := j.ReadRecords(context.Background(), "id"); err != nil {
				t.Errorf("ReadRecords beside AppendRecord: %v", err)
			}
		}
	})
	got, err := j.ReadRecords(context.Background(), "id")
	noError(t, err)
	var seen [writers]int
	for _, r := range got {
		var g, i int
		_, err := fmt.Sscan(string(r), &g, &i)
		if err != nil || g < 0 || g >= writers || i != seen[g] || string(r) != record(g, i) {
			t.Fatalf("record %s is not what was appended, or not in order", short(string(r)))
		}
		seen[g]++
	}
	for g, n := range seen {
		if n != each {
			t.Errorf("of goroutine %d there are %d records; want %d", g, n, each)
		}
	}
}

func appendTo(t *testing.T, j runs.Journal, id, record string) {
	t.Helper()
	if err := j.AppendRecord(context.Background(), id, []byte(record)); err != nil {
		t.Errorf("AppendRecord(%s): %v", short(id), err)
	}
}

func recorded(t *testing.T, j runs.Journal, id string, want ...string) {
	t.Helper()
	got, err := j.ReadRecords(context.Background(), id)
	if err != nil {
		t.Errorf("ReadRecords(%s): %v", short(id), err)
		return
	}
	if len(want) == 0 && got != nil || len(got) != len(want) {
		t.Errorf("ReadRecords(%s): %d records (nil: %v); want %d, and nil for none", short(id), len(got), got == nil,
			len(want))
		return
	}
	for i := range want {
		if string(got[i]) != want[i] {
			t.Errorf("ReadRecords(%s): record %d is %s; want %s", short(id), i, short(string(got[i])), short(want[i]))
		}
	}
}
