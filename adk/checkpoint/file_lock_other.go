//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package checkpoint

import "os"

// tryLock does nothing where files cannot be locked: there only one process may append to the journal of an ID, and
// whether the owner of a lease is alive is not known before the lease ends.
func tryLock(_ *os.File, how lockKind) (locked bool, err error) { return how == exclusiveLock, nil }

// isFull reports whether an error says that the disk is full.
func isFull(error) bool { return false }
