package runs

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Cursor is a position in the record of a run: behind the event that has it. The zero Cursor is before the first one.
//
// Seq counts the events of the run, through all of its stretches, in every process that executes them: a process that
// continues a run continues to count behind the last event that is recorded. Two processes can count the same numbers
// nevertheless, for a while: one that has lost the run, and does not know it yet, and the one that has it. Token, the token
// of the lease of the run, which grows from lease to lease, tells their events apart, and decides: positions are ordered by
// Token, then by Seq. A store refuses events of a token that is lower than one it has seen, so what it keeps of a run has no
// two events of one Seq, but for what the old process wrote while the new one began. The new process begins with a
// [Restarted] event: a reader who has seen more of the old one than counts is given that first.
//
// A reader gets what is behind its cursor. What is not there any more, because deltas are dropped when the whole message
// is there, or because the log is cut, is announced by [Dropped] or replaced by [Snapshot]. So every cursor is good, one
// of another life of the run as well as none: what follows makes a correct picture.
//
// As text it is the token, hexadecimal, and the number, decimal: 3f.118.
type Cursor struct{ Token, Seq uint64 }

// String is the cursor as text.
func (c Cursor) String() string {
	var room [40]byte
	text, _ := c.AppendText(room[:0])
	return string(text)
}

// ParseCursor reads the text of a cursor. "" is the zero Cursor. A caller who gives events to a stranger can ignore the
// error: the Cursor is then the zero one, which is always good.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	token, seq, _ := strings.Cut(text, ".")
	t, err := strconv.ParseUint(token, 16, 64)
	if err == nil {
		var s uint64
		if s, err = strconv.ParseUint(seq, 10, 64); err == nil {
			return Cursor{t, s}, nil
		}
	}
	return Cursor{}, fmt.Errorf("%q is no cursor: it has the form 3f.118", text)
}

// Compare returns a negative number if c is before d, 0 if they are the same, and a positive number if c is after d.
func (c Cursor) Compare(d Cursor) int {
	return cmp.Or(cmp.Compare(c.Token, d.Token), cmp.Compare(c.Seq, d.Seq))
}

// AppendText appends the cursor as its text. It never fails.
func (c Cursor) AppendText(b []byte) ([]byte, error) {
	return strconv.AppendUint(append(strconv.AppendUint(b, c.Token, 16), '.'), c.Seq, 10), nil
}

// MarshalText encodes the cursor as its text.
func (c Cursor) MarshalText() ([]byte, error) { return c.AppendText(nil) }

// UnmarshalText decodes the text of a cursor.
func (c *Cursor) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCursor(string(text))
	return err
}
