package runlog

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/weftgo/weft/internal/json"
)

// ErrDamaged is the error of events in a store that are not what was written. Errors of stores match it, and name the run.
var ErrDamaged = errors.New("an event is damaged, or was written by an older Weft: delete the events of the run")

// A stored event is its JSON with one member more in front, the CRC-32C of all that stands behind that.
const (
	beforeSum = `{"sum":"`
	noSum     = "00000000"
	behindSum = len(beforeSum) + len(noSum)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendStored appends the event as stores keep it: as one line of JSON, with a sum that [DecodeStored] checks.
func (e *Event) AppendStored(b []byte) ([]byte, error) {
	begin := len(b)
	b = append(append(append(b, beforeSum...), noSum...), '"')
	at := len(b)
	b, err := e.AppendJSON(b)
	if err != nil {
		return nil, err
	}
	b[at] = ',' // instead of the brace that begins the object
	hex.Encode(b[begin+len(beforeSum):], sumOf(b[begin:]))
	return b, nil
}

func sumOf(stored []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(stored[behindSum:], castagnoli))
}

// DecodeStored reads what [Event.AppendStored] wrote, among the events of a run, or of any run for "". The error of anything
// else matches [ErrDamaged].
func DecodeStored(data []byte, run string) (e Event, err error) {
	if !isWhole(data) {
		return e, ErrDamaged
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if run != "" && e.Run != string([]rune(run)) { // JSON has no place for bytes that are not UTF-8
		return Event{}, fmt.Errorf("%w: it is of the run %q", ErrDamaged, e.Run)
	}
	return e, nil
}

// isWhole reports whether a stored event, without the end of its line, has the right sum.
func isWhole(data []byte) bool {
	var sum [len(noSum)]byte
	if len(data) < behindSum || string(data[:len(beforeSum)]) != beforeSum {
		return false
	}
	hex.Encode(sum[:], sumOf(data))
	return string(sum[:]) == string(data[len(beforeSum):behindSum])
}
