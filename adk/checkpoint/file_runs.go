package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/internal/osfile"
	"github.com/weftgo/weft/runs"
)

var _ runs.Store = (*FileStore)(nil)

// fileNow is the clock of the store: all processes that share a directory share the machine.
func fileNow() time.Time { return time.Now().Truncate(time.Microsecond) }

// Submit makes a run that is ready.
func (s *FileStore) Submit(ctx context.Context, id string, run runs.Spec) (info runs.Info, err error) {
	if run.Key != "" {
		unlock, err := s.lockKey(ctx, run.Key)
		if err != nil {
			return info, storekit.Failed("submit", id, err)
		}
		defer unlock()
	}
	err = s.withRow(ctx, "submit", id, func(f *fileRow) (*fileRow, error) {
		if f != nil {
			info = f.Row.Info()
			return nil, f.Row.Refuse(runs.ErrExists)
		}
		f, err := s.make(ctx, id, run)
		if err == nil {
			info = f.Row.Info()
		}
		if err == nil && run.Alone {
			err = s.alone(ctx, f)
		}
		return f, err
	})
	return info, err
}

// alone refuses a run that would be behind another of its key. The file of the keys is locked.
func (s *FileStore) alone(ctx context.Context, f *fileRow) error {
	rows, err := s.rows(ctx)
	if err != nil {
		return storekit.Failed("submit", f.Row.Run.ID, err)
	}
	if other := inFront(rows, &f.Row); other != nil {
		return storekit.NotAlone(&f.Row, other)
	}
	return nil
}

// make makes the row of a new run.
func (s *FileStore) make(ctx context.Context, id string, run runs.Spec) (*fileRow, error) {
	born, err := s.nextToken(ctx)
	if err != nil {
		return nil, storekit.Failed("submit", id, err)
	}
	r, err := storekit.New(id, run, born, fileNow())
	if err != nil {
		return nil, err
	}
	f := &fileRow{Row: *r}
	if len(run.Records) > 0 {
		f.Todo = &rowTodo{DropRecords: true, Records: run.Records}
	}
	return f, nil
}

// Acquire takes a run.
func (s *FileStore) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	return s.acquire(ctx, id, req, func(*fileRow) error { return nil })
}

// acquire takes a run if it still is what check wants.
func (s *FileStore) acquire(ctx context.Context, id string, req runs.LeaseRequest, check func(*fileRow) error) (runs.Lease, error) {
	if err := ended(ctx, "acquire", id); err != nil {
		return nil, err
	}
	rows, err := s.keyRows(ctx, id, req)
	if err != nil {
		return nil, storekit.Failed("acquire", id, err)
	}
	var l *fileLease
	err = s.withRow(ctx, "acquire", id, func(f *fileRow) (*fileRow, error) {
		made := f == nil
		if made {
			if req.Create == nil {
				return nil, storekit.NotFound(id)
			}
			var err error
			if f, err = s.make(ctx, id, *req.Create); err != nil {
				return nil, err
			}
		}
		if err := check(f); err != nil {
			return nil, err
		}
		if other := inFront(rows, &f.Row); other != nil {
			return nil, storekit.Behind(&f.Row, other)
		}
		var err error
		l, err = s.take(ctx, f, req, made)
		return f, err
	})
	if err != nil {
		if l != nil {
			s.open.close(id, l.file)
		}
		return nil, err
	}
	return l, nil
}

// keyRows are the rows that may be in front of a run with a key. Most runs have none.
func (s *FileStore) keyRows(ctx context.Context, id string, req runs.LeaseRequest) ([]*fileRow, error) {
	f, err := readRowFile(s.path(id, rowFile))
	if err != nil || f == nil && (req.Create == nil || req.Create.Key == "") || f != nil && f.Row.Run.Key == "" {
		return nil, err
	}
	return s.rows(ctx)
}

