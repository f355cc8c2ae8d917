package dispatchtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/dispatch/dispatchtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestDispatcher_IsAFront.
// Rule distributed/K13.
func TestDispatcher_IsAFront(t *testing.T) {
	dispatchtest.RunFront(t, func(t *testing.T, conf dispatch.Config) dispatchtest.Front {
		d := dispatch.New(checkpoint.NewMemoryStore(), conf)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- d.Work(ctx, dispatch.WorkerConfig{Poll: 50 * time.Millisecond}) }()
		t.Cleanup(func() {
			cancel()
			require.NoError(t, <-ended)
		})
		return d
	})
}
