package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/weftgo/weft/internal/serialization"
	"github.com/weftgo/weft/runs"
)

// Format is the format of the journals which are written: it ends each record, and is in the records of kind begin and
// life. Journals of format oldest are read as well: they have nothing attached. Earlier ones were not released, and are
// refused.
const (
	Format = 4
	oldest = 3
)

// A record is what the serializer writes, the CRC-32C of that and of the mark, and the mark: the letters "wr", and the
// format. The sum makes a record that a disk or a database has damaged an error in every store, instead of another record.
// One with bytes behind it has them, and how long the record is, before the sum, and the letters "wa".
const (
	sumSize  = 4
	sizeSize = 4
	markSize = 3
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errNoRecord is the error of bytes that end as no record does.
var errNoRecord = errors.New("it is damaged, or was written by an older Weft, whose journals cannot be read: " +
	"finish such runs with that, or remove them")

var errWrongSum = errors.New("its sum is wrong")

func encode(r *Record) ([]byte, error) {
	data, err := new(serialization.InternalSerializer).Marshal(r)
	if err != nil {
		return nil, err
	}
	mark := [markSize]byte{'w', 'r', Format}
	if r.Attached != "" {
		mark[1] = 'a'
		size := uint32(len(data))
		data = binary.LittleEndian.AppendUint32(append(data, r.attached...), size)
	}
	return append(binary.LittleEndian.AppendUint32(data, sumOf(data, mark[:])), mark[:]...), nil
}

func sumOf(data, mark []byte) uint32 {
	return crc32.Update(crc32.Checksum(data, castagnoli), castagnoli, mark)
}

// decode reads a record that is whole.
func decode(data []byte) (*Record, error) {
	n := len(data) - sumSize - markSize
	if n < 0 || data[n+sumSize] != 'w' {
		return nil, errNoRecord
	}
	mark := data[n+sumSize:]
	end := n
	switch mark[1] {
	case 'r':
	case 'a':
		if end -= sizeSize; end < 0 {
			return nil, errNoRecord
		}
		end = int(min(binary.LittleEndian.Uint32(data[end:]), uint32(end)))
	default:
		return nil, errNoRecord
	}
	if binary.LittleEndian.Uint32(data[n:]) != sumOf(data[:n], mark) {
		return nil, errWrongSum
	}
	r, err := unmarshal(data[:end])
	if int(mark[2]) > Format { // of a newer Weft perhaps some of it can be read: whose it is
		var v any
		_ = new(serialization.InternalSerializer).Unmarshal(data[:end], &v)
		r, _ = v.(*Record)
	}
	if other := checkFormat(int(mark[2])); other != nil {
		return r, other
	}
	if err == nil && mark[1] == 'a' {
		r.attached = data[end : n-sizeSize]
	}
	return r, err
}

// unmarshal reads a record. One with a field that this format does not have is refused: what it says would be lost.
func unmarshal(data []byte) (*Record, error) {
	var v any
	if err := new(serialization.InternalSerializer).UnmarshalStrict(data, &v); err != nil {
		return nil, err
	}
	r, ok := v.(*Record)
	if !ok {
		return nil, fmt.Errorf("it is %T", v)
	}
	return r, nil
}

// checkFormat refuses records of another Weft.
func checkFormat(format int) error {
	switch {
	case format > Format:
		return fmt.Errorf("%w: the journal has format %d, and at most format %d is known: use a newer Weft",
			runs.ErrNewerFormat, format, Format)
	case format < oldest:
		return fmt.Errorf("%w (it has format %d)", errNoRecord, format)
	}
	return nil
}

// check refuses a record that a journal of this format does not have.
func (r *Record) check() error {
	switch {
	case r.Kind == KindBegin || r.Kind == KindLife:
		if err := checkFormat(r.Format); err != nil {
			return err
		}
	case r.Format > Format:
		return checkFormat(r.Format)
	}
	if r.Life == "" || r.N < 1 {
		return errors.New("it has no life")
	}
	return nil
}
