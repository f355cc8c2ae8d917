package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/internal/osfile"
)

// AppendRecord adds a record to the journal of the ID. It costs what the record and the one before it are long. Where
// a crash cut off an append before, it reads the journal once and cuts off what is left of it; it refuses to continue
// with a journal in which that shows damage. It waits while another goroutine or process uses the journal.
func (s *FileStore) AppendRecord(ctx context.Context, checkPointID string, record []byte) error {
	const doing = "append to the journal of"
	if err := storekit.CheckSize(doing, checkPointID, record); err != nil {
		return err
	}
	err := s.nameHashed(ctx, checkPointID)
	if err == nil {
		err = s.withJournal(ctx, checkPointID, os.O_RDWR|os.O_CREATE, func(f *os.File) error { return s.disk.append(f, record) })
	}
	return storekit.Failed(doing, checkPointID, err)
}

// ReadRecords returns the records of the ID. If the journal is damaged, those before the damage come with the error.
func (s *FileStore) ReadRecords(ctx context.Context, checkPointID string) (records [][]byte, err error) {
	// Open for writing, as some network file systems lock only such files.
	err = s.withJournal(ctx, checkPointID, os.O_RDWR, func(f *os.File) error {
		file, err := io.ReadAll(f)
		if err == nil {
			records, _, err = decodeJournal(file)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return records, storekit.Failed("read the journal of", checkPointID, err)
}

// ReadRecordsFrom returns the records behind the first so many. It passes over those, and does not notice damage to them:
// see ReadRecords for its other errors.
func (s *FileStore) ReadRecordsFrom(ctx context.Context, checkPointID string, from int) (records [][]byte, err error) {
	whole := false
	err = s.withJournal(ctx, checkPointID, os.O_RDWR, func(f *os.File) error {
		salt, at, err := behind(f, from)
		if whole = err != nil || at < 0; whole {
			return err
		}
		if _, err = f.Seek(at, io.SeekStart); err != nil {
			return err
		}
		rest, err := io.ReadAll(f)
		if err == nil {
			records, _, err = salt.decode(rest, at)
		}
		return err
	})
	if whole && err == nil { // it is shorter, or damaged
		records, err = s.ReadRecords(ctx, checkPointID)
		return records[min(from, len(records)):], err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return records, storekit.Failed("read the journal of", checkPointID, err)
}

// behind is the place where the records of a journal lie behind the first so many, -1 if there are not as many.
func behind(f *os.File, from int) (salt journalSalt, at int64, err error) {
	var first [preambleSize]byte
	if n, err := f.ReadAt(first[:], 0); n < len(first) {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return salt, -1, err
	}
	if salt, err = readPreamble(first[:]); err != nil {
		return salt, -1, err
	}
	at = preambleSize
	for range from {
		var head [recordHead]byte
		if n, err := f.ReadAt(head[:], at); n < len(head) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return salt, -1, err
		}
		length := binary.LittleEndian.Uint32(head[:])
		if binary.LittleEndian.Uint32(head[4:]) != salt.headSum(at, length) {
			return salt, -1, nil
		}
		at += frameSize(length)
	}
	return salt, at, nil
}

// RemoveRecords removes the journal of the ID. A record that is being appended at the same time goes with it.
func (s *FileStore) RemoveRecords(ctx context.Context, checkPointID string) error {
	return storekit.Failed("remove the journal of", checkPointID, s.disk.remove(ctx, s.path(checkPointID, journalFile)))
}

// withJournal opens a journal and locks it against goroutines and processes while do runs.
func (s *FileStore) withJournal(ctx context.Context, checkPointID string, flag int, do func(*os.File) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path := s.path(checkPointID, journalFile)
	unlock, err := s.busy.lock(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := s.disk.create(path, flag)
	if err != nil {
		return err
	}
	defer f.Close() // unlocks
	if err := osfile.AwaitLock(ctx, f); err != nil {
		return err
	}
	return do(f)
}

// append adds a record to a journal that no one else uses.
func (d *disk) append(f *os.File, payload []byte) error {
	salt, end, err := d.journalEnd(f)
	if err != nil {
		return err
	}
	if end == 0 {
		if salt, err = d.begin(f); err != nil {
			return err
		}
		end = preambleSize
	}
	if end == preambleSize {
		// The process that made the file may have crashed before its name was on disk.
		if err := d.syncDir(filepath.Dir(f.Name())); err != nil {
			return err
		}
	}
	frame := salt.appendRecord(make([]byte, 0, frameSize(uint32(len(payload)))), end, payload)
	if err := d.writeSynced(f, frame, end); err != nil {
		_ = d.truncate(f, end) // a service to readers: the next append would do it too
		return err
	}
	return nil
}

// begin writes the preamble. It is on disk before any record is, so that a file with records has an intact one.
func (d *disk) begin(f *os.File) (salt journalSalt, err error) {
	_, _ = rand.Read(salt[:]) // never fails
	return salt, d.writeSynced(f, preamble(salt), 0)
}

// journalEnd returns the salt of a journal and where its last intact record ends: 0 if not even the preamble is
// there. It cuts off what follows.
func (d *disk) journalEnd(f *os.File) (salt journalSalt, end int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return salt, 0, err
	}
	size := info.Size()
	if size > preambleSize {
		var first [preambleSize]byte
		if _, err := f.ReadAt(first[:], 0); err != nil {
			return salt, 0, err
		}
		if salt, err = readPreamble(first[:]); err != nil {
			return salt, 0, err
		}
		intact, err := endsInRecord(f, salt, size)
		if intact || err != nil {
			return salt, size, err
		}
	}
	file, err := io.ReadAll(f)
	if err != nil {
		return salt, 0, err
	}
	if _, end, err = decodeJournal(file); err != nil {
		return salt, 0, fmt.Errorf("%w (remove the records to begin again)", err)
	}
	if end > 0 {
		salt = journalSalt(file[12:20])
	}
	if end < size {
		if err := d.truncate(f, end); err != nil {
			return salt, 0, err
		}
	}
	return salt, end, nil
}

// endsInRecord reports whether the last bytes of a journal are an intact record.
func endsInRecord(f *os.File, salt journalSalt, size int64) (bool, error) {
	var ends [recordHead]byte
	if size < preambleSize+recordHead+recordTail {
		return false, nil
	}
	if _, err := f.ReadAt(ends[4:], size-4); err != nil {
		return false, err
	}
	length := binary.LittleEndian.Uint32(ends[4:])
	start := size - frameSize(length)
	if start < preambleSize {
		return false, nil
	}
	if _, err := f.ReadAt(ends[:], start); err != nil {
		return false, err
	}
	if binary.LittleEndian.Uint32(ends[:]) != length ||
		binary.LittleEndian.Uint32(ends[4:]) != salt.headSum(start, length) {
		return false, nil
	}
	frame := make([]byte, frameSize(length))
	if _, err := f.ReadAt(frame, start); err != nil {
		return false, err
	}
	_, intact := salt.record(frame, start)
	return intact, nil
}
