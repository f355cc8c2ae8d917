package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// A callTracker separates the tool calls of one answer. By the API every chunk of a call has its index, and the first
// one its ID, type and name. Servers leave out any of these, repeat them, count every call as 0, or give each chunk an
// ID of its own. What comes out of the tracker is always as the API says, so that it can be joined.
type callTracker struct {
	all []*trackedCall
	// byIndex and byID have the latest call that the server gave an index or ID, and taken all indexes that we gave.
	byIndex map[int]*trackedCall
	byID    map[string]*trackedCall
	taken   map[int]bool
	// offered are the tools of the request.
	offered []*schema.ToolInfo
	// next is larger than all of taken.
	next int
	// places has the calls of the latest chunk with several, in its order.
	places []*trackedCall
}

// A place is where a call stands in the list of a chunk that has so many.
type place struct{ at, of int }

type trackedCall struct {
	index  int
	wireID string // "" if the server gave none
	name   string
	args   jsonObject
	sofar  string // the arguments, where every chunk repeats them
	// held is the call as far as it has come, while it may have others in it; plain says that it has not.
	held  *schema.ToolCall
	plain bool
}

// add appends what a chunk of a streamed call adds to it.
func (t *callTracker) add(to []schema.ToolCall, chunk toolCall, p place, cumulative bool) []schema.ToolCall {
	call := t.find(chunk, p)
	fresh := call == nil
	if fresh {
		call = t.start(chunk)
	}
	t.note(p, call)
	index := call.index
	out := schema.ToolCall{Index: &index, Extra: callExtra(chunk)}
	if fresh {
		out.ID, out.Type = cmp.Or(chunk.ID, kit.NewCallID()), cmp.Or(chunk.Type, "function")
	}
	if call.name == "" {
		call.name = chunk.Function.Name
		out.Function.Name = call.name
	}
	out.Function.Arguments = string(chunk.Function.Arguments)
	if cumulative {
		out.Function.Arguments = strings.TrimPrefix(out.Function.Arguments, call.sofar)
		call.sofar += out.Function.Arguments
	}
	call.args.write(out.Function.Arguments)
	if call.held != nil || !call.plain && isWrapper(call.name, t.offered) {
		return append(to, t.hold(call, out)...)
	}
	return append(to, out)
}

// wholeCall is a call that is not streamed.
func wholeCall(c toolCall) schema.ToolCall {
	return schema.ToolCall{
		ID:       cmp.Or(c.ID, kit.NewCallID()),
		Type:     cmp.Or(c.Type, "function"),
		Function: schema.FunctionCall{Name: c.Function.Name, Arguments: string(c.Function.Arguments)},
		Extra:    callExtra(c),
	}
}

// note keeps which call stands at a place.
func (t *callTracker) note(p place, call *trackedCall) {
	if p.of < 2 {
		return
	}
	if p.of != len(t.places) {
		t.places = make([]*trackedCall, p.of)
	}
	t.places[p.at] = call
}

// find returns the call that a chunk continues with, or nil if it begins one.
func (t *callTracker) find(chunk toolCall, p place) *trackedCall {
	call := t.candidate(chunk, p)
	if call == nil || !call.continuedBy(chunk) {
		return nil
	}
	return call
}

// candidate returns the latest call that the chunk may belong to: by index, else by ID, else by its place among several,
// else the last one.
func (t *callTracker) candidate(chunk toolCall, p place) *trackedCall {
	if wireIndex := chunk.wireIndex(); wireIndex >= 0 {
		return t.byIndex[wireIndex]
	}
	if call := t.byID[chunk.ID]; call != nil {
		return call
	}
	if len(t.all) == 0 {
		return nil
	}
	if p.of > 1 && p.of == len(t.places) && t.places[p.at] != nil {
		return t.places[p.at]
	}
	return t.all[len(t.all)-1]
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
	return chunk.Function.Arguments == "" || !c.args.complete()
}

func (t *callTracker) start(chunk toolCall) *trackedCall {
	if t.all == nil {
		t.byIndex, t.byID, t.taken = map[int]*trackedCall{}, map[string]*trackedCall{}, map[int]bool{}
	}
	wireIndex := chunk.wireIndex()
	call := &trackedCall{index: wireIndex, wireID: chunk.ID}
	if wireIndex < 0 || t.taken[wireIndex] {
		call.index = t.next
	}
	t.taken[call.index] = true
	t.next = max(t.next, call.index+1)
	if wireIndex >= 0 {
		t.byIndex[wireIndex] = call
	}
	if chunk.ID != "" {
		t.byID[chunk.ID] = call
	}
	t.all = append(t.all, call)
	return call
}

// A jsonObject is arguments that come in pieces. It finds out whether they are complete in linear time, however small
// the pieces are.
type jsonObject struct {
	text    strings.Builder
	depth   int
	quoted  bool // inside a string
	escaped bool // behind a backslash in one
	// balanced says that all brackets have been closed once. The text up to then decides valid; more text makes it
	// false.
	balanced, valid bool
	// begun says that there was some text.
	begun bool
}

// write adds a piece.
func (o *jsonObject) write(piece string) {
	o.begun = o.begun || strings.TrimSpace(piece) != ""
	if o.balanced {
		o.valid = o.valid && strings.TrimSpace(piece) == ""
		return
	}
	for i := range len(piece) {
		o.take(piece[i])
		if o.balanced {
			o.text.WriteString(piece)
			o.valid = piece[i] == '}' && json.Valid([]byte(o.text.String()))
			o.text.Reset()
			return
		}
	}
	o.text.WriteString(piece)
}

// take follows the nesting.
func (o *jsonObject) take(b byte) {
	switch {
	case o.escaped:
		o.escaped = false
	case o.quoted:
		o.escaped, o.quoted = b == '\\', b != '"'
	case b == '"':
		o.quoted = true
	case b == '{', b == '[':
		o.depth++
	case b == '}', b == ']':
		o.depth--
		o.balanced = o.depth <= 0
	}
}

// complete reports whether there is a whole object, and nothing else.
func (o *jsonObject) complete() bool { return o.balanced && o.valid }

// maxCallIndex is the largest index that is taken for one.
const maxCallIndex = 1 << 20

func (c *toolCall) wireIndex() int {
	if c.Index == nil || *c.Index < 0 || *c.Index > maxCallIndex {
		return -1
	}
	return *c.Index
}

// incomplete reports whether the arguments of some call have begun and not ended.
func (t *callTracker) incomplete() bool {
	for _, c := range t.all {
		if c.args.begun && !c.args.complete() {
			return true
		}
	}
	return false
}

// callExtra keeps what must come back with the call.
func callExtra(c toolCall) map[string]any {
	if len(c.ExtraContent) == 0 || string(c.ExtraContent) == "null" {
		return nil
	}
	return map[string]any{extraContentKey: string(c.ExtraContent)}
}