// inFront is the run that must end before r can be taken, nil for most.
func inFront(rows []*fileRow, r *storekit.Row) *storekit.Row {
	if r.Run.Key == "" {
		return nil
	}
	now := fileNow()
	for _, other := range rows {
		if r.IsBehind(&other.Row, now) {
			return &other.Row
		}
	}
	return nil
}

// take makes the lease of a row that is locked: a file that this process keeps locked takes the place of the last one.
// isNew: the run was made for that.
func (s *FileStore) take(ctx context.Context, f *fileRow, req runs.LeaseRequest, isNew bool) (*fileLease, error) {
	r := &f.Row
	if r.Held(fileNow()) && !req.Steal {
		return nil, r.Busy()
	}
	token, err := s.nextToken(ctx)
	if err != nil {
		return nil, storekit.Failed("acquire", r.Run.ID, err)
	}
	if r.Run.Owner != "" && s.hasProgress(r.Run.ID) {
		r.Run.Attempts = 1
	}
	if records, err := s.ReadRecords(ctx, r.Run.ID); err == nil {
		r.Run.Steps = len(records)
	}
	before, err := r.Acquire(token, req, fileNow())
	if err != nil {
		return nil, err
	}
	l := &fileLease{Lease: storekit.NewLease(r, before, isNew, s), store: s, running: r.Run.Status == runs.Running}
	if l.file, err = s.makeLease(r.Run.ID, token); err != nil {
		return nil, storekit.Failed("acquire", r.Run.ID, err)
	}
	s.open.keep(r.Run.ID, l.file)
	s.stops.Hold(r.Run.ID, l)
	return l, nil
}

// The file of a lease is its token, 20 digits, and a letter: p once the run has made progress.
func leaseText(token uint64) []byte { return fmt.Appendf(nil, "%-20d-", token) }

// makeLease writes the file of a lease and locks it before anybody can see it.
func (s *FileStore) makeLease(id string, token uint64) (*os.File, error) {
	path := s.path(id, leaseFile)
	f, err := s.disk.createTemp(path)
	if err != nil {
		return nil, err
	}
	locked, err := osfile.TryLock(f, osfile.Exclusive)
	if err == nil && !locked {
		err = errors.New("the file system does not lock files")
	}
	if err == nil {
		err = s.disk.writeSynced(f, leaseText(token), 0)
	}
	if err == nil {
		err = s.disk.touch(f.Name(), time.Now())
	}
	if err == nil {
		err = s.disk.rename(f.Name(), path)
	}
	if err != nil {
		f.Close()
		_ = s.disk.unlink(f.Name())
		return nil, err
	}
	return opened(f, s.disk.syncDir(s.dir))
}

// hasProgress reports whether the last lease recorded a step after its first.
func (s *FileStore) hasProgress(id string) bool {
	text, err := os.ReadFile(s.path(id, leaseFile))
	return err == nil && len(text) > 20 && text[20] == 'p'
}

// AcquireDue takes the run that is due for longest. It reads the rows of all runs. Those that cannot be read are passed
// over; their error is returned when nothing else is due, once a minute.
func (s *FileStore) AcquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (runs.Lease, error) {
	rows, bad, err := s.readRows(ctx)
	if err != nil {
		return nil, storekit.Failed("acquire", "that is due", err)
	}
	l, err := s.acquireFirst(ctx, rows, req, due)
	if err == runs.ErrNothingDue {
		for _, row := range bad {
			if s.passedOver.Add(row.ID) {
				err = row
			}
		}
	}
	return l, err
}

