// Package backoff is how long to wait before something is tried again, and the wait itself.
//
// Package adk waits with it between calls of a model.
// It must never leave a timer behind, nor outwait its context.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	first    = 100 * time.Millisecond
	doubling = 7 // the waits that double
	longest  = 10 * time.Second
)

// Default is the wait before retry number n, from 1: 100 ms, doubled each time up to 6.4 s, then 10 s; and up to half
// of that more at random, so that clients that failed together do not come back together. Before the first try it is
// 100 ms.
func Default(n int) time.Duration {
	switch {
	case n <= 0:
		return first
	case n > doubling:
		return longest + rand.N(longest/2)
	}
	d := first << (n - 1)
	return d + rand.N(d/2+1)
}

// Wait waits for d, or returns the error of ctx when that ends before. It does not wait if d is not positive.
func Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
