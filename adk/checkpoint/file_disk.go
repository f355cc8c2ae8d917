package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/weftgo/weft/internal/osfile"
	"github.com/weftgo/weft/runs"
)

// disk makes the changes of a store to files.
type disk struct {
	// disturb makes a change instead of the disk, in tests: see diskChange.
	disturb func(c diskChange) error
}

// diskChange is one change to files. half makes it in part, and is nil for what cannot be made in part.
type diskChange struct {
	name     string
	do, half func() error
}

// change makes a change.
func (d *disk) change(name string, do func() error) error {
	if d.disturb == nil {
		return named(do())
	}
	return named(d.disturb(diskChange{name: name, do: do}))
}

// named says of an error that the disk is full if it is.
func named(err error) error {
	if osfile.IsFull(err) {
		return fmt.Errorf("%w: %w", runs.ErrFull, err)
	}
	return err
}

// write writes data into a file.
func (d *disk) write(f *os.File, data []byte, offset int64) error {
	do := func(data []byte) error {
		_, err := f.WriteAt(data, offset)
		return err
	}
	if d.disturb == nil {
		return named(do(data))
	}
	half := func() error { return do(data[:len(data)/2]) }
	return named(d.disturb(diskChange{"write", func() error { return do(data) }, half}))
}

// writeSynced is write, and what was written is on the disk when it returns.
func (d *disk) writeSynced(f *os.File, data []byte, offset int64) error {
	if err := d.write(f, data, offset); err != nil {
		return err
	}
	return d.change("sync", f.Sync)
}

// create opens a file, and makes it if there is none and the flags say so.
func (d *disk) create(path string, flag int) (f *os.File, err error) {
	if d.disturb == nil || flag&os.O_CREATE == 0 {
		f, err = os.OpenFile(path, flag, 0o600)
		return f, named(err)
	}
	err = d.change("create", func() (err error) {
		f, err = os.OpenFile(path, flag, 0o600)
		return err
	})
	return opened(f, err)
}

// createTemp makes a file that will take the place of another one.
func (d *disk) createTemp(path string) (f *os.File, err error) {
	dir, base := filepath.Split(path)
	err = d.change("create", func() (err error) {
		f, err = os.CreateTemp(dir, base+".*"+temporaryFile)
		return err
	})
	return opened(f, err)
}

// opened is a file unless there is an error.
func opened(f *os.File, err error) (*os.File, error) {
	if err != nil && f != nil {
		f.Close()
		f = nil
	}
	return f, err
}

func (d *disk) rename(from, to string) error {
	return d.change("rename", func() error { return os.Rename(from, to) })
}

func (d *disk) unlink(path string) error {
	return d.change("remove", func() error { return os.Remove(path) })
}

func (d *disk) truncate(f *os.File, size int64) error {
	return d.change("truncate", func() error { return f.Truncate(size) })
}

func (d *disk) touch(path string, at time.Time) error {
	return d.change("touch", func() error { return os.Chtimes(path, at, at) })
}

// syncDir makes the names in a directory durable.
func (d *disk) syncDir(dir string) error {
	return d.change("sync", func() error { return syncDir(dir) })
}

// replace puts data in the place of a file. The data is written and synced under another name first, so that a reader
// of the file, also after a crash, finds the old content or the new one.
func (d *disk) replace(ctx context.Context, path string, data []byte) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	temp, err := d.createTemp(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = d.unlink(temp.Name())
		}
	}()
	err = d.writeSynced(temp, data, 0)
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = ctx.Err() // the last chance to leave the old content
	}
	if err == nil {
		err = d.rename(temp.Name(), path)
	}
	if err != nil {
		return err
	}
	// Too late for the deferred removal to matter: the temporary name is gone.
	return d.syncDir(filepath.Dir(path))
}

// remove removes a file, if it is there.
func (d *disk) remove(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := d.unlink(path)
	if errors.Is(err, fs.ErrNotExist) {
		// Another process may just have removed it, and not have synced yet.
		err = nil
	}
	if err != nil {
		return err
	}
	return d.syncDir(filepath.Dir(path))
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
