package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// Endings of the store's files.
const (
	checkpointFile = ".checkpoint"
	journalFile    = ".journal"
	temporaryFile  = ".tmp"
)

// abandonedAfter is the age at which a temporary file can only be one that a crash left behind.
const abandonedAfter = time.Hour

// FileStore keeps checkpoints in a directory, one file each, and their journals in files beside them. It is safe for
// concurrent use by goroutines and, on one machine, by processes: each may have a FileStore on the same directory.
//
// What Set, AppendRecord, Delete and RemoveRecords did is on disk when they return. A crash of the process or of the
// machine at any point leaves the old checkpoint or the new one.
//
// Any string is a valid ID. A file's name starts with what is harmless in the ID, to be readable in a listing, and
// continues with the ID in letters that every file system keeps, or with a hash of a long one, which then is in a file
// beside it. Files are readable by their owner only.
//
// A call whose context has ended does nothing and returns the error of the context.
//
// Runs that are held cost a file that is open each. A process that is frozen in the middle of a write, which takes
// about a millisecond, keeps those waiting who want the same run, or one of the sixty-fourth part of all that shares
// its lock, until it continues or is killed, or their contexts end. On Windows a run whose process is frozen, and not
// dead, cannot be taken over: the system does not let go of a file that is open.
type FileStore struct {
	// Retention sets the time for which runs are kept. It must not be changed when the store is in use.
	Retention runs.Retention

	dir  string
	disk disk
	// busy keeps the users of a journal in this process apart, so that only one of them asks for the lock on its file.
	busy   keyedLock
	cached rowCache
	// passedOver are runs whose rows cannot be read.
	passedOver storekit.PassedOver[string]
	open       openLeases
	// stops has the leases of this process look for requests to stop, by the IDs of their runs.
	stops *storekit.StopWatch[string, *fileLease]
	// swept is the time at which this process looked for runs that have expired, in nanoseconds since 1970.
	swept atomic.Int64
}

// NewFileStore opens the store in dir, and makes the directory if there is none. The directory should hold nothing
// else. It removes temporary files that a crash left there over an hour ago.
func NewFileStore(dir string) (*FileStore, error) {
	if dir == "" {
		return nil, errors.New("checkpoint store: the directory is empty: name one")
	}
	abs, err := filepath.Abs(dir) // so that the process may change its working directory
	if err != nil {
		return nil, fmt.Errorf("checkpoint store in %q: %w", dir, err)
	}
	if err := makeDir(abs); err != nil {
		return nil, fmt.Errorf("checkpoint store in %q: %w", dir, err)
	}
	s := &FileStore{dir: abs}
	s.stops = storekit.NewStopWatch[string](lookForStops, nil)
	if err := s.checkNames(); err != nil {
		return nil, fmt.Errorf("checkpoint store in %q: %w", dir, err)
	}
	s.swept.Store(time.Now().UnixNano())
	s.sweep()
	return s, nil
}

// makeDir makes a directory with its parents, durably.
func makeDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return errors.New("not a directory")
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// sweep removes what crashes left. It is a service: what it cannot do, it leaves.
func (s *FileStore) sweep() {
	entries, _ := os.ReadDir(s.dir)
	for _, e := range entries {
		name := e.Name()
		if id, err := s.idOf(strings.TrimSuffix(name, removedFile)); err == nil && filepath.Ext(name) == removedFile {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, _, _ = s.Inspect(ctx, id) // which removes what is left of it
			cancel()
			continue
		}
		ours := slices.ContainsFunc([]string{checkpointFile, idFile, rowFile, leaseFile}, func(ending string) bool {
			return strings.Contains(name, ending)
		})
		if filepath.Ext(name) != temporaryFile || !ours {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandonedAfter {
			_ = os.Remove(filepath.Join(s.dir, name))
		}
	}
}

// Get returns the checkpoint, and false when there is none with that ID.
func (s *FileStore) Get(ctx context.Context, checkPointID string) ([]byte, bool, error) {
	if err := ended(ctx, "get", checkPointID); err != nil {
		return nil, false, err
	}
	data, err := os.ReadFile(s.path(checkPointID, checkpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, storekit.Failed("get", checkPointID, err)
	}
	checkPoint, err := storekit.CheckSum(data, sumPlace(checkPointID), fileCheckpoint)
	if err != nil {
		return nil, false, storekit.NewRowError(checkPointID, fmt.Errorf("%w: its checkpoint: %w, or it was written by an older Weft",
			runs.ErrUnreadable, err))
	}
	return checkPoint, true, nil
}

// Set stores the checkpoint: whole, or not at all if it fails.
func (s *FileStore) Set(ctx context.Context, checkPointID string, checkPoint []byte) error {
	if err := storekit.CheckSize("set", checkPointID, checkPoint); err != nil {
		return err
	}
	err := s.nameHashed(ctx, checkPointID)
	if err == nil {
		err = s.disk.replace(ctx, s.path(checkPointID, checkpointFile),
			storekit.AddSum(checkPoint, sumPlace(checkPointID), fileCheckpoint))
	}
	return storekit.Failed("set", checkPointID, err)
}

// fileCheckpoint is the kind of checkpoints in files, for their sums.
const fileCheckpoint = 1

// sumPlace is the place of what belongs to an ID, for its sum: files that were swapped are refused.
func sumPlace(checkPointID string) int64 {
	return int64(crc32.Checksum([]byte(checkPointID), castagnoli))
}

// Delete removes the checkpoint. Its journal stays.
func (s *FileStore) Delete(ctx context.Context, checkPointID string) error {
	return storekit.Failed("delete", checkPointID, s.disk.remove(ctx, s.path(checkPointID, checkpointFile)))
}

// EventRetention is for how long the events of a run stay after its end: see [runs.Retention].
func (s *FileStore) EventRetention() time.Duration { return s.Retention.ForEvents() }