// acquireFirst takes the first run that is due.
func (s *FileStore) acquireFirst(ctx context.Context, rows []*fileRow, req runs.LeaseRequest, due runs.Due) (runs.Lease, error) {
	now := fileNow()
	var found []*fileRow
	for _, f := range rows {
		if f.Todo != nil { // a process died before it had done it
			if err := s.withRow(ctx, "settle", f.Row.Run.ID, func(*fileRow) (*fileRow, error) { return nil, nil }); err != nil {
				return nil, err
			}
		}
		if _, is := f.Row.DueAt(now); is && f.Row.IsAmong(due) && inFront(rows, &f.Row) == nil {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b *fileRow) int { return storekit.InDueOrder(&a.Row, &b.Row, now) })
	for _, f := range found {
		l, err := s.acquire(ctx, f.Row.Run.ID, req, func(f *fileRow) error {
			if _, is := f.Row.DueAt(fileNow()); !is {
				return runs.ErrNothingDue
			}
			return nil
		})
		if errors.Is(err, runs.ErrNothingDue) || errors.Is(err, runs.ErrBusy) || errors.Is(err, runs.ErrNotFound) {
			continue // another worker was faster
		}
		return l, err
	}
	return nil, runs.ErrNothingDue
}

// rows reads all rows that can be read, with who holds them.
func (s *FileStore) rows(ctx context.Context) ([]*fileRow, error) {
	rows, _, err := s.readRows(ctx)
	return rows, err
}

// readRows reads all rows, with who holds them, and says which cannot be read.
func (s *FileStore) readRows(ctx context.Context) (rows []*fileRow, bad []*storekit.RowError, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), rowFile) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		f, err := s.cached.read(filepath.Join(s.dir, e.Name()), e)
		switch {
		case err != nil && !errors.Is(err, runs.ErrUnreadable):
			return nil, nil, err
		case err != nil:
			bad = append(bad, s.badRow(e.Name(), err))
		case f != nil:
			if err := s.seeLease(f); err != nil {
				return nil, nil, err
			}
			rows = append(rows, f)
		}
	}
	return rows, bad, nil
}

// badRow is the error of the file of a row that cannot be read.
func (s *FileStore) badRow(file string, err error) *storekit.RowError {
	id, unknown := s.idOf(strings.TrimSuffix(file, rowFile))
	if unknown != nil {
		id = file
	}
	return storekit.NewRowError(id, err)
}

// openLeases are the files of the leases that this process holds. It keeps them open, and so locked, also if the caller that
// took a lease has forgotten it: the lock says only that the process lives.
type openLeases struct {
	mu    sync.Mutex // guards files
	files map[string]*os.File
}

// keep takes a file instead of the one of an earlier lease of the run.
func (o *openLeases) keep(id string, f *os.File) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.files == nil {
		o.files = map[string]*os.File{}
	}
	if before := o.files[id]; before != nil {
		before.Close()
	}
	o.files[id] = f
}

func (o *openLeases) close(id string, f *os.File) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.Close()
	if o.files[id] == f {
		delete(o.files, id)
	}
}

// rowCache has the rows that were read by their files, so that those that did not change are not decoded again.
type rowCache struct {
	mu   sync.Mutex // guards rows
	rows map[string]cachedRow
}

type cachedRow struct {
	seen seenFile
	row  fileRow
}

// seenFile tells whether a file is still the one that was read. The zero value is no file.
type seenFile struct {
	modified time.Time
	size     int64
}

// clockTick is more than the steps in which systems count the time that a file was modified: 4 ms on many, 2 s on few. Two
// writes within a step have the same time.
const clockTick = 50 * time.Millisecond

// see notes the state of a file before it is read. One that was modified just now counts as changed at the next look, as a
// write after the reading could have the same time.
func see(info os.FileInfo) seenFile {
	if time.Since(info.ModTime()) < clockTick {
		return seenFile{}
	}
	return seenFile{info.ModTime(), info.Size()}
}

// isStill reports whether the file has not been written since.
func (f seenFile) isStill(info os.FileInfo) bool {
	return f.modified.Equal(info.ModTime()) && f.size == info.Size() && !f.modified.IsZero()
}

