package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/osfile"
	"github.com/weftgo/weft/runs"
)

var testSalt = journalSalt{1, 2, 3, 4, 5, 6, 7, 8}

// encode returns a whole journal file, and the offsets at which the preamble and each of its records end.
func encode(records ...string) (file []byte, ends []int64) {
	file = preamble(testSalt)
	ends = []int64{int64(len(file))}
	for _, r := range records {
		file = testSalt.appendRecord(file, int64(len(file)), []byte(r))
		ends = append(ends, int64(len(file)))
	}
	return file, ends
}

func asStrings(records [][]byte) (all []string) {
	for _, r := range records {
		all = append(all, string(r))
	}
	return all
}

var sample = []string{"one", "", "three\x00\xff", strings.Repeat("four", 50)}

func write(t *testing.T, s *FileStore, id string, file []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(s.path(id, journalFile), file, 0o600))
}

// TestJournal_TornAnywhere: a crash may cut the file at any byte. The records before the cut are there, and the next
// append is written after them.
func TestJournal_TornAnywhere(t *testing.T) {
	file, ends := encode(sample...)
	s := newFileStore(t)
	for cut := range len(file) + 1 {
		// What follows the cut may be missing, or was never written: zeros.
		for _, end := range [][]byte{nil, make([]byte, len(file)-cut)} {
			torn := append(file[:cut:cut], end...)
			if cut < preambleSize && len(torn) > preambleSize {
				continue // the preamble is on disk before any record
			}
			if bytes.Equal(torn, file) {
				continue
			}
			intact := 0
			for int(ends[intact+1]) <= len(torn) && bytes.HasPrefix(torn, file[:ends[intact+1]]) {
				intact++
			}
			write(t, s, "id", torn)
			records, err := s.ReadRecords(t.Context(), "id")
			require.NoError(t, err, "cut at %d, %d bytes after it", cut, len(end))
			require.Equal(t, asStrings(records), append([]string(nil), sample[:intact]...), "cut at %d", cut)

			require.NoError(t, s.AppendRecord(t.Context(), "id", []byte("new")))
			records, err = s.ReadRecords(t.Context(), "id")
			require.NoError(t, err)
			require.Equal(t, append(sample[:intact:intact], "new"), asStrings(records), "cut at %d", cut)
			info, err := os.Stat(s.path("id", journalFile))
			require.NoError(t, err)
			require.Equal(t, ends[intact]+frameSize(3), info.Size(), "the torn end is cut off")
		}
	}
}

// TestJournal_DamagedAnywhere: no flipped bit gives a wrong record. One in the last record cannot be distinguished from
// a torn append; any other is an error, with the records before it.
func TestJournal_DamagedAnywhere(t *testing.T) {
	file, ends := encode(sample...)
	last := ends[len(ends)-2]
	for i := range file {
		for bit := range 8 {
			damaged := bytes.Clone(file)
			damaged[i] ^= 1 << bit
			records, _, err := decodeJournal(damaged)
			if int64(i) >= last {
				require.NoError(t, err)
				require.Equal(t, sample[:len(sample)-1], asStrings(records))
				continue
			}
			require.ErrorIs(t, err, runs.ErrDamaged, "bit %d of byte %d", bit, i)
			intact := 0
			for ends[intact+1] <= int64(i) {
				intact++
			}
			require.Len(t, records, intact, "bit %d of byte %d", bit, i)
		}
	}
}

func TestFileStore_DamagedJournal(t *testing.T) {
	s := newFileStore(t)
	file, ends := encode(sample...)
	file[ends[1]-recordTail-1] ^= 1
	write(t, s, "id", file)
	records, err := s.ReadRecords(t.Context(), "id")
	require.ErrorIs(t, err, runs.ErrDamaged)
	require.ErrorContains(t, err, `read the journal of checkpoint "id": `)
	require.Empty(t, records)

	write(t, s, "id", file[:len(file)-1]) // and torn: cutting off what seems torn would cut off records
	err = s.AppendRecord(t.Context(), "id", []byte("x"))
	require.ErrorIs(t, err, runs.ErrDamaged)
	after, err := os.ReadFile(s.path("id", journalFile))
	require.NoError(t, err)
	require.Equal(t, file[:len(file)-1], after, "nothing was changed")

	require.NoError(t, s.RemoveRecords(t.Context(), "id"))
	require.NoError(t, s.AppendRecord(t.Context(), "id", []byte("x")))
}

func TestJournal_FileOfSomethingElse(t *testing.T) {
	s := newFileStore(t)
	write(t, s, "id", []byte("#!/bin/sh\necho this is no journal\n"))
	_, err := s.ReadRecords(t.Context(), "id")
	require.ErrorIs(t, err, runs.ErrDamaged)
	require.ErrorIs(t, s.AppendRecord(t.Context(), "id", nil), runs.ErrDamaged)
}

func TestJournal_NewerVersion(t *testing.T) {
	file, _ := encode("x")
	binary.LittleEndian.PutUint32(file[8:], journalVersion+1)
	newer := preambleSum(file)
	_, _, err := decodeJournal(newer)
	require.ErrorContains(t, err, "version 2")
	require.NotErrorIs(t, err, runs.ErrDamaged)
	_, _, err = decodeJournal(newer[:preambleSize])
	require.ErrorContains(t, err, "version 2", "nor is one without records taken for a torn one")
}

