// Package envelope puts a mark around bytes that are stored for a later version of the program: what they are, in which
// version and encoding, and whether they are still whole.
//
// Package adk stores interrupted runs in it. It must never look into the payload, nor panic on bytes from elsewhere.
//
// # Format
//
// Magic (8 bytes), format version (uint16), length of the codec's name (uint8), the name, length of the payload
// (uint64), the payload, and the CRC-32C (Castagnoli) of everything before. Numbers are big-endian.
package envelope

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Why bytes cannot be opened.
var (
	ErrForeign   = errors.New("the data is not of this kind")
	ErrNewer     = errors.New("the data was written by a newer version")
	ErrTruncated = errors.New("the data is cut off")
	ErrCorrupt   = errors.New("the data is damaged: its checksum is wrong")
)

const (
	magicSize    = 8
	fixedSize    = magicSize + 2 + 1
	lengthSize   = 8
	checksumSize = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Kind is one kind of data.
type Kind struct {
	// Magic begins the data.
	Magic [magicSize]byte
	// Version is the version that Seal writes; Open reads it and all before.
	Version uint16
}

// Seal returns the payload in an envelope. The name of the codec has at most 255 bytes.
func (k Kind) Seal(codec string, payload []byte) []byte {
	data := make([]byte, 0, fixedSize+len(codec)+lengthSize+len(payload)+checksumSize)
	data = append(data, k.Magic[:]...)
	data = binary.BigEndian.AppendUint16(data, k.Version)
	data = append(data, byte(len(codec)))
	data = append(data, codec...)
	data = binary.BigEndian.AppendUint64(data, uint64(len(payload)))
	data = append(data, payload...)
	return binary.BigEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
}

// Open returns what Seal was given, and the version. The payload shares the memory of data.
func (k Kind) Open(data []byte) (version uint16, codec string, payload []byte, err error) {
	n := min(len(data), magicSize)
	if n == 0 || string(data[:n]) != string(k.Magic[:n]) {
		return 0, "", nil, ErrForeign
	}
	if len(data) < fixedSize {
		return 0, "", nil, ErrTruncated
	}
	version = binary.BigEndian.Uint16(data[magicSize:])
	if version > k.Version {
		return version, "", nil, fmt.Errorf("%w: its format has version %d, this program knows up to %d", ErrNewer, version,
			k.Version)
	}
	rest := data[fixedSize:]
	nameSize := int(data[fixedSize-1])
	if len(rest) < nameSize+lengthSize {
		return version, "", nil, ErrTruncated
	}
	codec, rest = string(rest[:nameSize]), rest[nameSize:]
	size := binary.BigEndian.Uint64(rest)
	rest = rest[lengthSize:]
	switch {
	case size > uint64(len(rest)) || uint64(len(rest))-size < checksumSize:
		return version, codec, nil, ErrTruncated
	case uint64(len(rest))-size > checksumSize:
		return version, codec, nil, ErrCorrupt
	}
	body := data[:len(data)-checksumSize]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(data[len(body):]) {
		return version, codec, nil, ErrCorrupt
	}
	return version, codec, rest[:size], nil
}
