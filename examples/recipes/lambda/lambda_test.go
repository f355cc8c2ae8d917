package lambda

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/examples/recipes/internal/desk"
	"github.com/weftgo/weft/runs"
)

// A run that takes longer than a call is continued by the next one, and makes each of its calls once.
func TestFunction_StopsInTimeAndIsCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, calls, err := desk.NewSlow(t.Context(), 10*time.Minute, 4)
		if err != nil {
			t.Fatal(err)
		}
		store := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"desk": dispatch.RunnerOf(agent)}})
		if _, err := store.Submit(t.Context(), desk.Job("r")); err != nil {
			t.Fatal(err)
		}
		queue, n := []Event{{"r"}}, 0
		function := Function(store, 6*time.Minute, func(_ context.Context, e Event, _ time.Duration) error {
			queue = append(queue, e)
			return nil
		})
		for ; len(queue) > 0; n++ {
			e := queue[0]
			queue = queue[1:]
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
			if err := function(ctx, e); err != nil {
				t.Fatal(err)
			}
			cancel()
			if time.Since(begun) >= 15*time.Minute {
				t.Fatal("the function was ended")
			}
		}
		info, _, err := store.Inspect(t.Context(), "r")
		if err != nil || info.Status != runs.Done || n < 2 || calls.Load() != 4 {
			t.Fatalf("%s after %d calls of the function and %d of the tool: %v", info.Status, n, calls.Load(), err)
		}
	})
}
