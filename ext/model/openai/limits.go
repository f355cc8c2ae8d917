package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weftgo/weft/schema"
)

const (
	// maxDocument is how many bytes a response, or one event of a stream, may have. Images come as one line of base64.
	maxDocument = 128 << 20
	// maxStream is how many bytes a stream may have in all.
	maxStream = 256 << 20
	// maxChunks is how many events a stream may have: several times the longest answers that models give.
	maxChunks = 500_000
	// maxToolCalls is how many tools an answer may call, and maxPieces how many pieces of calls and of media it may
	// have.
	maxToolCalls = 4096
	maxPieces    = 1_000_000
	// maxLogProbs is how many log probabilities an answer may have, alternatives included.
	maxLogProbs = 3_000_000
	// smallDocument is how many bytes a document may have whose lists are not counted before they are decoded, as they
	// cannot take much memory.
	smallDocument = 64 << 10
	// maxDepth is how deep documents may be nested. It is the limit of encoding/json.
	maxDepth = 10_000
)

var errTooLarge = errors.New("the response is too large")

// listLimits is how many entries the lists of a document may have, by their names, all lists of a name together. An
// entry of three bytes takes some hundred when it is decoded.
var listLimits = [...]struct {
	name string
	max  int
}{
	{"choices", 1024},
	{"tool_calls", maxToolCalls},
	{"images", 1024},
	{"reasoning_details", 50_000},
	{"annotations", 50_000},
	{"thinking", 50_000},
	{"content", 500_000}, // parts, and the tokens of log probabilities
	{"top_logprobs", maxLogProbs},
	{"bytes", 16_000_000}, // of the tokens
}

func errTooMany(what string, limit int) error {
	return fmt.Errorf("the response has more than %d %s", limit, what)
}

// A quota counts what the documents of one response add up to.
type quota struct {
	chunks, pieces, logProbs int
}

// document counts a document that is yet to be decoded.
func (q *quota) document(data []byte) error {
	q.chunks++
	if q.chunks > maxChunks {
		return errTooMany("chunks", maxChunks)
	}
	if len(data) > smallDocument {
		return checkLists(data)
	}
	return nil
}

// message counts what a message adds to the answer, which has so many calls by now.
func (q *quota) message(m *schema.Message, calls int) error {
	q.pieces += len(m.ToolCalls) + len(m.AssistantGenMultiContent)
	if m.ResponseMeta != nil && m.ResponseMeta.LogProbs != nil {
		for _, token := range m.ResponseMeta.LogProbs.Content {
			q.logProbs += 1 + len(token.TopLogProbs)
		}
	}
	switch {
	case calls > maxToolCalls:
		return errTooMany("tool calls", maxToolCalls)
	case q.pieces > maxPieces:
		return errTooMany("pieces of tool calls and media", maxPieces)
	case q.logProbs > maxLogProbs:
		return errTooMany("log probabilities", maxLogProbs)
	}
	return nil
}

// noList stands for lists that are not decoded, and for objects.
const noList = -1

// A listCounter counts the entries of the lists in a JSON document without decoding it.
type listCounter struct {
	data []byte
	at   int
	// open has an index of listLimits, or noList, for each list and object around at.
	open []int
	used [len(listLimits)]int
}

// checkLists returns an error if the lists of a document have too many entries. It does not find out whether the
// document is valid: decoding does that before it takes memory.
func checkLists(data []byte) error {
	c := listCounter{data: data}
	name := noList // that of the list that would begin now
	for ; c.at < len(data) && len(c.open) <= maxDepth; c.at++ {
		switch data[c.at] {
		case '"':
			text := c.text()
			name = noList
			if c.isName() {
				name = listNamed(text)
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
		name = noList
	}
	for i, limit := range listLimits {
		if c.used[i] > limit.max {
			return errTooMany("entries in "+limit.name, limit.max)
		}
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

// listNamed returns the index of listLimits that decoding takes a name for.
func listNamed(quoted []byte) int {
	name := strings.Trim(string(quoted), `"`)
	if strings.Contains(name, `\`) && json.Unmarshal(quoted, &name) != nil {
		return noList
	}
	for i, limit := range listLimits {
		if strings.EqualFold(limit.name, name) {
			return i
		}
	}
	return noList
}

// count counts an entry of the innermost list.
func (c *listCounter) count() {
	if len(c.open) == 0 {
		return
	}
	if list := c.open[len(c.open)-1]; list != noList {
		c.used[list]++
	}
}
