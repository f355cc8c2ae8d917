package temporalengine_test

import (
	"testing"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/dispatch/dispatchtest"
)

// TestEngine_IsAFront.
// Rule temporal/K13.
func TestEngine_IsAFront(t *testing.T) {
	c := dial(t, serverAddress(t))
	dispatchtest.RunFront(t, func(t *testing.T, conf dispatch.Config) dispatchtest.Front {
		return working(t, c, dispatch.New(checkpoint.NewMemoryStore(), conf), confOf(t))
	})
}
