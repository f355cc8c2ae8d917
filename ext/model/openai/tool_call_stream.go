package openai

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/weftgo/weft/schema"
)

// A callTracker tells the tool calls of one answer apart. By the API every chunk of a call has its index, and the first
// one its ID, type and name. Servers leave out any of these, repeat them, count every call as 0, or give each chunk an
// ID of its own. What comes out of the tracker is always as the API says, so that it can be joined.
type callTracker struct{ calls []*trackedCall }

type trackedCall struct {
	index     int
	wireIndex int    // what the server calls it, -1 if nothing
	wireID    string // "" if the server gave none
	name      string
	args      strings.Builder
}

// add returns what a chunk of a streamed call adds to it.
func (t *callTracker) add(chunk toolCall) schema.ToolCall {
	call := t.find(chunk)
	fresh := call == nil
	if fresh {
		call = t.start(chunk)
	}
	index := call.index
	out := schema.ToolCall{Index: &index, Extra: callExtra(chunk)}
	if fresh {
		out.ID, out.Type = cmp.Or(chunk.ID, newCallID()), cmp.Or(chunk.Type, "function")
	}
	if call.name == "" {
		call.name = chunk.Function.Name
		out.Function.Name = call.name
	}
	out.Function.Arguments = string(chunk.Function.Arguments)
	call.args.WriteString(out.Function.Arguments)
	return out
}

// wholeCall is a call that is not streamed.
func wholeCall(c toolCall) schema.ToolCall {
	return schema.ToolCall{
		ID:       cmp.Or(c.ID, newCallID()),
		Type:     cmp.Or(c.Type, "function"),
		Function: schema.FunctionCall{Name: c.Function.Name, Arguments: string(c.Function.Arguments)},
		Extra:    callExtra(c),
	}
}

// find returns the call that a chunk goes on with, or nil if it begins one.
func (t *callTracker) find(chunk toolCall) *trackedCall {
	call := t.candidate(chunk)
	if call == nil || !call.continuedBy(chunk) {
		return nil
	}
	return call
}

// candidate returns the latest call that the chunk may belong to: by index, else by ID, else the last one.
func (t *callTracker) candidate(chunk toolCall) *trackedCall {
	wireIndex := chunk.wireIndex()
	for i := len(t.calls) - 1; i >= 0; i-- {
		call := t.calls[i]
		if wireIndex >= 0 && call.wireIndex == wireIndex || wireIndex < 0 && chunk.ID != "" && call.wireID == chunk.ID {
			return call
		}
	}
	if wireIndex >= 0 || len(t.calls) == 0 {
		return nil
	}
	return t.calls[len(t.calls)-1]
}

// continuedBy reports whether a chunk that may belong to the call does.
func (c *trackedCall) continuedBy(chunk toolCall) bool {
	name := chunk.Function.Name
	switch {
	case name == "": // only a beginning has a name, whatever ID there is
		return true
	case c.wireID != "" && chunk.ID != "":
		return c.wireID == chunk.ID
	case c.name != "" && c.name != name:
		return false
	}
	return chunk.Function.Arguments == "" || !c.complete()
}

// complete reports whether the arguments so far are a whole JSON value.
func (c *trackedCall) complete() bool {
	args := c.args.String()
	return strings.HasSuffix(strings.TrimSpace(args), "}") && json.Valid([]byte(args))
}

func (t *callTracker) start(chunk toolCall) *trackedCall {
	call := &trackedCall{wireIndex: chunk.wireIndex(), wireID: chunk.ID}
	taken := false
	next := 0
	for _, other := range t.calls {
		taken = taken || other.index == call.wireIndex
		next = max(next, other.index+1)
	}
	call.index = call.wireIndex
	if taken || call.index < 0 {
		call.index = next
	}
	t.calls = append(t.calls, call)
	return call
}

// maxCallIndex is the largest index that is taken for one.
const maxCallIndex = 1 << 20

func (c *toolCall) wireIndex() int {
	if c.Index == nil || *c.Index < 0 || *c.Index > maxCallIndex {
		return -1
	}
	return *c.Index
}

// newCallID returns an ID for a call that the server gave none. It must be unique in the whole conversation.
func newCallID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return "call_" + hex.EncodeToString(b[:])
}

// callExtra keeps what must come back with the call.
func callExtra(c toolCall) map[string]any {
	if len(c.ExtraContent) == 0 || string(c.ExtraContent) == "null" {
		return nil
	}
	return map[string]any{extraContentKey: string(c.ExtraContent)}
}
