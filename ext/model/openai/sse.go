package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// errDone is the end that the server announced.
var errDone = errors.New("done")

// byteOrderMark is at the start of what some servers send, and says nothing.
var byteOrderMark = []byte("\uFEFF")

// A source yields the JSON documents of a response, and then errDone if the server has said that this is all, or io.EOF
// if it has not. A document is valid until the next call.
type source interface {
	next() ([]byte, error)
}

// A document is the source of a response that is not streamed.
type document struct {
	r     io.Reader
	limit int
	read  bool
}

func (d *document) next() ([]byte, error) {
	if d.read {
		return nil, errDone
	}
	d.read = true
	data, err := io.ReadAll(io.LimitReader(d.r, int64(d.limit)+1))
	if len(data) > d.limit {
		return nil, errTooLarge
	}
	if err == nil && len(bytes.TrimSpace(data)) == 0 {
		err = io.ErrUnexpectedEOF
	}
	return bytes.TrimPrefix(data, byteOrderMark), err
}

// events is the source of an event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). It is
// lenient: data counts as complete as soon as it is a JSON object, for servers that save the blank line behind it, and
// an object or an "error:" that stands alone in a line counts as data, as that is how some servers report errors.
type events struct {
	r     *bufio.Reader
	limit int // of an event
	left  int // how many bytes of the stream may come yet
	line  []byte
	data  []byte
}

func newEvents(r io.Reader, limit int) *events {
	return &events{r: bufio.NewReader(r), limit: limit, left: maxStream}
}

var done = []byte("[DONE]")

func (e *events) next() ([]byte, error) {
	e.data = e.data[:0]
	for {
		line, err := e.readLine()
		if err != nil && err != io.EOF {
			return nil, err
		}
		first := len(e.data) == 0
		e.take(bytes.TrimPrefix(line, byteOrderMark))
		ends := err == io.EOF || len(line) == 0
		switch {
		case bytes.HasPrefix(e.data, done):
			return nil, errDone
		case (first || ends) && isObject(e.data):
			return e.data, nil
		case err == io.EOF && len(e.data) > 0:
			return nil, io.ErrUnexpectedEOF
		case err == io.EOF:
			return nil, io.EOF
		case ends && len(e.data) > 0:
			return e.data, nil
		case len(e.data) > e.limit:
			return nil, errTooLarge
		}
	}
}

// take adds a line to the data of the event, if it has any.
func (e *events) take(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case bytes.HasPrefix(line, []byte("{")):
		value = line
	case string(name) == "error":
		value = slices.Concat([]byte(`{"error":`), value, []byte("}"))
	case string(name) != "data":
		return
	}
	if len(e.data) > 0 {
		e.data = append(e.data, '\n')
	}
	e.data = append(e.data, bytes.TrimPrefix(value, []byte(" "))...)
}

func isObject(data []byte) bool {
	return len(data) > 0 && data[0] == '{' && data[len(data)-1] == '}' && json.Valid(data)
}

// readLine returns the next line without its end. The last one, which may be cut, comes with io.EOF.
func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		part, err := e.r.ReadSlice('\n')
		e.line = append(e.line, part...)
		e.left -= len(part)
		switch {
		case len(e.line) > e.limit, e.left < 0:
			return nil, errTooLarge
		case err == bufio.ErrBufferFull:
			continue
		case err != nil:
			return e.line, err
		}
		return bytes.TrimRight(e.line, "\r\n"), nil
	}
}
