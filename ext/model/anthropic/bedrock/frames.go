package bedrock

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A frame of an AWS event stream: the lengths of the whole and of the headers, a checksum of both, headers, a payload,
// and a checksum of everything. Numbers are big-endian, checksums CRC-32 as in gzip.
const (
	preludeLength  = 12
	checksumLength = 4
	// maxFrame is more than AWS allows: 16 MiB of payload and 128 KiB of headers.
	maxFrame = 24 << 20
)

// A frame is what of one is of use.
type frame struct {
	// headers that are strings.
	headers map[string]string
	payload []byte
}

var errFrame = errors.New("the frame of the event stream is damaged")

// readFrame reads the next frame. It is io.EOF between frames only.
func readFrame(r io.Reader) (*frame, error) {
	var prelude [preludeLength]byte
	if _, err := io.ReadFull(r, prelude[:]); err != nil {
		return nil, err
	}
	total, headers := binary.BigEndian.Uint32(prelude[:]), binary.BigEndian.Uint32(prelude[4:])
	switch {
	case binary.BigEndian.Uint32(prelude[8:]) != crc32.ChecksumIEEE(prelude[:8]):
		return nil, fmt.Errorf("%w: the checksum of its prelude is wrong", errFrame)
	case total > maxFrame:
		return nil, fmt.Errorf("%w: it has %d bytes", errFrame, total)
	case total < preludeLength+checksumLength || headers > total-preludeLength-checksumLength:
		return nil, fmt.Errorf("%w: its lengths do not fit each other", errFrame)
	}
	var rest bytes.Buffer // grows with what comes, not with what is announced
	if _, err := io.CopyN(&rest, r, int64(total-preludeLength)); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	body := rest.Bytes()
	content, sum := body[:len(body)-checksumLength], body[len(body)-checksumLength:]
	if crc32.Update(crc32.ChecksumIEEE(prelude[:]), crc32.IEEETable, content) != binary.BigEndian.Uint32(sum) {
		return nil, fmt.Errorf("%w: its checksum is wrong", errFrame)
	}
	f := &frame{headers: map[string]string{}, payload: content[headers:]}
	return f, f.readHeaders(content[:headers])
}

// headerLengths are the lengths of values by the type of the header; -1 for those that say it themselves.
var headerLengths = [...]int{0, 0, 1, 2, 4, 8, -1, -1, 8, 16}

const stringHeader = 7

func (f *frame) readHeaders(data []byte) error {
	for len(data) > 0 {
		name, rest, ok := cut(data[1:], int(data[0]))
		if !ok || len(rest) == 0 || int(rest[0]) >= len(headerLengths) {
			return fmt.Errorf("%w: a header is cut or of an unknown type", errFrame)
		}
		kind, length := rest[0], headerLengths[rest[0]]
		rest = rest[1:]
		if length < 0 {
			if len(rest) < 2 {
				return fmt.Errorf("%w: a header is cut", errFrame)
			}
			length, rest = int(binary.BigEndian.Uint16(rest)), rest[2:]
		}
		value, rest, ok := cut(rest, length)
		if !ok {
			return fmt.Errorf("%w: a header is cut", errFrame)
		}
		if kind == stringHeader {
			f.headers[string(name)] = string(value)
		}
		data = rest
	}
	return nil
}

func cut(data []byte, n int) (head, rest []byte, ok bool) {
	if n > len(data) {
		return nil, nil, false
	}
	return data[:n], data[n:], true
}

// document returns the event in a frame, nil if it has none.
func (f *frame) document() ([]byte, error) {
	switch f.headers[":message-type"] {
	case "event":
		var chunk struct {
			Bytes []byte `json:"bytes"`
		}
		if err := json.Unmarshal(f.payload, &chunk); err != nil {
			return nil, fmt.Errorf("%w: %w", errFrame, err)
		}
		return chunk.Bytes, nil
	case "exception":
		var e struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(f.payload, &e) // an exception without a message is one, too
		return failure(f.headers[":exception-type"], e.Message), nil
	case "error":
		return failure(f.headers[":error-code"], f.headers[":error-message"]), nil
	}
	return nil, nil
}

// failure is an error as Anthropic sends it.
func failure(kind, message string) []byte {
	type text struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	data, _ := json.Marshal(struct { // of texts: cannot fail
		Type  string `json:"type"`
		Error text   `json:"error"`
	}{"error", text{kind, message}})
	return data
}

// events is the stream of server-sent events in a stream of frames.
type events struct {
	from io.Reader
	left []byte // of the event that was read last
	err  error
}

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for len(e.left) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.next()
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}

func (e *events) next() {
	f, err := readFrame(e.from)
	var document []byte
	if err == nil {
		document, err = f.document()
	}
	switch {
	case err != nil:
		e.err = err
	case len(document) > 0:
		e.left = append(append([]byte("data: "), oneLine(document)...), "\n\n"...)
	}
}
