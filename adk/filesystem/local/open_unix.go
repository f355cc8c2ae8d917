//go:build unix

package local

import "syscall"

// nonblock keeps open from waiting for the other end of a named pipe.
const nonblock = syscall.O_NONBLOCK
