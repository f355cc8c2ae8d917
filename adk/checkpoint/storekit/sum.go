package storekit

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// SumSize is by how many bytes a value grows with a sum.
const SumSize = 4

// ErrWrongSum is the error of a value that is not what was written: a disk or a database has damaged it.
var ErrWrongSum = errors.New("it is damaged: its sum is wrong")

// AddSum returns a copy of a value with its sum behind it, the CRC-32C of the value and of where it is kept, so that a value
// of another place has a wrong one. A store calls it with what it writes.
func AddSum(value []byte, place, kind int64) []byte {
	with := make([]byte, 0, len(value)+SumSize)
	with = append(with, value...)
	return binary.LittleEndian.AppendUint32(with, placedSum(value, place, kind))
}

// CheckSum returns the value without the sum that [AddSum] put behind it, or [ErrWrongSum]. It shares the memory of data.
func CheckSum(data []byte, place, kind int64) ([]byte, error) {
	n := len(data) - SumSize
	if n < 0 || binary.LittleEndian.Uint32(data[n:]) != placedSum(data[:n], place, kind) {
		return nil, ErrWrongSum
	}
	return data[:n:n], nil
}

func placedSum(value []byte, place, kind int64) uint32 {
	var where [16]byte
	binary.LittleEndian.PutUint64(where[:], uint64(place))
	binary.LittleEndian.PutUint64(where[8:], uint64(kind))
	return crc32.Update(crc32.Checksum(where[:], castagnoli), castagnoli, value)
}
