package runlog

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/internal/osfile"
	"github.com/weftgo/weft/runs"
)

// FileStore keeps events in a directory, one file of JSON lines for each run. Several processes of one machine may share it,
// also when one that has lost a run writes with the one that has it. A record up to an [Interrupt] or [RunEnd] event is on
// disk when Append returns; of other records a crash of the machine loses the end. A last line that a crash has cut off is
// ignored, and removed by the next append. Other processes see an event within 100 ms.
type FileStore struct {
	dir string
	// busy keeps the appends to a file apart; runs share them by their hash.
	busy [64]sync.Mutex
	keys storekit.Waiters
}

var _ Store = (*FileStore)(nil)

// pollFiles is the interval at which a reader checks whether another process has written.
const pollFiles = 100 * time.Millisecond

// NewFileStore opens the store in dir, and makes the directory if there is none.
func NewFileStore(dir string) (*FileStore, error) {
	if dir == "" {
		return nil, errors.New("run log in files: the directory is empty: name one")
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(abs, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("run log in %q: %w", dir, err)
	}
	return &FileStore{dir: abs}, nil
}

const logFile = ".jsonl"

// path is the file of a run: what is harmless in the ID, and a hash of it.
func (s *FileStore) path(run string) (path string, busy *sync.Mutex) {
	sum := sha256.Sum256([]byte(run))
	harmless := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, run)
	name := harmless[:min(len(harmless), 40)] + "." + hex.EncodeToString(sum[:16]) + logFile
	return filepath.Join(s.dir, name), &s.busy[sum[31]%64]
}

// failed is an error about the file of a run.
func failed(doing, run string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("run log: %s run %q: %w", doing, run, err)
}

// Append adds events.
func (s *FileStore) Append(ctx context.Context, run string, events []Event) error {
	if err := ctx.Err(); err != nil || len(events) == 0 {
		return err
	}
	path, busy := s.path(run)
	busy.Lock()
	defer busy.Unlock()
	f, err := openLocked(ctx, path)
	if err == nil {
		err = errors.Join(appendFile(f, events), f.Close())
	}
	if err == nil {
		s.keys.Wake(run)
	}
	return failed("write", run, err)
}

// openLocked opens a file, and makes it if there is none, when no other process writes to it or removes it. Closing it lets
// the others.
func openLocked(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		isThere := false
		if err = osfile.AwaitLock(ctx, f); err == nil {
			isThere, err = isAt(f, path)
		}
		if isThere {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
}

// isAt reports whether a file has not been removed since it was opened.
func isAt(f *os.File, path string) (bool, error) {
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(opened, there), err
}

func appendFile(f *os.File, events []Event) error {
	size, err := wholeLines(f)
	if err != nil {
		return err
	}
	last, err := lastLine(f, size)
	if err != nil {
		return err
	}
	if events[0].Token < last.Token {
		return ErrOvertaken
	}
	var lines bytes.Buffer
	durable := false
	for i := range events {
		e := &events[i]
		if e.Cursor().Compare(last.Cursor()) <= 0 {
			continue
		}
		line, err := e.AppendStored(lines.AvailableBuffer())
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
		durable = durable || e.Type == Waiting || e.Type == RunEnd
	}
	if lines.Len() == 0 {
		return nil
	}
	if err := f.Truncate(size); err != nil { // what a crash has cut off
		return err
	}
	if _, err := f.WriteAt(lines.Bytes(), size); err != nil {
		return err
	}
	if durable {
		return f.Sync()
	}
	return nil
}

// wholeLines is the length of a file without a last line that has no end.
func wholeLines(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	buf := make([]byte, 4<<10)
	for size > 0 {
		n := min(int64(len(buf)), size)
		if _, err := f.ReadAt(buf[:n], size-n); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return size - n + int64(i) + 1, nil
		}
		size -= n
	}
	return 0, nil
}

// lastLine is the last event of a file of whole lines, an empty one if there is none.
func lastLine(f *os.File, size int64) (e Event, err error) {
	for n := int64(4 << 10); size > 0; n *= 4 {
		n = min(n, size)
		buf := make([]byte, n)
		if _, err := f.ReadAt(buf, size-n); err != nil {
			return e, err
		}
		if i := bytes.LastIndexByte(buf[:n-1], '\n'); i >= 0 || n == size {
			return DecodeStored(bytes.TrimSuffix(buf[i+1:], []byte{'\n'}), "")
		}
	}
	return e, nil
}

// position is the part of an event that says where it is.
type position struct {
	Token string `json:"token"`
	Seq   uint64 `json:"seq"`
}

