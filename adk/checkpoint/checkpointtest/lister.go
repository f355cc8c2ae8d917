package checkpointtest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
)

// runList tests the listing part of a store.
func runList(t *testing.T, newStore func(t *testing.T) checkpoint.Store) {
	if _, ok := newStore(t).(runs.Lister); !ok {
		t.Skip("the store is no checkpoint.Lister")
	}
	for _, rule := range []struct {
		name string
		test func(*testing.T, checkpoint.Store)
	}{
		{"prefix and order", listPrefix},
		{"hostile ids", listHostileIDs},
		{"journals", listJournals},
		{"time", listTime},
		{"stopped", listStopped},
		{"context ended", listContextEnded},
	} {
		t.Run(rule.name, func(t *testing.T) { rule.test(t, newStore(t)) })
	}
}

func listPrefix(t *testing.T, store checkpoint.Store) {
	lists(t, store, "")
	for _, id := range []string{"b/2", "a", "b/1", "b", "B/3"} {
		set(t, store, id, []byte("x"))
		set(t, store, id, []byte("again"))
	}
	lists(t, store, "", "B/3", "a", "b", "b/1", "b/2")
	lists(t, store, "b", "b", "b/1", "b/2")
	lists(t, store, "b/", "b/1", "b/2")
	lists(t, store, "c")
	if deleter, ok := store.(checkpoint.Deleter); ok {
		noError(t, deleter.Delete(context.Background(), "b/1"))
		lists(t, store, "b/", "b/2")
	}
}

func listHostileIDs(t *testing.T, store checkpoint.Store) {
	ids := hostile()
	for _, id := range ids {
		set(t, store, id, []byte("x"))
	}
	slices.Sort(ids)
	lists(t, store, "", ids...)
}

// listJournals: a run that died has a journal, and perhaps no checkpoint.
func listJournals(t *testing.T, store checkpoint.Store) {
	j, ok := store.(runs.Journal)
	if !ok {
		t.Skip("the store is no checkpoint.Journal")
	}
	ctx := context.Background()
	noError(t, j.AppendRecord(ctx, "died", []byte("x")))
	noError(t, j.AppendRecord(ctx, "both", []byte("x")))
	set(t, store, "both", []byte("x"))
	lists(t, store, "", "both", "died")
	noError(t, j.RemoveRecords(ctx, "died"))
	noError(t, j.RemoveRecords(ctx, "both"))
	lists(t, store, "", "both")
}

// listTime: the time is the time of the last write, as exact as the store knows it.
func listTime(t *testing.T, store checkpoint.Store) {
	before := time.Now().Add(-time.Minute)
	set(t, store, "id", []byte("x"))
	for info, err := range store.(runs.Lister).ListCheckPoints(context.Background(), "") {
		noError(t, err)
		if info.Modified.Before(before) || info.Modified.After(time.Now().Add(time.Minute)) {
			t.Errorf("%q was modified at %v", info.ID, info.Modified)
		}
	}
}

func listStopped(t *testing.T, store checkpoint.Store) {
	set(t, store, "a", []byte("x"))
	set(t, store, "b", []byte("x"))
	for info, err := range store.(runs.Lister).ListCheckPoints(context.Background(), "") {
		noError(t, err)
		if info.ID != "a" {
			t.Errorf("the first ID is %q", info.ID)
		}
		break
	}
}

func listContextEnded(t *testing.T, store checkpoint.Store) {
	set(t, store, "id", []byte("x"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for info, err := range store.(runs.Lister).ListCheckPoints(ctx, "") {
		if err == nil && info.ID != "id" {
			t.Errorf("neither an error nor the ID: %q", info.ID)
		}
	}
}

// lists requires the IDs of a prefix.
func lists(t *testing.T, store checkpoint.Store, prefix string, want ...string) {
	t.Helper()
	var got []string
	for info, err := range store.(runs.Lister).ListCheckPoints(context.Background(), prefix) {
		noError(t, err)
		got = append(got, info.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q has %.300q, not %.300q", prefix, got, want)
	}
}
