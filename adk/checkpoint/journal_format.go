package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/weftgo/weft/runs"
)

// A journal file is a preamble and then records, all numbers little-endian:
//
//	preamble  "weftjrnl" version(4) salt(8) sum(4)
//	record    length(4) sum(4)  payload  sum(4) length(4)
//
// The first sum of a record is over its length, the second over its payload; both also cover the salt of the file and
// the place of the record in it, so that nothing in a payload can be taken for a record, not even a copy of the
// journal. That the length stands at both ends lets an appender check the last record alone.
//
// A file is torn when it ends in bytes that are no record: an append was cut off by a crash. As an append first cuts
// off a torn end, a record behind such bytes means that they were a record once: the file is damaged.
const (
	journalMagic   = "weftjrnl"
	journalVersion = 1
	preambleSize   = 24
	recordHead     = 8
	recordTail     = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// journalSalt makes the sums of one file different from the sums of all others.
type journalSalt [8]byte

func preamble(salt journalSalt) []byte {
	b := make([]byte, 0, preambleSize)
	b = append(b, journalMagic...)
	b = binary.LittleEndian.AppendUint32(b, journalVersion)
	b = append(b, salt[:]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readPreamble takes the first bytes of a file.
func readPreamble(b []byte) (salt journalSalt, err error) {
	if len(b) < preambleSize || string(b[:8]) != journalMagic ||
		binary.LittleEndian.Uint32(b[20:]) != crc32.Checksum(b[:20], castagnoli) {
		return salt, fmt.Errorf("%w: it does not start like one", runs.ErrDamaged)
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != journalVersion {
		return salt, fmt.Errorf("%w: the journal has version %d, and only version %d is known: use a newer Weft",
			runs.ErrNewerFormat, v, journalVersion)
	}
	return journalSalt(b[12:20]), nil
}

// headSum returns the sum of the head of a record at an offset, bodySum the sum of its payload.
func (salt journalSalt) headSum(offset int64, length uint32) uint32 {
	var b [20]byte
	copy(b[:], salt[:])
	binary.LittleEndian.PutUint64(b[8:], uint64(offset))
	binary.LittleEndian.PutUint32(b[16:], length)
	return crc32.Checksum(b[:], castagnoli)
}

func (salt journalSalt) bodySum(offset int64, payload []byte) uint32 {
	return crc32.Update(salt.headSum(offset, uint32(len(payload))), castagnoli, payload)
}

// appendRecord adds the record that is to lie at an offset.
func (salt journalSalt) appendRecord(b []byte, offset int64, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, salt.headSum(offset, uint32(len(payload))))
	b = append(b, payload...)
	b = binary.LittleEndian.AppendUint32(b, salt.bodySum(offset, payload))
	return binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
}

// frameSize returns the number of bytes that a payload takes in the file.
func frameSize(length uint32) int64 { return recordHead + int64(length) + recordTail }

// record reads the record that lies at an offset of the file; rest is the file from there on.
func (salt journalSalt) record(rest []byte, offset int64) (payload []byte, ok bool) {
	if len(rest) < recordHead+recordTail {
		return nil, false
	}
	length := binary.LittleEndian.Uint32(rest)
	if binary.LittleEndian.Uint32(rest[4:]) != salt.headSum(offset, length) || frameSize(length) > int64(len(rest)) {
		return nil, false
	}
	end := recordHead + int(length)
	payload = rest[recordHead:end:end]
	tail := rest[end:]
	ok = binary.LittleEndian.Uint32(tail) == salt.bodySum(offset, payload) &&
		binary.LittleEndian.Uint32(tail[4:]) == length
	return payload, ok
}

// decodeJournal reads a whole file: its records, which lie in it, and where the last one ends. Of a damaged file it
// returns the records before the damage with the error.
func decodeJournal(file []byte) (records [][]byte, end int64, err error) {
	salt, err := readPreamble(file)
	if err != nil {
		if len(file) <= preambleSize && errors.Is(err, runs.ErrDamaged) {
			err = nil // torn when it was made: records come only after the preamble is on disk
		}
		return nil, 0, err
	}
	return salt.decode(file[min(preambleSize, len(file)):], preambleSize)
}

// decode reads the records that lie from an offset of the file on; rest is the file from there on. See decodeJournal.
func (salt journalSalt) decode(rest []byte, offset int64) (records [][]byte, end int64, err error) {
	end = offset
	size := offset + int64(len(rest))
	for end < size {
		payload, ok := salt.record(rest[end-offset:], end)
		if !ok {
			break
		}
		records = append(records, payload)
		end += frameSize(uint32(len(payload)))
	}
	for later := end + 1; later < size; later++ {
		if _, ok := salt.record(rest[later-offset:], later); ok {
			return records, end, fmt.Errorf("%w: record %d, at byte %d, is not what was written, and the record at byte %d is",
				runs.ErrDamaged, len(records), end, later)
		}
	}
	return records, end, nil
}
