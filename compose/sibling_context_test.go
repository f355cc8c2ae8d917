package compose

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Siblings cost nothing until somebody asks when their context ends.
func TestSiblingContext_IsFreeUntilAsked(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	defer cancel()
	b := &siblingContext{Context: parent}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = b.Err(), b.Value(toolCallKey{})
		b.release(nil)
	}))
}

// Contexts that nobody sees any more leave nothing behind, and are no danger to tests with synthetic time: the garbage
// collector works outside of their bubble.
func TestSiblingContext_IsCollected(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	defer cancel()
	_ = parent.Done() // made out here
	collected := make(chan struct{})
	synctest.Test(t, func(t *testing.T) {
		func() {
			s := &siblingContext{Context: parent}
			_ = s.Done()
			runtime.AddCleanup(s.ending.Load(), func(c chan struct{}) { close(c) }, collected)
		}()
		runtime.GC()
	})
	for range 100 {
		runtime.GC()
		select {
		case <-collected:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal("the context was not collected")
}
