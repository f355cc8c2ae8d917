package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A reader that waits for too long is told, one that is busy with an event for as long is not.
func TestIdleWatch_StopsAReaderThatWaits(t *testing.T) {
	stopped := make(chan struct{}, 10)
	w := watchIdle(time.Hour, func() { stopped <- struct{}{} })
	defer w.end()
	w.rest()
	w.look()
	require.Empty(t, stopped, "the reader has an event")
	w.wait()
	w.look()
	require.Empty(t, stopped, "it has not waited for long")
	w.idle = 0
	w.look()
	require.Len(t, stopped, 1)

	soon := watchIdle(time.Millisecond, func() { stopped <- struct{}{} })
	defer soon.end()
	<-stopped
	<-stopped
}
