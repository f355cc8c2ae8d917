package kit

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// NewCallID returns an ID for a call that the server gave none. It must be unique in the whole conversation.
func NewCallID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return "call_" + hex.EncodeToString(b[:])
}

// An IDRule is what a provider accepts as the ID of a tool call.
type IDRule struct {
	// Max is the longest ID; 0 for any. Exact says that every ID must have this length.
	Max   int
	Exact bool
	// Allowed reports whether a byte may stand in an ID. Nil for any.
	Allowed func(byte) bool
}

// Alphanumeric reports whether b is an ASCII letter or digit.
func Alphanumeric(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

// AlphanumericDash also allows "_" and "-".
func AlphanumericDash(b byte) bool { return Alphanumeric(b) || b == '_' || b == '-' }

func (r IDRule) accepts(id string) bool {
	if id == "" || r.Max > 0 && len(id) > r.Max || r.Exact && len(id) != r.Max {
		return false
	}
	for i := range len(id) {
		if r.Allowed != nil && !r.Allowed(id[i]) {
			return false
		}
	}
	return true
}

// adapt returns an ID that the rule accepts: the same for the same ID, and for different IDs different ones as far as
// hashing goes.
func (r IDRule) adapt(id string) string {
	if r.accepts(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	adapted := hex.EncodeToString(sum[:])
	if r.Max > 0 && r.Max < len(adapted) {
		adapted = adapted[:r.Max]
	}
	return adapted
}

// CallIDs gives the calls of a conversation the IDs that they are sent with, and their results the same. It is fed in
// the order of the conversation. IDs that the rule accepts stay as they are; an ID that occurs for a second call, as
// IDs of some servers do in every turn, gets a suffix.
type CallIDs struct {
	rule IDRule
	seen map[string]int      // calls by ID
	used map[string]bool     // what was sent
	open map[string][]string // sent IDs of calls that wait for a result, by ID
	last map[string]string   // sent ID of the latest call, by ID
}

// NewCallIDs returns the IDs of a conversation.
func NewCallIDs(rule IDRule) *CallIDs {
	return &CallIDs{
		rule: rule, seen: map[string]int{}, used: map[string]bool{}, open: map[string][]string{}, last: map[string]string{},
	}
}

// Call returns the ID to send for the next call.
func (c *CallIDs) Call(id string) string {
	sent := c.rule.adapt(id)
	c.seen[id]++
	for n := c.seen[id]; c.used[sent]; n++ {
		sent = c.rule.adapt(id + "_" + strconv.Itoa(n))
	}
	c.used[sent] = true
	c.open[id] = append(c.open[id], sent)
	c.last[id] = sent
	return sent
}

// Result returns the ID to send for the result of a call: the ID of the first call with that ID that has no result yet.
func (c *CallIDs) Result(id string) string {
	if open := c.open[id]; len(open) > 0 {
		c.open[id] = open[1:]
		return open[0]
	}
	if sent, ok := c.last[id]; ok {
		return sent
	}
	return c.rule.adapt(id)
}

// ArgumentsObject returns the arguments of a call as the JSON object that some providers demand, whatever the model
// wrote: nothing becomes an empty object, another JSON value the field "value" of one, and text that is no JSON the
// field "_invalid".
func ArgumentsObject(text string) json.RawMessage {
	trimmed := bytes.TrimSpace([]byte(text))
	switch {
	case len(trimmed) == 0:
		return json.RawMessage("{}")
	case !json.Valid(trimmed):
		return mustEncode(Object{{"_invalid", text}})
	case trimmed[0] != '{':
		return mustEncode(Object{{"value", json.RawMessage(trimmed)}})
	}
	return trimmed
}

// ArgumentsText returns the arguments of a call for a wire that has them as a text: nothing becomes an empty object. If
// the server parses the text, what is no object is wrapped as in [ArgumentsObject].
func ArgumentsText(text string, parsed bool) string {
	switch {
	case len(bytes.TrimSpace([]byte(text))) == 0:
		return "{}"
	case parsed:
		return string(ArgumentsObject(text))
	}
	return text
}

// mustEncode encodes what cannot fail.
func mustEncode(o Object) json.RawMessage {
	data, err := o.Encode()
	if err != nil {
		panic(err)
	}
	return data
}
