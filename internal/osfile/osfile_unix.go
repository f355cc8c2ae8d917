//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package osfile

import (
	"errors"
	"os"
	"syscall"
)

// TryLock takes the lock on a file unless it is taken. Closing the file, or the end of the process, gives it back.
func TryLock(f *os.File, how Lock) (locked bool, err error) {
	flag := syscall.LOCK_EX
	if how == Shared {
		flag = syscall.LOCK_SH
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var flockErr error
	err = conn.Control(func(fd uintptr) { flockErr = syscall.Flock(int(fd), flag|syscall.LOCK_NB) })
	switch {
	case err != nil:
		return false, err
	case errors.Is(flockErr, syscall.EWOULDBLOCK) || errors.Is(flockErr, syscall.EINTR):
		return false, nil
	default:
		return flockErr == nil, flockErr
	}
}

// IsFull reports whether an error says that the disk, or what a user may use of it, is full.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
