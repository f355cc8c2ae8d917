package osfile

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

const (
	lockFailImmediately = 1
	lockExclusive       = 2
	errLockViolation    = syscall.Errno(33)
)

// TryLock takes the lock on a file unless it is taken. Closing the file, or the end of the process, gives it back. The
// lock is on one byte far behind the end, as no other process could read a byte that is locked.
func TryLock(f *os.File, how Lock) (locked bool, err error) {
	flags := uintptr(lockFailImmediately)
	if how == Exclusive {
		flags |= lockExclusive
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	at := syscall.Overlapped{OffsetHigh: 1 << 30}
	var ok uintptr
	var callErr error
	err = conn.Control(func(fd uintptr) {
		ok, _, callErr = lockFileEx.Call(fd, flags, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	})
	switch {
	case err != nil:
		return false, err
	case ok != 0:
		return true, nil
	case errors.Is(callErr, errLockViolation) || errors.Is(callErr, syscall.ERROR_IO_PENDING):
		return false, nil
	default:
		return false, callErr
	}
}

// IsFull reports whether an error says that the disk is full: ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL.
func IsFull(err error) bool {
	return errors.Is(err, syscall.Errno(39)) || errors.Is(err, syscall.Errno(112))
}
