package checkpoint

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/internal/envelope"
	"github.com/weftgo/weft/internal/osfile"
	"github.com/weftgo/weft/runs"
)

// Endings of the files of runs.
const (
	rowFile   = ".run"
	leaseFile = ".lease"
	// removedFile is the ending that the file of a removed run is renamed to: it stays until everything else is gone.
	removedFile = ".removed"
	// lockFiles are the names of the files that are locked while a row is used, a fixed number for the store: they are never
	// removed, so that no process locks one that is not there any more.
	lockFiles = "lock-%02x"
	// keyFiles are the names of the files that are locked while a run with a key is submitted, before its row is.
	keyFiles  = "key-%02x"
	tokenFile = "tokens"
)

var rowKind = envelope.Kind{Magic: [8]byte{'w', 'e', 'f', 't', '-', 'r', 'o', 'w'}, Version: 1}

// fileRow is the content of the file of a run.
type fileRow struct {
	Row storekit.Row
	// Todo holds the changes that follow from the last change of the row and may not be done yet. A crash in between leaves
	// them: the next process that uses the row does them first. All of them can be done again.
	Todo *rowTodo
}

// rowTodo changes what lies in other files.
type rowTodo struct {
	// Checkpoint replaces the checkpoint if HasCheckpoint is set, DropCheckpoint removes it.
	Checkpoint                    []byte
	HasCheckpoint, DropCheckpoint bool
	// DropRecords removes the journal, and Records are what it begins with then.
	DropRecords bool
	Records     [][]byte
	// Children are runs to make, and ParentAnswer is for the run Parent.
	Children     []runs.Child
	Parent       string
	ParentAnswer *runs.Reply
}

// lockRow keeps all others from the rows that share a lock file with the row of an ID. (F15)
func (s *FileStore) lockRow(ctx context.Context, id string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, fmt.Sprintf(lockFiles, crc32.ChecksumIEEE([]byte(id))%64))
	return s.lockFile(ctx, path)
}

// lockKey keeps all others from submitting runs whose key shares a lock file with this one.
func (s *FileStore) lockKey(ctx context.Context, key string) (unlock func(), err error) {
	return s.lockFile(ctx, filepath.Join(s.dir, fmt.Sprintf(keyFiles, crc32.ChecksumIEEE([]byte(key))%16)))
}

// lockFile locks a file against goroutines and processes.
func (s *FileStore) lockFile(ctx context.Context, path string) (unlock func(), err error) {
	leave, err := s.busy.lock(ctx, path)
	if err != nil {
		return nil, err
	}
	f, err := s.disk.create(path, os.O_RDWR|os.O_CREATE)
	if err == nil {
		if err = osfile.AwaitLock(ctx, f); err != nil {
			f.Close()
		}
	}
	if err != nil {
		leave()
		return nil, err
	}
	return func() {
		f.Close() // unlocks
		leave()
	}, nil
}

// readRow reads the row of an ID, nil if there is none. It says who holds the lease, and until when.
func (s *FileStore) readRow(id string) (*fileRow, error) {
	f, err := readRowFile(s.path(id, rowFile))
	if err == nil && f != nil && f.Row.Run.ID != id {
		err = fmt.Errorf("%w: its file is that of run %q", runs.ErrUnreadable, f.Row.Run.ID)
	}
	if errors.Is(err, runs.ErrUnreadable) {
		return nil, storekit.NewRowError(id, err)
	}
	if f == nil || err != nil {
		return nil, err
	}
	return f, s.seeLease(f)
}

func readRowFile(path string) (*fileRow, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, _, payload, err := rowKind.Open(data)
	if err != nil {
		return nil, fmt.Errorf("%w: its file: %w", runs.ErrUnreadable, err)
	}
	f := new(fileRow)
	if err := gob.NewDecoder(bytes.NewReader(payload)).Decode(f); err != nil {
		return nil, fmt.Errorf("%w: its file: %w", runs.ErrUnreadable, err)
	}
	return f, nil
}

// writeRow replaces the row. It is the moment at which a change happens.
func (s *FileStore) writeRow(ctx context.Context, f *fileRow) error {
	var payload bytes.Buffer
	if err := gob.NewEncoder(&payload).Encode(f); err != nil {
		return err
	}
	if err := s.nameHashed(ctx, f.Row.Run.ID); err != nil {
		return err
	}
	return s.disk.replace(ctx, s.path(f.Row.Run.ID, rowFile), rowKind.Seal("gob", payload.Bytes()))
}

