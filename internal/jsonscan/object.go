// Package jsonscan finds the end of a JSON object that arrives in pieces.
//
// Package adk learns from it when the arguments of a tool call are complete while a model still streams.
// It must never look at a byte twice, and leaves to a real parser whether what it found is valid.
package jsonscan

// An Object scans the text of one JSON object (RFC 8259). The zero value is ready. It knows brackets and strings only.
type Object struct {
	phase  phase
	depth  int
	quoted bool
	escape bool
}

type phase uint8

const (
	before phase = iota
	inside
	after
	broken
)

// Feed scans the next piece.
func (o *Object) Feed(piece string) {
	for i := range len(piece) {
		o.feed(piece[i])
	}
}

// Ended reports whether the text so far is one object, as far as brackets and strings show, with nothing but white
// space around it.
func (o *Object) Ended() bool { return o.phase == after }

func (o *Object) feed(c byte) {
	switch {
	case o.phase == broken:
	case o.escape:
		o.escape = false
	case o.quoted:
		o.escape, o.quoted = c == '\\', c != '"'
	case isSpace(c):
	case o.phase == inside:
		o.structure(c)
	case o.phase == before && c == '{':
		o.phase, o.depth = inside, 1
	default: // not an object, or something behind it
		o.phase = broken
	}
}

func (o *Object) structure(c byte) {
	switch c {
	case '"':
		o.quoted = true
	case '{', '[':
		o.depth++
	case '}', ']':
		if o.depth--; o.depth == 0 {
			o.phase = after
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
