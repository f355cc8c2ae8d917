package core

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"
)

// InterruptIDs names the interrupt points of one run. An ID depends on the run, on how often the run had stopped
// before, and on the address of the point alone: a process that takes over a run which died stops at the same points
// under the same IDs, and an answer that is under way still fits. A run that has been resumed and stops again has other
// IDs. (C12)
type InterruptIDs struct {
	// Seed is random, and kept with the run. It is what distinguishes the run from all others.
	Seed [16]byte
	// Stops is the number of times that the run has stopped and been saved.
	Stops int

	mu   sync.Mutex     // guards made
	made map[string]int // how many points there were, by address
}

// InterruptIDsKey asks a context for the *[InterruptIDs] of its run.
type InterruptIDsKey struct{}

// newInterruptID names a point of the run that ctx belongs to. Outside of runs with names of their own it is random.
func newInterruptID(ctx context.Context, at Address) string {
	var ids *InterruptIDs
	if ctx != nil {
		ids, _ = ctx.Value(InterruptIDsKey{}).(*InterruptIDs)
	}
	if ids == nil {
		return uuid.NewString()
	}
	return ids.next(at.String())
}

func (ids *InterruptIDs) next(address string) string {
	ids.mu.Lock()
	n := ids.made[address]
	if ids.made == nil {
		ids.made = map[string]int{}
	}
	ids.made[address] = n + 1
	ids.mu.Unlock()
	return uuid.NewSHA1(ids.Seed, fmt.Appendf(nil, "%d %d %s", ids.Stops, n, address)).String()
}
