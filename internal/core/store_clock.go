package core

import (
	"time"

	"github.com/weftgo/weft/runs"
)

// A StoreClock tells the time of a store in a process whose own clock may be another: what the store's was when a lease
// was taken, and what has passed since by the monotonic clock. No decision about a run compares the clocks of two
// machines. (S3)
type StoreClock struct {
	then, here time.Time
}

// NewStoreClock makes the clock of the store that handed out a lease with this Info, right after it did.
func NewStoreClock(taken runs.Info) StoreClock {
	here := time.Now()
	if taken.Now.IsZero() { // a store that does not say it
		return StoreClock{here, here}
	}
	return StoreClock{taken.Now, here}
}

// Now returns the time of the store.
func (c StoreClock) Now() time.Time {
	if c.here.IsZero() {
		return time.Now()
	}
	return c.then.Add(time.Since(c.here))
}

// Local converts a time of the store to the clock of this process.
func (c StoreClock) Local(at time.Time) time.Time { return time.Now().Add(at.Sub(c.Now())) }