func cursorIn(line []byte) runs.Cursor {
	var p position
	if json.Unmarshal(line, &p) != nil {
		return runs.Cursor{}
	}
	if p.Token == "" {
		p.Token = "0"
	}
	c, _ := runs.ParseCursor(fmt.Sprintf("%s.%d", p.Token, p.Seq))
	return c
}

// startOf is a place in a file at or before the first event behind a cursor, not far from it.
func startOf(f *os.File, size int64, after runs.Cursor) (int64, error) {
	low, high := int64(0), size // low is the beginning of a line at or before the place
	for high-low > 64<<10 {
		middle := (low + high) / 2
		r := bufio.NewReader(io.NewSectionReader(f, middle, high-middle))
		rest, err := r.ReadBytes('\n')
		if err == io.EOF {
			high = middle
			continue
		}
		line, lineErr := r.ReadBytes('\n')
		if lineErr == io.EOF {
			high = middle
			continue
		}
		if err = errors.Join(err, lineErr); err != nil {
			return 0, err
		}
		if isWhole(bytes.TrimSuffix(line, []byte{'\n'})) && cursorIn(line).Compare(after) <= 0 {
			low = middle + int64(len(rest)) + int64(len(line))
		} else {
			high = middle
		}
	}
	return low, nil
}

// Read yields events.
func (s *FileStore) Read(ctx context.Context, run string, after runs.Cursor) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := s.read(ctx, run, after, yield); err != nil {
			yield(Event{}, failed("read", run, err))
		}
	}
}

func (s *FileStore) read(ctx context.Context, run string, after runs.Cursor, yield func(Event, error) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path, _ := s.path(run)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	start, err := startOf(f, info.Size(), after)
	if err != nil {
		return err
	}
	lines := bufio.NewReader(io.NewSectionReader(f, start, info.Size()-start))
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if !isWhole(line) {
			return ErrDamaged
		}
		if cursorIn(line).Compare(after) <= 0 {
			continue
		}
		e, err := DecodeStored(line, run)
		if err != nil {
			return err
		}
		after = e.Cursor()
		if !yield(e, nil) {
			return nil
		}
	}
}

// Wait blocks until there is an event behind the cursor.
func (s *FileStore) Wait(ctx context.Context, run string, after runs.Cursor) error {
	for {
		changed, leave := s.keys.Watch(run)
		info, _, err := s.Inspect(ctx, run)
		if err != nil || info.Last.Compare(after) > 0 {
			leave()
			return err
		}
		err = storekit.Await(ctx, changed, pollFiles)
		leave()
		if err != nil {
			return err
		}
	}
}

// Inspect returns what there is of a run.
func (s *FileStore) Inspect(ctx context.Context, run string) (Info, bool, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, false, err
	}
	path, _ := s.path(run)
	info, exists, err := inspectFile(path)
	info.Run = run
	return info, exists, failed("read", run, err)
}

func inspectFile(path string) (info Info, exists bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return info, false, nil
	}
	if err != nil {
		return info, false, err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return info, false, err
	}
	size, err := wholeLines(f)
	if err != nil || size == 0 {
		return info, false, err
	}
	line, err := bufio.NewReader(f).ReadBytes('\n')
	if err != nil {
		return info, false, err
	}
	first, err := DecodeStored(bytes.TrimSuffix(line, []byte{'\n'}), "")
	if err != nil {
		return info, false, err
	}
	last, err := lastLine(f, size)
	return Info{Run: first.Run, First: first.Cursor(), Last: last.Cursor(), End: endOf(&last), Updated: stat.ModTime()},
		err == nil, err
}

// List yields runs.
func (s *FileStore) List(ctx context.Context, q Query) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		entries, err := os.ReadDir(s.dir)
		if err != nil {
			yield(Info{}, fmt.Errorf("run log: list the runs: %w", err))
			return
		}
		var infos []Info
		for _, entry := range entries {
			if !strings.HasSuffix(entry.Name(), logFile) {
				continue
			}
			info, exists, err := inspectFile(filepath.Join(s.dir, entry.Name()))
			if err != nil {
				yield(Info{}, fmt.Errorf("run log: list the runs: %s: %w", entry.Name(), err))
				return
			}
			if exists {
				infos = append(infos, info)
			}
		}
		q.Of(ctx, infos)(yield)
	}
}

// Delete removes the events of a run.
func (s *FileStore) Delete(ctx context.Context, run string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path, busy := s.path(run)
	busy.Lock()
	defer busy.Unlock()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := openLocked(ctx, path)
	if err == nil {
		err = errors.Join(os.Remove(path), f.Close())
	}
	return failed("delete", run, err)
}
