package nats

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
)

// Bounds of values.
const (
	// longestMessage is the length of a message above which its content is kept beside it. Messages of a server are at
	// most 1 MiB by default. (B33)
	longestMessage = 512 << 10
	// longestSaved is the same for a checkpoint inside the head, which is written again with every change.
	longestSaved = 4 << 10
	// roomForHeaders is the length that headers have at most, and leastPayload how long messages of a server must be
	// possible.
	roomForHeaders = 4 << 10
	leastPayload   = 64 << 10
)

// errDamaged says that a value is not what was written.
var errDamaged = errors.New("a value of the run is damaged or missing")

// value says where bytes are: in Inline, or in the messages of a subject of their own, cut into pieces. Such a subject
// is written once, before whatever refers to it, and never changed.
type value struct {
	Inline []byte `json:"inline,omitempty"`
	Name   string `json:"name,omitempty"` // of the pieces, below the ID; "" without any
	Size   int    `json:"size,omitempty"`
	Sum    digest `json:"sum,omitzero"`
}

// digest is the SHA-256 of a value.
type digest [sha256.Size]byte

func (d digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

func (d *digest) UnmarshalText(text []byte) error {
	if len(text) != 2*sha256.Size {
		return errors.New("no SHA-256")
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// What a value belongs to, the beginning of its name.
const (
	ofHead  = "head."
	ofSaved = "saved."
	ofStep  = "step."
)

// keep makes a value of bytes, and writes them to the server if there are more than most.
func (s *Store) keep(ctx context.Context, hash, of string, data []byte, most int) (value, error) {
	v := value{Size: len(data), Sum: sha256.Sum256(data)}
	if len(data) <= most {
		v.Inline = storekit.Owned(data)
		return v, nil
	}
	v.Name = of + rand.Text()
	subject := s.pieces(hash, v.Name)
	last := uint64(0)
	for begin := 0; begin < len(data); begin += s.piece {
		m := nats.NewMsg(subject)
		m.Header.Set(fenceHeader, strconv.FormatUint(last, 10))
		m.Data = data[begin:min(begin+s.piece, len(data))]
		var err error
		if last, err = s.wire.publish(ctx, m); err != nil {
			s.forget(hash, v)
			if errors.Is(err, errChanged) { // an earlier attempt to publish the piece arrived after all
				err = nats.ErrTimeout
			}
			return v, err
		}
	}
	return v, nil
}

// load returns the bytes of a value.
func (s *Store) load(ctx context.Context, hash string, v value) ([]byte, error) {
	if v.Name == "" {
		if len(v.Inline) != v.Size || sha256.Sum256(v.Inline) != v.Sum {
			return nil, fmt.Errorf("%w: its sum is wrong", errDamaged)
		}
		return storekit.Owned(v.Inline), nil
	}
	data := make([]byte, 0, v.Size)
	for from, more := uint64(1), true; more; {
		var pieces []message
		var err error
		if pieces, more, err = s.wire.nextOfAll(ctx, s.pieces(hash, v.Name), from, mostMessages); err != nil {
			return nil, err
		}
		for _, p := range pieces {
			data, from = append(data, p.data...), p.seq+1
		}
	}
	if len(data) != v.Size || sha256.Sum256(data) != v.Sum {
		return nil, fmt.Errorf("%w: %d of %d bytes", errDamaged, len(data), v.Size)
	}
	return data, nil
}

// forget has the server remove what no head and no record refers to any more. It does not wait: what is not removed now
// is removed with the run.
func (s *Store) forget(hash string, values ...value) {
	for _, v := range values {
		if v.Name != "" {
			s.wire.purgeSometime(s.pieces(hash, v.Name), 0)
		}
	}
}

// header is a value as a header of the message whose content it is.
func (v value) header() string {
	return strings.TrimSpace(fmt.Sprintf("%d %x %s", v.Size, v.Sum, v.Name)) // servers trim headers
}

// content is the value that a message has.
func content(m message) (v value, err error) {
	parts := strings.Split(m.header.Get(valueHeader), " ")
	switch {
	case len(parts) == 3:
		v.Name = parts[2]
	case len(parts) != 2:
		return v, fmt.Errorf("message %d has the header %s: %q", m.seq, valueHeader, m.header.Get(valueHeader))
	}
	v.Inline = m.data
	if v.Size, err = strconv.Atoi(parts[0]); err == nil {
		_, err = hex.Decode(v.Sum[:], []byte(parts[1]))
	}
	return v, err
}
