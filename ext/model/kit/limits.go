package kit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	// maxDocument is the number of bytes that a response, or one event of a stream, may have. Images come as one line of
	// base64.
	maxDocument = 128 << 20
	// maxStream is the number of bytes that a stream may have in all.
	maxStream = 256 << 20
	// maxEvents is the number of events that a stream may have: several times the longest answers that models give.
	maxEvents = 500_000
	// smallDocument is the number of bytes that a document may have whose lists are not counted before they are decoded, as
	// they cannot take much memory.
	smallDocument = 64 << 10
	// maxDepth limits how deep documents may be nested. It is the limit of encoding/json.
	maxDepth = 10_000
	// maxListEntries is the number of entries that the lists may have that no limit names, all together.
	maxListEntries = 1_000_000
)

var errTooLarge = errors.New("the response is too large")

// Limits says how many entries the lists of a JSON document may have, by the names of the fields that they stand in,
// all lists of a name together, and with them the lists that they consist of. An entry of three bytes takes some hundred
// when it is decoded, so that a limit on bytes alone does not protect memory.
type Limits []Limit

// A Limit is one entry of [Limits].
type Limit struct {
	Name string
	Max  int
}

// ErrTooMany returns the error for a response with more than so many of something.
func ErrTooMany(what string, limit int) error {
	return fmt.Errorf("the response has more than %d %s", limit, what)
}

const (
	// otherList stands for lists without a limit of their own.
	otherList = -1
	// noList stands for objects.
	noList = -2
)

// A listCounter counts the entries of the lists in a JSON document without decoding it.
type listCounter struct {
	limits Limits
	data   []byte
	at     int
	// open has an index of limits, otherList or noList, for each list and object around at.
	open  []int
	used  []int // by limit
	other int
}

// check returns an error if the lists of a document have too many entries. It does not find out whether the document
// is valid: decoding does that before it takes memory.
func (l Limits) check(data []byte) error {
	if len(data) <= smallDocument {
		return nil
	}
	c := listCounter{limits: l, data: data, used: make([]int, len(l))}
	name := otherList // the name of the list that would begin now
	for ; c.at < len(data) && len(c.open) <= maxDepth; c.at++ {
		switch data[c.at] {
		case '"':
			text := c.text()
			name = otherList
			if c.isName() {
				name = l.named(text)
			}
			continue
		case ' ', '\t', '\r', '\n', ':':
			continue
		case '{':
			c.open = append(c.open, noList)
		case '[':
			c.open = append(c.open, name)
			c.count()
		case ']', '}':
			c.open = c.open[:max(0, len(c.open)-1)]
		case ',':
			c.count()
		}
		name = c.nested()
	}
	return c.verdict()
}

// nested returns the limit of a list that begins without a name: the limit of the list around it, if that list has a
// name itself. Deeper ones have none, so that a document that is all nesting is refused for that.
func (c *listCounter) nested() int {
	n := len(c.open)
	if n == 0 || c.open[n-1] == noList || n > 1 && c.open[n-1] == c.open[n-2] {
		return otherList
	}
	return c.open[n-1]
}

func (c *listCounter) verdict() error {
	for i, limit := range c.limits {
		if c.used[i] > limit.Max {
			return ErrTooMany("entries in "+limit.Name, limit.Max)
		}
	}
	if c.other > maxListEntries {
		return ErrTooMany("entries in lists", maxListEntries)
	}
	return nil
}

// text moves to the end of a string and returns it with its quotes.
func (c *listCounter) text() []byte {
	start := c.at
	for c.at++; c.at < len(c.data) && c.data[c.at] != '"'; c.at++ {
		if c.data[c.at] == '\\' {
			c.at++
		}
	}
	return c.data[start:min(c.at+1, len(c.data))]
}

// isName reports whether a colon follows the string that was read.
func (c *listCounter) isName() bool {
	rest := bytes.TrimLeft(c.data[min(c.at+1, len(c.data)):], " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// named returns the index of the limit that decoding takes a name for.
func (l Limits) named(quoted []byte) int {
	if len(quoted) > 256 {
		return otherList
	}
	name := strings.Trim(string(quoted), `"`)
	if strings.Contains(name, `\`) && json.Unmarshal(quoted, &name) != nil {
		return otherList
	}
	for i, limit := range l {
		if strings.EqualFold(limit.Name, name) {
			return i
		}
	}
	return otherList
}

// count counts an entry of the innermost list.
func (c *listCounter) count() {
	if len(c.open) == 0 {
		return
	}
	switch list := c.open[len(c.open)-1]; list {
	case noList:
	case otherList:
		c.other++
	default:
		c.used[list]++
	}
}
