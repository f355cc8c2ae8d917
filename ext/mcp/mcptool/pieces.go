package mcptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// pieceSize is the number of bytes that a piece has.
const pieceSize = 64 << 10

// pieces is a buffer with a limit. It grows without copying, so that what is over the limit costs no more than that.
type pieces struct {
	all        [][]byte
	size, most int
}

// add adds bytes, and reports whether there is room for them.
func (p *pieces) add(b []byte) bool {
	if p.size+len(b) > p.most {
		return false
	}
	p.size += len(b)
	for len(b) > 0 {
		last := len(p.all) - 1
		if last < 0 || len(p.all[last]) == cap(p.all[last]) {
			room := pieceSize
			if last < 0 {
				room = min(max(len(b), 4<<10), pieceSize)
			}
			p.all = append(p.all, make([]byte, 0, room))
			last++
		}
		n := min(len(b), cap(p.all[last])-len(p.all[last]))
		p.all[last] = append(p.all[last], b[:n]...)
		b = b[n:]
	}
	return true
}

// join returns all bytes, and empties the buffer.
func (p *pieces) join() []byte {
	joined := bytes.Join(p.all, nil)
	p.reset()
	return joined
}

func (p *pieces) reset() { p.all, p.size = nil, 0 }

// readFrom adds what a reader has, up to the limit.
func (p *pieces) readFrom(r io.Reader) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Read(buffer)
		if !p.add(buffer[:n]) {
			return &overLimit{p.most}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// overLimit is the error of a message of the server that is too large.
type overLimit struct{ most int }

func (o *overLimit) Error() string {
	return fmt.Sprintf("the answer has more than %d bytes, and was not read: see Config.MaxMessage", o.most)
}

// codeOverLimit is the code of the answer that takes the place of one that is over the limit.
const codeOverLimit = -32098

// replacement is an answer to a request instead of one that was not read.
func replacement(id json.RawMessage, most int) []byte {
	message, _ := json.Marshal((&overLimit{most}).Error()) // a text has one
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, codeOverLimit, message)
}

// asOverLimit returns the error for an answer that replacement has made.
func asOverLimit(err error) (*overLimit, bool) {
	var large *overLimit
	if errors.As(err, &large) {
		return large, true
	}
	var wire *jsonrpc.Error
	if errors.As(err, &wire) && wire.Code == codeOverLimit {
		return nil, true
	}
	return nil, false
}

// Where the ID of a message is that was not read: before what is large, or behind it.
var (
	idAhead  = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*[,}]`)
	idBehind = regexp.MustCompile(`[}\]"]\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// idOf is the ID of a message of which only the ends were kept, nil if it cannot be seen.
func idOf(head, tail []byte) json.RawMessage {
	if found := idAhead.FindSubmatch(head); found != nil {
		return bytes.Clone(found[1])
	}
	if found := idBehind.FindSubmatch(tail); found != nil {
		return bytes.Clone(found[1])
	}
	return nil
}

// deepest limits how deep a message may be nested.
const deepest = 500

// shallow returns a JSON text in which a text takes the place of what is nested deeper than that: readers give up the
// whole of a message for it.
func shallow(text []byte) []byte {
	depth, inText, escaped := 0, false, false
	var out []byte
	copied := 0 // what is before is in out, if it has to be
	for i, b := range text {
		switch {
		case inText:
			inText, escaped = escaped || b != '"', !escaped && b == '\\'
		case b == '"':
			inText = true
		case b == '{' || b == '[':
			if depth++; depth == deepest+1 {
				out = append(append(out, text[copied:i]...), `"[nested too deep]"`...)
			}
		case b == '}' || b == ']':
			if depth--; depth == deepest {
				copied = i + 1
			}
		}
	}
	if out == nil || depth > deepest {
		return text
	}
	return append(out, text[copied:]...)
}
