package kittest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
)

// A Change alters a recorded response.
type Change func(i *Interaction)

// With returns a fresh cassette with the same recordings, whose responses are changed.
func (c *Cassette) With(changes ...Change) *Cassette {
	changed := new(Cassette)
	for _, i := range c.Interactions {
		i := *i
		for _, change := range changes {
			change(&i)
		}
		changed.Interactions = append(changed.Interactions, &i)
	}
	return changed
}

// streamed reports whether the response is a stream of events.
func (i *Interaction) streamed() bool {
	kind := i.Response.Headers.Get("Content-Type")
	for _, format := range []Format{FormatSSE, FormatNDJSON, FormatFrames} {
		if strings.HasPrefix(kind, string(format)) {
			return true
		}
	}
	return false
}

// Events returns the events of a streamed response as they were sent; nil for another response.
func (i *Interaction) Events() (events [][]byte) {
	if !i.streamed() {
		return nil
	}
	kind := i.Response.Headers.Get("Content-Type")
	if strings.HasPrefix(kind, string(FormatFrames)) {
		events, _ = splitFrames(i.Response.Body)
		return events
	}
	lines := strings.HasPrefix(kind, string(FormatNDJSON))
	var event []byte
	for line := range bytes.Lines(i.Response.Body) {
		event = append(event, line...)
		if lines || len(bytes.TrimSpace(line)) == 0 {
			events = append(events, event)
			event = nil
		}
	}
	if len(event) > 0 {
		events = append(events, event)
	}
	return events
}

// Cut ends streams cleanly after so many events. Shorter streams and other responses stay whole.
func Cut(afterEvents int) Change {
	return func(i *Interaction) {
		if events := i.Events(); len(events) > afterEvents {
			i.Response.Body = bytes.Join(events[:afterEvents], nil)
		}
	}
}

// CRLF ends the lines of server-sent events with CR LF instead of LF.
func CRLF() Change {
	return func(i *Interaction) {
		if strings.HasPrefix(i.Response.Headers.Get("Content-Type"), string(FormatSSE)) {
			body := bytes.ReplaceAll(i.Response.Body, []byte("\r\n"), []byte("\n"))
			i.Response.Body = bytes.ReplaceAll(body, []byte("\n"), []byte("\r\n"))
		}
	}
}

// Split has bodies arrive in pieces of random sizes from one byte, also in the middle of letters. Equal seeds give
// equal pieces.
func Split(seed uint64) Change {
	return func(i *Interaction) {
		i.pieces = func(body []byte) io.Reader {
			return &pieces{rest: body, random: rand.New(rand.NewPCG(seed, uint64(len(body))))}
		}
	}
}

// pieces is a reader that gives less than it is asked for.
type pieces struct {
	rest   []byte
	random *rand.Rand
}

func (p *pieces) Read(into []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	size := 1 + p.random.IntN(1<<p.random.IntN(8)) // mostly small ones
	n := copy(into, p.rest[:min(size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}