// read returns a copy of a row, nil if it has just been removed.
func (c *rowCache) read(path string, e os.DirEntry) (*fileRow, error) {
	info, err := e.Info()
	if err != nil {
		return nil, nil
	}
	c.mu.Lock()
	known, ok := c.rows[path]
	c.mu.Unlock()
	if !ok || !known.seen.isStill(info) {
		f, err := readRowFile(path)
		if err != nil || f == nil {
			return nil, err
		}
		known = cachedRow{see(info), *f}
		c.mu.Lock()
		if c.rows == nil || len(c.rows) > mostCachedRows {
			c.rows = map[string]cachedRow{}
		}
		c.rows[path] = known
		c.mu.Unlock()
	}
	row := known.row
	return &row, nil
}

const mostCachedRows = 50_000

// change makes a transition of a run that exists.
func (s *FileStore) change(ctx context.Context, doing, id string, do func(r *storekit.Row) error) error {
	return s.withRow(ctx, doing, id, func(f *fileRow) (*fileRow, error) {
		if f == nil {
			return nil, storekit.NotFound(id)
		}
		return f, do(&f.Row)
	})
}

// Reply replies to questions of a run.
func (s *FileStore) Reply(ctx context.Context, id string, answers ...runs.Reply) error {
	return s.change(ctx, "answer", id, func(r *storekit.Row) error { return r.Reply(answers, fileNow()) })
}

// Stop asks the holder of a run to stop it, and pauses it if no process holds it.
func (s *FileStore) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	err := s.change(ctx, "stop", id, func(r *storekit.Row) error {
		if err := r.Stop(how, s.Retention, fileNow()); err != nil || r.Stopping != nil {
			return err
		}
		return s.disk.remove(ctx, s.path(id, leaseFile))
	})
	if err == nil {
		s.stops.Look(ctx, id)
	}
	return err
}

// Continue makes a run that is paused ready.
func (s *FileStore) Continue(ctx context.Context, id string) error {
	return s.change(ctx, "continue", id, func(r *storekit.Row) error { return r.Continue(fileNow()) })
}

// Inspect returns what is known of a run.
func (s *FileStore) Inspect(ctx context.Context, id string) (info runs.Info, exists bool, err error) {
	err = s.withRow(ctx, "inspect", id, func(f *fileRow) (*fileRow, error) {
		if f != nil {
			exists, info = true, s.sized(ctx, f)
		}
		return nil, nil
	})
	return info, exists, err
}

// sized returns the description of a run, with the sizes of its files.
func (s *FileStore) sized(ctx context.Context, f *fileRow) runs.Info {
	info := f.Row.Info()
	if info.Owner != "" && s.hasProgress(info.ID) {
		info.Attempts = 1
	}
	info.Steps, info.Bytes = 0, int64(len(f.Row.Result))
	if file, err := os.Stat(s.path(info.ID, checkpointFile)); err == nil {
		info.Bytes += max(0, file.Size()-storekit.SumSize)
	}
	if file, err := os.Stat(s.path(info.ID, journalFile)); err == nil {
		info.Bytes += file.Size()
		if records, err := s.ReadRecords(ctx, info.ID); err == nil {
			info.Steps = len(records)
		}
	}
	return info
}

// Result returns the result of a run that is done.
func (s *FileStore) Result(ctx context.Context, id string) (result []byte, err error) {
	err = s.withRow(ctx, "get the result of", id, func(f *fileRow) (*fileRow, error) {
		if f != nil {
			result = f.Row.Result
		}
		return nil, nil
	})
	return result, err
}

// List yields the runs that there are when the loop begins.
func (s *FileStore) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	return func(yield func(runs.Info, error) bool) {
		all, err := s.listed(ctx, q)
		if err != nil {
			yield(runs.Info{}, err)
			return
		}
		for i := range all {
			if q.Limit > 0 && i >= q.Limit || !yield(s.sized(ctx, &all[i]), ended(ctx, "list", all[i].Row.Run.ID)) {
				return
			}
		}
	}
}

