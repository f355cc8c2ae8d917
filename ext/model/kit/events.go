package kit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrDone is the end that a server announces with "[DONE]".
var ErrDone = errors.New("the server has said that the stream is done")

var (
	// byteOrderMark is at the start of what some servers send, and says nothing.
	byteOrderMark = []byte("\uFEFF")
	done          = []byte("[DONE]")
)

// Events reads the JSON documents of a stream of server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html) or of a stream of JSON lines.
//
// It is lenient: data that is a JSON object counts as complete when other data follows, for servers that save the
// blank line between events; an object or an "error:" that stands alone in a line counts as data, as that is how some
// servers report errors. Comments and the names of events are skipped, but for "error": what such an event has for data
// is in the field "error" of an object, unless it has one.
type Events struct {
	from  *Response
	r     *bufio.Reader
	lists Limits
	left  int // how many bytes of the stream may come yet
	count int // of events
	line  []byte
	data  []byte
	// failed says that the current event is named "error".
	failed bool
	// held is a line that was read and belongs to the next event.
	held    []byte
	hasHeld bool
	// start is the beginning of a stream without events.
	start []byte
}

// Events returns the reader of the events of the response.
func (r *Response) Events() *Events { return r.EventsFrom(r) }

// EventsFrom is [Response.Events] for events that something has made of the body, which it reads by the response.
func (r *Response) EventsFrom(body io.Reader) *Events {
	return &Events{from: r, r: bufio.NewReader(body), left: maxStream, lists: r.lists}
}

// Next returns the next document, valid until the next call. Behind the last one it returns [ErrDone] if the server has
// said that this is all, and io.EOF if it has just ended; anything else is what went wrong.
func (e *Events) Next() ([]byte, error) {
	data, err := e.next()
	switch {
	case err == io.EOF && e.count == 0:
		return nil, e.from.Failure("read the response", fmt.Errorf("it is %q and has no events in it, but %q: %w",
			e.from.Header.Get("Content-Type"), e.from.hide.Excerpt(e.start), io.ErrUnexpectedEOF))
	case err == io.EOF, err == ErrDone:
		return nil, err
	case err != nil:
		return nil, e.from.Failure("read the response", err)
	}
	e.count++
	if e.count > maxEvents {
		err = ErrTooMany("events", maxEvents)
	} else {
		err = e.lists.check(data)
	}
	if err != nil {
		return nil, e.from.Failure("read the response", err)
	}
	e.from.tap.add(data)
	return data, nil
}

func (e *Events) next() ([]byte, error) {
	e.failed = false
	data, err := e.nextData()
	if err == nil && e.failed && !bytes.Contains(data, []byte(`"error"`)) {
		return errorObject(data), nil
	}
	return data, err
}

// errorObject returns the data of an event that is named "error" as an object that says so.
func errorObject(data []byte) []byte {
	if !json.Valid(data) {
		data, _ = json.Marshal(string(data)) // of a text: cannot fail
	}
	return slices.Concat([]byte(`{"error":`), data, []byte("}"))
}

func (e *Events) nextData() ([]byte, error) {
	e.data = e.data[:0]
	for {
		line, err := e.nextLine()
		if err != nil && err != io.EOF {
			return nil, err
		}
		value, isData := field(line)
		e.failed = e.failed || string(line) == "event: error" || string(line) == "event:error"
		switch {
		case isData && len(e.data) > 0 && isObject(e.data):
			e.held, e.hasHeld = append(e.held[:0], line...), true
			return e.data, nil
		case isData:
			if len(e.data) > 0 {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		}
		switch {
		case bytes.HasPrefix(e.data, done):
			return nil, ErrDone
		case len(e.data) > maxDocument:
			return nil, errTooLarge
		case err == io.EOF && len(e.data) == 0:
			return nil, io.EOF
		case err == io.EOF && !isObject(e.data) && !e.failed:
			return nil, io.ErrUnexpectedEOF
		case err == io.EOF, len(line) == 0 && len(e.data) > 0, bytes.HasPrefix(line, []byte("{")) && isObject(e.data):
			return e.data, nil
		}
	}
}

func (e *Events) nextLine() ([]byte, error) {
	if e.hasHeld {
		e.hasHeld = false
		return e.held, nil
	}
	line, err := e.readLine()
	line = bytes.TrimPrefix(line, byteOrderMark)
	if e.count == 0 && len(e.start) < maxExcerpt {
		e.start = append(append(e.start, line[:min(len(line), maxExcerpt)]...), ' ')
	}
	return line, err
}

// field returns the data in a line, and whether there is any.
func field(line []byte) (value []byte, isData bool) {
	if bytes.HasPrefix(line, []byte("data:")) {
		return bytes.TrimPrefix(line[len("data:"):], []byte(" ")), true
	}
	if bytes.HasPrefix(line, []byte("{")) {
		return line, true
	}
	if value, ok := bytes.CutPrefix(line, []byte("error:")); ok {
		return slices.Concat([]byte(`{"error":`), value, []byte("}")), true
	}
	return nil, string(line) == "data"
}

func isObject(data []byte) bool {
	return len(data) > 0 && data[0] == '{' && data[len(data)-1] == '}' && json.Valid(data)
}

// readLine returns the next line without its end. The last one, which may be cut, comes with io.EOF.
func (e *Events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		part, err := e.r.ReadSlice('\n')
		e.left -= len(part)
		switch {
		case len(e.line)+len(part) > maxDocument, e.left < 0:
			return nil, errTooLarge
		case err == nil && len(e.line) == 0: // as nearly always
			return bytes.TrimRight(part, "\r\n"), nil
		}
		e.line = append(e.line, part...)
		switch err {
		case bufio.ErrBufferFull:
			continue
		case nil:
			return bytes.TrimRight(e.line, "\r\n"), nil
		}
		return e.line, err
	}
}