// preambleSum makes a changed preamble valid.
func preambleSum(file []byte) []byte {
	p := preamble(journalSalt(file[12:20]))
	copy(p[8:12], file[8:12])
	binary.LittleEndian.PutUint32(p[20:], crc32.Checksum(p[:20], castagnoli))
	return append(p, file[preambleSize:]...)
}

// TestJournal_RecordThatLooksLikeAJournal: bytes of a journal inside a record are not found to be records, wherever
// the record is torn or damaged.
func TestJournal_RecordThatLooksLikeAJournal(t *testing.T) {
	inner, _ := encode(sample...)
	outer, ends := encode("first", string(inner))
	for cut := ends[1]; cut < ends[2]; cut++ {
		records, end, err := decodeJournal(outer[:cut])
		require.NoError(t, err, "cut at %d", cut)
		require.Equal(t, []string{"first"}, asStrings(records))
		require.Equal(t, ends[1], end)
	}
}

// TestFileStore_AppendCostsTheRecord: appending to a long journal reads no more than its last record.
func TestFileStore_AppendCostsTheRecord(t *testing.T) {
	s := newFileStore(t)
	require.NoError(t, s.AppendRecord(t.Context(), "id", make([]byte, 8<<20)))
	require.NoError(t, s.AppendRecord(t.Context(), "id", []byte("small")))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, s.AppendRecord(t.Context(), "id", []byte("small")))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20),
		"the large record before the last one was read again")
}

func TestFileStore_JournalLockEndsWithTheContext(t *testing.T) {
	s := newFileStore(t)
	require.NoError(t, s.AppendRecord(t.Context(), "id", []byte("x")))
	f, err := os.OpenFile(s.path("id", journalFile), os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	locked, err := osfile.TryLock(f, osfile.Exclusive)
	require.NoError(t, err)
	require.True(t, locked)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err = s.AppendRecord(ctx, "id", []byte("y")) // waits for the file
	require.ErrorIs(t, err, context.DeadlineExceeded)

	waiting := make(chan error, 1)
	go func() { waiting <- s.AppendRecord(t.Context(), "id", []byte("z")) }()
	unlock, err := s.busy.lock(t.Context(), "another")
	require.NoError(t, err, "other journals are free")
	unlock()
	require.NoError(t, f.Close())
	require.NoError(t, <-waiting)
	records, err := s.ReadRecords(t.Context(), "id")
	require.NoError(t, err)
	require.Equal(t, []string{"x", "z"}, asStrings(records))
	require.Empty(t, s.busy.users, "nothing is kept for journals that nobody uses")
}

func FuzzDecodeJournal(f *testing.F) {
	whole, ends := encode(sample...)
	f.Add(whole, uint32(0), byte(0))
	f.Add(whole[:ends[2]+5], uint32(30), byte(1))
	f.Add([]byte(nil), uint32(0), byte(0))
	f.Add(preamble(testSalt), uint32(3), byte(0x80))
	f.Add([]byte(journalMagic), uint32(3), byte(0x80))
	f.Fuzz(func(t *testing.T, file []byte, at uint32, flip byte) {
		// Any bytes: what is read is what would be written.
		records, end, err := decodeJournal(file)
		if end > int64(len(file)) || end < 0 {
			t.Fatalf("the records end at byte %d of %d", end, len(file))
		}
		if err == nil && end > 0 {
			again := preamble(journalSalt(file[12:20]))
			for _, r := range records {
				again = journalSalt(file[12:20]).appendRecord(again, int64(len(again)), r)
			}
			if !bytes.Equal(again, file[:end]) {
				t.Fatal("written again, the records are other bytes")
			}
			if _, _, err := decodeJournal(file[:end]); err != nil {
				t.Fatalf("cut off where its records end, the file cannot be read: %v", err)
			}
		}
		// The bytes as payload, and one of them changed: never a wrong record.
		good, _ := encode("first", string(file), "last")
		at %= uint32(len(good))
		good[at] ^= flip
		records, _, err = decodeJournal(good)
		for i, r := range records {
			if want := []string{"first", string(file), "last"}[i]; string(r) != want {
				t.Fatalf("record %d is %q; want %q", i, r, want)
			}
		}
		if flip == 0 && (err != nil || len(records) != 3) {
			t.Fatalf("%d records, %v", len(records), err)
		}
	})
}

func BenchmarkFileStore_AppendRecord(b *testing.B) {
	for _, history := range []int{1, 10000} {
		b.Run(fmt.Sprint("after ", history), func(b *testing.B) {
			s := newFileStore(b)
			lots := make([]string, history)
			for i := range lots {
				lots[i] = strings.Repeat("x", 1000)
			}
			file, _ := encode(lots...)
			require.NoError(b, os.WriteFile(s.path("id", journalFile), file, 0o600))
			record := []byte(strings.Repeat("y", 1000))
			for b.Loop() {
				if err := s.AppendRecord(b.Context(), "id", record); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
