// Package osfile has what systems do differently with files: locks that processes share, and disks that are full.
package osfile

import (
	"context"
	"os"
	"time"
)

// Lock is the mode of a lock on a file: exclusive, or shared by any number of processes that only want to know whether
// one has it.
type Lock int

// The kinds of locks.
const (
	Exclusive Lock = iota
	Shared
)

// AwaitLock waits for the exclusive lock on a file. It asks again and again, as a wait in the kernel would not end with the
// context.
func AwaitLock(ctx context.Context, f *os.File) error {
	const longest = 20 * time.Millisecond
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, longest) {
		locked, err := TryLock(f, Exclusive)
		if locked || err != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
