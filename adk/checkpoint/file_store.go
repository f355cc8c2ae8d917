package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
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
	// Retention is how long runs are kept. It must not be changed when the store is in use.
	Retention Retention

	dir string
	// busy keeps the users of a journal in this process apart, so that only one of them asks for the lock on its file.
	busy   keyedLock
	cached rowCache
	// passedOver are runs whose rows cannot be read.
	passedOver storekit.PassedOver[string]
	open       openLeases
	// swept is when this process looked for runs that have expired, in nanoseconds since 1970.
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
	checkPoint, err := os.ReadFile(s.path(checkPointID, checkpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, storekit.Failed("get", checkPointID, err)
	}
	return checkPoint, true, nil
}

// Set stores the checkpoint: whole, or not at all if it fails.
func (s *FileStore) Set(ctx context.Context, checkPointID string, checkPoint []byte) error {
	err := s.nameHashed(ctx, checkPointID)
	if err == nil {
		err = replace(ctx, s.path(checkPointID, checkpointFile), checkPoint)
	}
	return storekit.Failed("set", checkPointID, err)
}

// Delete removes the checkpoint. Its journal stays.
func (s *FileStore) Delete(ctx context.Context, checkPointID string) error {
	return storekit.Failed("delete", checkPointID, remove(ctx, s.path(checkPointID, checkpointFile)))
}

// replace puts data in the place of a file. The data is written and synced under another name first, so that a reader
// of the file, also after a crash, finds the old content or the new one.
func replace(ctx context.Context, path string, data []byte) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir, base := filepath.Split(path)
	temp, err := os.CreateTemp(dir, base+".*"+temporaryFile)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = ctx.Err() // the last chance to leave the old content
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return err
	}
	// Too late for the deferred removal to matter: the temporary name is gone.
	return syncDir(dir)
}

// remove removes a file, if it is there.
func remove(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		// Somebody may just have removed it, and not have synced yet.
		err = nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // it has no such thing: the file system's own log does it
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil // nor have some network file systems
	}
	return err
}

// EventRetention is for how long the events of a run stay after its end: see [Retention].
func (s *FileStore) EventRetention() time.Duration { return s.Retention.Events }
