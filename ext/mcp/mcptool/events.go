package mcptool

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// keptEnd is the number of bytes that are kept of both ends of a message that is too large.
const keptEnd = 256

// events is an event stream of a server, event by event, of which none is over a limit and each has a message that can be
// read. The others are left out, which costs them alone: the SDK would end the connection, with all that continues over it.
type events struct {
	body io.ReadCloser
	r    *bufio.Reader
	most int
	log  *slog.Logger
	// call is the ID of the request that the stream answers, nil for none.
	call json.RawMessage
	raw  *rawAnswer // gets the answers, nil if they are not wanted
	// seen is the number of events that were passed on, and last the ID of the last one that had one.
	seen int
	last string

	event pieces
	// large: the event is over the limit, and head and tail are its ends.
	large      bool
	head, tail []byte
	ready      []byte // is passed on next
	err        error  // of the stream, behind ready
}

func newEvents(body io.ReadCloser, w *wire, call json.RawMessage, raw *rawAnswer) *events {
	return &events{body: body, r: bufio.NewReaderSize(body, 8<<10), most: w.most, log: w.log, call: call, raw: raw,
		event: pieces{most: w.most}}
}

// Close closes the body.
func (e *events) Close() error { return e.body.Close() }

// Read reads whole events.
func (e *events) Read(p []byte) (int, error) {
	for len(e.ready) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.line()
	}
	n := copy(p, e.ready)
	e.ready = e.ready[n:]
	return n, nil
}

// line takes a line, or a part of a long one.
func (e *events) line() {
	start := e.event.size == 0 && !e.large
	line, err := e.r.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		err = nil
		e.take(line)
	case len(bytes.TrimRight(line, "\r\n")) > 0:
		if !start || line[0] != ':' { // a comment
			e.take(line)
		}
	case len(line) > 0:
		e.end()
	}
	if err != nil && e.err == nil {
		e.end() // servers leave out the line behind the last event
		e.err = err
		if err != io.EOF {
			e.ready = nil
		}
	}
}

// take adds to the event.
func (e *events) take(line []byte) {
	if !e.large && e.event.add(line) {
		return
	}
	if !e.large {
		e.large = true
		e.head = e.event.join()
		e.head = bytes.Clone(e.head[:min(len(e.head), keptEnd)])
	}
	e.tail = append(e.tail, line...)
	e.tail = append([]byte(nil), e.tail[max(0, len(e.tail)-keptEnd):]...)
	if e.call != nil && e.err == nil { // nothing that follows is wanted
		e.end()
		e.err = io.EOF
	}
}

// end passes the event on, if it can be read.
func (e *events) end() {
	if e.large {
		id := e.call
		if id == nil {
			id = idOf([]byte(strings.TrimPrefix(string(e.head), "data:")), bytes.TrimRight(e.tail, "\r\n"))
		}
		e.leaveOut(&overLimit{e.most})
		if id != nil {
			e.ready = fmt.Appendf(e.ready, "data: %s\n\n", replacement(id, e.most))
		}
		e.large, e.head, e.tail = false, nil, nil
		return
	}
	if e.event.size == 0 {
		return
	}
	e.pass(e.event.join())
}

func (e *events) leaveOut(why error) {
	e.log.Warn("a message of an MCP server is left out", "error", clean(oneLine(why.Error())))
}

// pass passes an event on.
func (e *events) pass(event []byte) {
	var fields, data []byte
	hasData, isMessage := false, true
	for line := range bytes.Lines(event) {
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if hasData {
				data = append(data, '\n')
			}
			hasData = true
			data = append(data, value...)
			continue
		case "id":
			e.last = string(value)
		case "event":
			isMessage = string(value) == "message" || len(value) == 0
		}
		fields = append(append(fields, line...), '\n')
	}
	e.seen++
	if len(data) > 0 && isMessage {
		data = shallow(data)
		m, err := jsonrpc.DecodeMessage(data)
		if err != nil {
			e.leaveOut(fmt.Errorf("an event cannot be read: %w", err))
			data = nil
		}
		e.raw.keep(m)
	}
	for line := range bytes.Lines(data) {
		fields = append(append(append(fields, "data: "...), bytes.TrimRight(line, "\n")...), '\n')
	}
	e.ready = append(append(e.ready, fields...), '\n')
}

// lineReader is the output of a program, message by message: one a line. A message that is over the limit, and lines that
// are none, are left out.
type lineReader struct {
	io.Closer
	r    *bufio.Reader
	most int
	log  *slog.Logger

	line       pieces
	large      bool
	head, tail []byte
	ready      []byte
	err        error
}

func newLineReader(r io.ReadCloser, w *wire) *lineReader {
	return &lineReader{Closer: r, r: bufio.NewReaderSize(r, 8<<10), most: w.most, log: w.log, line: pieces{most: w.most}}
}

// Read reads whole lines.
func (l *lineReader) Read(p []byte) (int, error) {
	for len(l.ready) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		part, err := l.r.ReadSlice('\n')
		l.take(part)
		if err != bufio.ErrBufferFull {
			l.end()
			l.err = err
		}
	}
	n := copy(p, l.ready)
	l.ready = l.ready[n:]
	return n, nil
}

func (l *lineReader) take(part []byte) {
	if !l.large && l.line.add(part) {
		return
	}
	if !l.large {
		l.large = true
		l.head = l.line.join()
		l.head = bytes.Clone(l.head[:min(len(l.head), keptEnd)])
	}
	l.tail = append(l.tail, part...)
	l.tail = append([]byte(nil), l.tail[max(0, len(l.tail)-keptEnd):]...)
}

// end ends a line.
func (l *lineReader) end() {
	if l.large {
		id := idOf(l.head, bytes.TrimRight(l.tail, "\r\n"))
		l.log.Warn("a message of an MCP server is left out", "error", &overLimit{l.most})
		if id != nil {
			l.ready = append(replacement(id, l.most), '\n')
		}
		l.large, l.head, l.tail = false, nil, nil
		return
	}
	line := l.line.join()
	switch trimmed := bytes.TrimSpace(line); {
	case len(trimmed) == 0:
	case trimmed[0] != '{' && trimmed[0] != '[':
		l.log.Log(context.Background(), slog.LevelWarn, "an MCP server writes what is no message",
			"line", clean(cutText(string(trimmed), keptEnd)))
	default:
		l.ready = shallow(line)
	}
}
