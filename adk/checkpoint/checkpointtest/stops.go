package checkpointtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weftgo/weft/runs"
)

// Limits of how long a request to stop a run may be on its way to the process that holds it. (F18)
const (
	stopHere      = 50 * time.Millisecond
	stopElsewhere = time.Second
)

// Stops requires that a request to stop a run reaches the holder of its lease though that neither renews nor writes: at once
// if the request is made with the store that handed out the lease, and within a second if it is made with another one on
// the same database, as in another process. A single delay of a busy machine does not count: the median of several does.
func Stops(t *testing.T, holder, another runs.Store) {
	for _, from := range []struct {
		name   string
		store  runs.Store
		within time.Duration
	}{{"the store of the lease", holder, stopHere}, {"another store", another, stopElsewhere}} {
		t.Run(from.name, func(t *testing.T) {
			s := &subject{Store: holder, t: t}
			var took []time.Duration
			for i := range 5 {
				id := fmt.Sprintf("stopped by %s %d", from.name, i)
				l := s.hold(id)
				how := runs.StopRequest{Immediate: true, Reason: id}
				begun := time.Now()
				noError(t, from.store.Stop(background, id, how))
				select {
				case got := <-l.Stops():
					if got != how {
						t.Errorf("the request is %+v; want %+v", got, how)
					}
				case <-time.After(10 * time.Second):
					t.Fatalf("a request to stop, made by %s, did not reach the holder in 10 s", from.name)
				}
				took = append(took, time.Since(begun))
				s.settle(l, runs.Settlement{Status: runs.Paused})
			}
			slices.Sort(took)
			if median := took[len(took)/2]; median > from.within {
				t.Errorf("a request to stop, made by %s, is on its way for %v; want at most %v", from.name, median, from.within)
			}
		})
	}
}