func (s *FileStore) listed(ctx context.Context, q runs.Query) (found []fileRow, err error) {
	l, err := storekit.NewListing(q)
	if err != nil {
		return nil, err
	}
	rows, bad, err := s.readRows(ctx)
	if err != nil {
		return nil, storekit.Failed("list", "", err)
	}
	for _, row := range bad {
		rows = append(rows, &fileRow{Row: storekit.Row{Run: row.Unreadable()}})
	}
	for _, f := range rows {
		if l.Matches(&f.Row.Run) {
			found = append(found, *f)
		}
	}
	slices.SortFunc(found, func(a, b fileRow) int { return storekit.InOrder(a.Row.Run, b.Row.Run) })
	return found, nil
}

// Count counts runs by status.
func (s *FileStore) Count(ctx context.Context, q runs.Query) (map[runs.Status]int64, error) {
	q.After, q.Limit = "", 0
	found, err := s.listed(ctx, q)
	counts := map[runs.Status]int64{}
	for i := range found {
		counts[found[i].Row.Run.Status]++
	}
	return counts, err
}

// Remove removes everything of a run.
func (s *FileStore) Remove(ctx context.Context, id string, force bool) error {
	err := s.withRow(ctx, "remove", id, func(f *fileRow) (*fileRow, error) {
		if f != nil && f.Row.Held(fileNow()) && !force {
			return nil, f.Row.Busy()
		}
		return nil, s.removeRun(id)
	})
	if !errors.Is(err, runs.ErrUnreadable) {
		return err
	}
	unlock, err := s.lockRow(ctx, id) // what is to be removed need not be read
	if err != nil {
		return storekit.Failed("remove", id, err)
	}
	defer unlock()
	return s.removeRun(id)
}

// removeRun removes the files of a run whose row is locked. It happens when the row is renamed, which a disk has room for
// that is full.
func (s *FileStore) removeRun(id string) error {
	err := s.disk.rename(s.path(id, rowFile), s.path(id, removedFile))
	if err == nil {
		err = s.disk.syncDir(s.dir)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) { // what was written without a lease has no row
		err = s.removeFiles(id)
	}
	return storekit.Failed("remove", id, err)
}

// removeFiles removes the files of an ID other than its row, and then the mark that says so.
func (s *FileStore) removeFiles(id string) error {
	for _, ending := range []string{leaseFile, journalFile, checkpointFile, removedFile} {
		if err := s.disk.unlink(s.path(id, ending)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.disk.syncDir(s.dir)
}

// finishRemoval removes what a crash has left of a run that was removed. The row is locked.
func (s *FileStore) finishRemoval(id string) error {
	_, err := os.Stat(s.path(id, removedFile))
	switch {
	case err == nil:
		return s.removeFiles(id)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// Sweep removes runs that have expired.
func (s *FileStore) Sweep(ctx context.Context, limit int) (swept runs.Swept, err error) {
	rows, err := s.rows(ctx)
	if err != nil {
		return swept, storekit.Failed("sweep", "", err)
	}
	for _, f := range rows {
		if !f.Row.Expired(fileNow()) {
			continue
		}
		if swept.Runs == limit {
			swept.More = true
			return swept, nil
		}
		err := s.withRow(ctx, "sweep", f.Row.Run.ID, func(f *fileRow) (*fileRow, error) {
			if f == nil || !f.Row.Expired(fileNow()) {
				return nil, nil
			}
			swept.Runs++
			return nil, s.removeRun(f.Row.Run.ID)
		})
		if err != nil {
			return swept, err
		}
	}
	return swept, nil
}

// sweepNow sweeps now and then, when a run is settled.
func (s *FileStore) sweepNow(ctx context.Context) {
	last := s.swept.Load()
	now := time.Now().UnixNano()
	if time.Duration(now-last) > sweptEvery && s.swept.CompareAndSwap(last, now) {
		_, _ = s.Sweep(ctx, 100) // a service: what it cannot do, it leaves
	}
}
