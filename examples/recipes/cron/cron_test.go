package cron

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/examples/recipes/internal/desk"
	"github.com/weftgo/weft/runs"
)

func post(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Every second request for a run is lost: the clock finds it.
func TestHandler_EveryOrderEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	agent, err := desk.New(ctx)
	if err != nil {
		t.Fatal(err)
	}
	store := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"desk": dispatch.RunnerOf(agent)}})
	server := httptest.NewServer(Handler(store, 50*time.Second, nil))
	defer server.Close()
	go func() {
		for ctx.Err() == nil {
			_ = post(ctx, server.URL+"/due")
			time.Sleep(20 * time.Millisecond)
		}
	}()
	n := 0
	err = desk.Serve(ctx, store, 10, func(id string) error {
		if n++; n%2 == 0 {
			return nil
		}
		return post(ctx, server.URL+"/runs/"+id)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A request that takes its time is answered with 202, and the run continues behind the call that was in flight.
func TestHandler_StopsAfterItsTime(t *testing.T) {
	agent, calls, err := desk.NewSlow(t.Context(), 100*time.Millisecond, 4)
	if err != nil {
		t.Fatal(err)
	}
	store := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"desk": dispatch.RunnerOf(agent)}})
	if _, err := store.Submit(t.Context(), desk.Job("r")); err != nil {
		t.Fatal(err)
	}
	handler, requests := Handler(store, 150*time.Millisecond, nil), 0
	for code := http.StatusAccepted; code == http.StatusAccepted; requests++ {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/runs/r", nil))
		code = w.Code
	}
	info, _, err := store.Inspect(t.Context(), "r")
	if err != nil || info.Status != runs.Done || requests < 2 || calls.Load() != 4 {
		t.Fatalf("%s after %d requests and %d calls: %v", info.Status, requests, calls.Load(), err)
	}
}
