package checkpoint_test

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/runs"
)

// badDisk is a disk whose changes go wrong from one on.
type badDisk struct {
	// fails makes the change that goes wrong, and later is what happens to those after it.
	fails func(change string, do, half func() error) error
	later func(change string, do func() error) error

	mu sync.Mutex // guards the fields below
	// at is the change that goes wrong, 0 for none, and changes how many there were since that was set.
	at, changes int
}

func (d *badDisk) fail(step int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.changes = step, 0
}

func (d *badDisk) mend() (reached bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	reached = d.at > 0 && d.changes >= d.at
	d.at = 0
	return reached
}

func (d *badDisk) make(change string, do, half func() error) error {
	d.mu.Lock()
	d.changes++
	is, isLater := d.changes == d.at, d.at > 0 && d.changes > d.at
	d.mu.Unlock()
	switch {
	case is:
		return d.fails(change, do, half)
	case isLater:
		return d.later(change, do)
	}
	return do()
}

// openBad opens a store in a directory, on a disk.
func openBad(t *testing.T, dir string, d *badDisk) *checkpoint.FileStore {
	t.Helper()
	s, err := checkpoint.NewFileStore(dir)
	require.NoError(t, err)
	checkpoint.Disturb(s, d.make)
	return s
}

// TestFileStore_IsWholeWhateverFails: each change of files is made although it fails, fails when a part of it is made, is
// what the process is at when it dies, or finds the disk full.
// Rule distributed/K2.
func TestFileStore_IsWholeWhateverFails(t *testing.T) {
	asUsual := func(_ string, do func() error) error { return do() }
	never := func(string, func() error) error { return fs.ErrClosed }
	inPart := func(err error) func(change string, do, half func() error) error {
		return func(_ string, _, half func() error) error {
			if half == nil {
				return err
			}
			return errors.Join(half(), err)
		}
	}
	for name, d := range map[string]*badDisk{
		"fails afterwards": {fails: func(_ string, do, _ func() error) error { return errors.Join(do(), syscall.EIO) },
			later: asUsual},
		"is made in part":    {fails: inPart(syscall.EIO), later: asUsual},
		"finds no room":      {fails: full, later: func(change string, do func() error) error { return full(change, do, nil) }},
		"is that of a death": {fails: inPart(fs.ErrClosed), later: never},
	} {
		t.Run(name, func(t *testing.T) {
			dir := inMemory(t)
			isDeath := d.later("", func() error { return nil }) == fs.ErrClosed
			checkpointtest.EveryStep(t, checkpointtest.Steps{Store: openBad(t, dir, d), Fail: d.fail,
				Mend: func() (bool, runs.Store) {
					reached := d.mend()
					if reached && isDeath {
						return reached, openBad(t, dir, d)
					}
					return reached, nil
				}})
		})
	}
}

// inMemory is a directory, in memory where the system has such a file system: syncs that cannot fail take no time there.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "weft")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// full behaves as a full disk: existing files can be renamed, removed and written over in place.
func full(change string, do, half func() error) error {
	switch change {
	case "write", "create":
		if half != nil {
			_ = half()
		}
		return syscall.ENOSPC
	}
	return do()
}

// TestFileStore_RunsContinueWhenThereIsRoom.
// Rule distributed/K2.
func TestFileStore_RunsContinueWhenThereIsRoom(t *testing.T) {
	s, err := checkpoint.NewFileStore(inMemory(t))
	require.NoError(t, err)
	var isFull atomic.Bool
	checkpoint.Disturb(s, func(change string, do, half func() error) error {
		if isFull.Load() {
			return full(change, do, half)
		}
		return do()
	})
	adktest.OutOfRoom(t, s, isFull.Store)
}
