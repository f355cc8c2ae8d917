package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/examples/recipes/internal/desk"
	"github.com/weftgo/weft/runs"
)

func TestServe_EveryOrderEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := serve(ctx, t.TempDir(), 10); err != nil {
		t.Fatal(err)
	}
}

// A client that is stopped gives its run back behind the call that is in flight, and the next one continues.
func TestWorker_GivesRunsBackWhenItsClientEnds(t *testing.T) {
	agent, calls, err := desk.NewSlow(t.Context(), 500*time.Millisecond, 3)
	if err != nil {
		t.Fatal(err)
	}
	store := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"desk": dispatch.RunnerOf(agent)}})
	db, err := open(filepath.Join(t.TempDir(), "river.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	start := func() *river.Client[*sql.Tx] {
		queue, err := Queue(t.Context(), db, store)
		if err == nil {
			err = queue.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return queue
	}
	queue := start()
	if _, err := store.Submit(t.Context(), desk.Job("r")); err != nil {
		t.Fatal(err)
	}
	if _, err := queue.Insert(t.Context(), Run{"r"}, nil); err != nil {
		t.Fatal(err)
	}
	for calls.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := queue.StopAndCancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, _, err := store.Inspect(t.Context(), "r")
	if err != nil || info.Status != runs.Ready || calls.Load() != 1 {
		t.Fatalf("%s after %d calls: %v", info.Status, calls.Load(), err)
	}
	queue = start()
	defer queue.StopAndCancel(context.WithoutCancel(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for o, err := store.Wait(ctx, "r"); o.Status != runs.Done; o, err = store.Wait(ctx, "r") {
		if err != nil {
			t.Fatal(err)
		}
	}
	if calls.Load() != 3 {
		t.Fatalf("%d calls", calls.Load())
	}
}
