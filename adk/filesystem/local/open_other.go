//go:build !unix

package local

// nonblock is for platforms that have named pipes among the files.
const nonblock = 0
