//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package osfile

import "os"

// TryLock does nothing where files cannot be locked: there only one process may write to a file, and whether one has it
// is not known.
func TryLock(_ *os.File, how Lock) (locked bool, err error) { return how == Exclusive, nil }

// IsFull reports whether an error says that the disk is full.
func IsFull(error) bool { return false }
