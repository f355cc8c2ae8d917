// Package delta says how one value is made of others, in few bytes if most of it stands in them: what is written of a
// checkpoint that has grown by a little.
package delta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// A patch is a sequence of parts. Each begins with a number: twice its length, and one more if the bytes themselves follow.
// Otherwise where they stand in the source follows, counted from the end of the part that was taken from there before.

// block is the number of bytes that have to be the same for a part to be found. Parts that are shorter are written as they
// are.
const block = 32

// ErrNoPatch says that a patch is damaged, or is not one for the source.
var ErrNoPatch = errors.New("the patch does not fit what it changes")

// Source is the value that patches take parts from. It does not change.
type Source struct {
	data []byte
	// at has where the blocks of the data begin, plus one, by the upper bits of their hashes. Of those that share an entry
	// the first one has it.
	at    []int32
	shift int
}

// NewSource makes a source of values, one behind the other, which must not change.
func NewSource(values ...[]byte) *Source {
	data := values[0]
	if len(values) > 1 {
		data = slices.Concat(values...)
	}
	width := bits.Len(uint(len(data)/block)) + 1
	s := &Source{data: data, at: make([]int32, 1<<width), shift: 32 - width}
	for i := 0; i+block <= len(data); i += block {
		if at := s.entry(hashOf(data[i : i+block])); *at == 0 {
			*at = int32(i) + 1
		}
	}
	return s
}

// entry is the place where a block with that hash stands in at.
func (s *Source) entry(hash uint32) *int32 { return &s.at[hash*0x9E3779B1>>s.shift] }

// The hash of a block is the one by Rabin and Karp.
const base = 0x01000193

// highest is base to the power of block-1: what the first byte of a block counts.
var highest = func() uint32 {
	h := uint32(1)
	for range block - 1 {
		h *= base
	}
	return h
}()

func hashOf(b []byte) (h uint32) {
	for _, c := range b {
		h = h*base + uint32(c)
	}
	return h
}

// Patch says how a value is made of the source.
func (s *Source) Patch(value []byte) []byte {
	p := patch{}
	literal := 0 // where the bytes begin that are not in the patch yet
	var h uint32
	for i, known := 0, false; i+block <= len(value); {
		if !known {
			h, known = hashOf(value[i:i+block]), true
		}
		from, to, size := s.find(value, literal, i, h)
		if size == 0 {
			if i+block < len(value) {
				h = (h-uint32(value[i])*highest)*base + uint32(value[i+block])
			}
			i++
			continue
		}
		p.literal(value[literal:to])
		p.copy(from, size)
		literal, i, known = to+size, to+size, false
	}
	p.literal(value[literal:])
	return p.data
}

// find looks for the block at i, and for how far the same bytes reach around it, not before least.
func (s *Source) find(value []byte, least, i int, h uint32) (from, to, size int) {
	from, to = int(*s.entry(h))-1, i
	if from < 0 || !bytes.Equal(s.data[from:from+block], value[i:i+block]) {
		return 0, 0, 0
	}
	for from > 0 && to > least && s.data[from-1] == value[to-1] {
		from, to = from-1, to-1
	}
	size = i - to + block
	for from+size < len(s.data) && to+size < len(value) && s.data[from+size] == value[to+size] {
		size++
	}
	return from, to, size
}

// patch is one that is written.
type patch struct {
	data []byte
	end  int // of the last part that was taken from the source
}

func (p *patch) literal(b []byte) {
	if len(b) > 0 {
		p.data = binary.AppendUvarint(p.data, uint64(len(b))<<1|1)
		p.data = append(p.data, b...)
	}
}

func (p *patch) copy(from, size int) {
	p.data = binary.AppendUvarint(p.data, uint64(size)<<1)
	p.data = binary.AppendVarint(p.data, int64(from-p.end))
	p.end = from + size
}

// mostParts is the number of parts that a value has before it is put together.
const mostParts = 128

// Value is a value in parts: one that many patches make is not copied for each.
type Value struct {
	parts [][]byte
	ends  []int // where each of the parts ends
}

// Of makes a value. It keeps the bytes, which must not change.
func Of(parts ...[]byte) (v Value) {
	for _, p := range parts {
		v.add(p)
	}
	return v
}

// Len is the number of bytes that the value has.
func (v *Value) Len() int {
	if len(v.ends) == 0 {
		return 0
	}
	return v.ends[len(v.ends)-1]
}

// Bytes puts the value together.
func (v *Value) Bytes() []byte { return slices.Concat(v.parts...) }

func (v *Value) add(part []byte) {
	if len(part) > 0 {
		v.parts, v.ends = append(v.parts, part), append(v.ends, v.Len()+len(part))
	}
}

// Join makes a value of others, one behind the other.
func Join(values ...Value) (v Value) {
	n := 0
	for _, more := range values {
		n += len(more.parts)
	}
	v.parts, v.ends = make([][]byte, 0, n), make([]int, 0, n)
	for _, more := range values {
		for _, p := range more.parts {
			v.add(p)
		}
	}
	return v
}

// Apply makes the value that a patch says of this one.
func (v *Value) Apply(patch []byte) (made Value, err error) {
	made.parts, made.ends = make([][]byte, 0, mostParts), make([]int, 0, mostParts)
	for end := 0; len(patch) > 0; {
		n, read := binary.Uvarint(patch)
		if read <= 0 || n == 0 || n>>1 > 1<<40 {
			return made, ErrNoPatch
		}
		patch = patch[read:]
		size := int(n >> 1)
		if n&1 == 1 {
			if size > len(patch) {
				return made, ErrNoPatch
			}
			made.add(patch[:size])
			patch = patch[size:]
			continue
		}
		offset, read := binary.Varint(patch)
		if read <= 0 {
			return made, ErrNoPatch
		}
		patch = patch[read:]
		if offset < int64(-end) || offset > int64(v.Len()-end-size) {
			return made, ErrNoPatch
		}
		v.copy(&made, end+int(offset), size)
		end += int(offset) + size
	}
	if len(made.parts) > mostParts {
		made = Of(made.Bytes())
	}
	return made, nil
}

// copy adds so many bytes of the value to another one.
func (v *Value) copy(to *Value, from, size int) {
	i, _ := slices.BinarySearch(v.ends, from+1)
	for ; size > 0; i++ {
		part := v.parts[i]
		if start := v.ends[i] - len(part); from > start {
			part = part[from-start:]
		}
		part = part[:min(size, len(part))]
		to.add(part)
		from, size = from+len(part), size-len(part)
	}
}