// seeLease sets until when the lease counts. Its owner keeps the file of the lease locked while it lives: a lock that
// is free means that the process is dead, and the lease has ended. Otherwise it counts for the TTL from the last sign
// of life, which is when the file was last touched.
func (s *FileStore) seeLease(f *fileRow) error {
	r := &f.Row
	if r.Run.Owner == "" {
		return nil
	}
	file, err := os.OpenFile(s.path(r.Run.ID, leaseFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		r.Run.LeaseUntil = time.Time{}
		return nil
	}
	if err != nil { // which says nothing of the owner: too many files may be open
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	free, err := osfile.TryLock(file, osfile.Shared)
	r.Run.LeaseUntil = info.ModTime().Add(r.TTL)
	if free {
		r.Run.LeaseUntil = time.Time{}
	}
	return err
}

// withRow calls do with the row of an ID, nil if there is none, while no one else uses the row. It writes the row that do
// returns, if it is not nil, and does the changes that follow from it. Before that it does the changes that a process left
// when it died.
func (s *FileStore) withRow(ctx context.Context, doing, id string, do func(f *fileRow) (changed *fileRow, err error)) error {
	for {
		left, err := s.lockedRow(ctx, doing, id, true, do)
		if err != nil || left == nil {
			return err
		}
		if err := s.doOthers(ctx, id, left.todo); err != nil || left.done {
			return err
		}
	}
}

// rowsLeft holds the changes to other rows that are left. done: do has been called.
type rowsLeft struct {
	todo *rowTodo
	done bool
}

// lockedRow is withRow without the changes to other rows, which it returns. With finish it does not call do if a process
// that died has left some.
func (s *FileStore) lockedRow(
	ctx context.Context, doing, id string, finish bool, do func(f *fileRow) (changed *fileRow, err error),
) (left *rowsLeft, err error) {
	unlock, err := s.lockRow(ctx, id)
	if err != nil {
		return nil, storekit.Failed(doing, id, err)
	}
	defer unlock()
	f, err := s.readRow(id)
	switch {
	case err == nil && f != nil:
		err = s.doOwn(ctx, f)
	case err == nil:
		err = s.finishRemoval(id)
	}
	if err != nil {
		return nil, storekit.FailedOnce(doing, id, err)
	}
	if finish && f != nil && f.Todo != nil {
		return &rowsLeft{todo: f.Todo}, nil
	}
	changed, err := do(f)
	if err != nil || changed == nil {
		return nil, err
	}
	if err = s.writeRow(ctx, changed); err == nil {
		err = s.doOwn(ctx, changed)
	}
	if err == nil && changed.Todo != nil && finish {
		left = &rowsLeft{changed.Todo, true}
	}
	return left, storekit.Failed(doing, id, err)
}

// doOwn makes the changes to the checkpoint and the journal of the row. Changes to other rows are left.
func (s *FileStore) doOwn(ctx context.Context, f *fileRow) error {
	id, todo := f.Row.Run.ID, f.Todo
	if todo == nil || !todo.isOwn() {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // it has happened
	var err error
	switch {
	case todo.HasCheckpoint:
		err = s.Set(ctx, id, todo.Checkpoint)
	case todo.DropCheckpoint:
		err = s.Delete(ctx, id)
	}
	if err == nil && todo.DropRecords {
		err = s.RemoveRecords(ctx, id)
	}
	for _, record := range todo.Records {
		if err == nil {
			err = s.AppendRecord(ctx, id, record)
		}
	}
	if err != nil {
		return err
	}
	f.Todo = nil
	if len(todo.Children) > 0 || todo.ParentAnswer != nil {
		f.Todo = &rowTodo{Children: todo.Children, Parent: todo.Parent, ParentAnswer: todo.ParentAnswer}
	}
	return s.writeRow(ctx, f)
}

// isOwn reports whether there is something to do to the files of the row itself.
func (t *rowTodo) isOwn() bool { return t.HasCheckpoint || t.DropCheckpoint || t.DropRecords }

// doOthers applies the queued changes to the rows of other runs, and then removes them from the queue. Changes that are
// queued in those rows are left for later.
func (s *FileStore) doOthers(ctx context.Context, id string, todo *rowTodo) error {
	ctx = context.WithoutCancel(ctx)
	for _, child := range todo.Children {
		_, err := s.lockedRow(ctx, "submit", child.ID, false, func(f *fileRow) (*fileRow, error) {
			switch {
			case f == nil:
				return s.make(ctx, child.ID, child.Run)
			case f.Row.AskedAgain(child.Run):
				return f, nil
			}
			return nil, nil
		})
		if err != nil {
			return err
		}
	}
	if answer := todo.ParentAnswer; answer != nil {
		_, err := s.lockedRow(ctx, "answer", todo.Parent, false, func(f *fileRow) (*fileRow, error) {
			if f == nil || f.Row.Reply([]runs.Reply{*answer}, fileNow()) != nil {
				return nil, nil // it does not wait any more
			}
			return f, nil
		})
		if err != nil {
			return err
		}
	}
	_, err := s.lockedRow(ctx, "settle", id, false, func(f *fileRow) (*fileRow, error) {
		if f != nil {
			f.Todo = nil
		}
		return f, nil
	})
	return err
}

// nextToken counts the tokens of the store. The count is on disk before the token is used.
func (s *FileStore) nextToken(ctx context.Context) (token uint64, err error) {
	path := filepath.Join(s.dir, tokenFile)
	unlock, err := s.lockFile(ctx, path)
	if err != nil {
		return 0, err
	}
	defer unlock()
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	text := make([]byte, 20)
	n, err := f.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if n > 0 {
		if _, err := fmt.Sscanf(strings.TrimSpace(string(text[:n])), "%d", &token); err != nil {
			return 0, fmt.Errorf("the file %s does not hold a number: %w", path, err)
		}
	}
	token++
	return token, s.disk.writeSynced(f, fmt.Appendf(nil, "%-20d", token), 0)
}
