package nats

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"sync"
)

// A head is encoded by gob: first the types, by numbers of the process that wrote it, then the value. Types are nearly
// all of the work, and nearly always the same. So coders are kept that know them.

// headEncoders are encoders that have written the types of a head, which are headTypes.
var (
	headEncoders = sync.Pool{New: func() any { return newHeadEncoder() }}
	headTypes    = sync.OnceValue(func() []byte {
		e := newHeadEncoder()
		return e.types
	})
)

type headEncoder struct {
	*gob.Encoder
	buffer bytes.Buffer
	types  []byte
}

func newHeadEncoder() *headEncoder {
	e := new(headEncoder)
	e.Encoder = gob.NewEncoder(&e.buffer)
	if err := e.Encode(&head{}); err == nil {
		e.types, _, _ = cutTypes(bytes.Clone(e.buffer.Bytes()))
	}
	return e
}

func encodeHead(h *head) ([]byte, error) {
	e := headEncoders.Get().(*headEncoder)
	e.buffer.Reset()
	if err := e.Encode(h); err != nil {
		return nil, err
	}
	data := append(bytes.Clone(headTypes()), e.buffer.Bytes()...)
	headEncoders.Put(e)
	return data, nil
}

// mostTypes is how many ways to number the types are remembered.
const mostTypes = 64

// decoders have decoders that have read types, by those.
var decoders = struct {
	mu    sync.Mutex // guards known
	known map[string]*sync.Pool
}{known: map[string]*sync.Pool{}}

type headDecoder struct {
	*gob.Decoder
	reader bytes.Reader
}

func decodeHead(data []byte, h *head) error {
	types, value, err := cutTypes(data)
	if err != nil {
		return err
	}
	pool := decodersOf(types)
	d, _ := pool.Get().(*headDecoder)
	if d == nil {
		d = new(headDecoder)
		d.reader.Reset(data)
		d.Decoder = gob.NewDecoder(&d.reader)
	} else {
		d.reader.Reset(value)
	}
	if err := d.Decode(h); err != nil {
		return err
	}
	pool.Put(d)
	return nil
}

func decodersOf(types []byte) *sync.Pool {
	decoders.mu.Lock()
	defer decoders.mu.Unlock()
	pool := decoders.known[string(types)]
	if pool == nil {
		if len(decoders.known) == mostTypes {
			clear(decoders.known)
		}
		pool = new(sync.Pool)
		decoders.known[string(types)] = pool
	}
	return pool
}

var errNoHead = errors.New("it is none that gob has encoded")

// cutTypes divides what gob has encoded into the messages with types and the last one, which has the value. Each has
// its length in front.
func cutTypes(data []byte) (types, value []byte, err error) {
	for begin := 0; begin < len(data); {
		length, size, err := readLength(data[begin:])
		if err != nil {
			return nil, nil, err
		}
		end := begin + size + length
		if end == len(data) {
			return data[:begin], data[begin:], nil
		}
		begin = end
	}
	return nil, nil, errNoHead
}

// readLength reads an unsigned number of gob: below 128 a byte; otherwise the number of its bytes, negated, and those.
func readLength(data []byte) (length, size int, err error) {
	first := data[0]
	if first < 128 {
		return int(first), 1, nil
	}
	n := -int(int8(first))
	if n > 4 || len(data) <= n {
		return 0, 0, fmt.Errorf("%w: a length of %d bytes", errNoHead, n)
	}
	for _, b := range data[1 : 1+n] {
		length = length<<8 | int(b)
	}
	return length, 1 + n, nil
}
