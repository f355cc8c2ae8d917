// Package callorder tells the tool calls of one answer apart, and keeps their results in the order of the calls.
//
// Agents, the tools node and code that keeps conversations use it. It must never look at what a call does.
//
// A model may give two calls of one answer the same ID. What a call is, its place in the answer says; the ID is a name that
// the model has for it. So that what is kept for a call can be found by a text, each call has a label: its ID or, if a call
// before it in the answer has the same one, the ID, a tilde and a number. Labels of one answer differ. Results come in the
// order in which the tools end; a provider that has cached a conversation finds it again only if they are always sent in the
// order of the calls.
package callorder

import (
	"slices"
	"strings"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

// Label returns the label of the call at a place of an answer, whose IDs a function knows: see core.CallKeys.
func Label(place int, idOf func(place int) string) string {
	if id := idOf(place); isOnly(id, place, idOf) {
		return id
	}
	labels := make([]string, 0, place+1)
	for i := range place + 1 {
		labels = append(labels, idOf(i))
	}
	core.CallKeys(len(labels), func(i int) *string { return &labels[i] })
	return labels[place]
}

// isOnly reports whether no call before has the ID, and it cannot be the label of one.
func isOnly(id string, place int, idOf func(place int) string) bool {
	if place > 0 && strings.Contains(id, "~") {
		return false
	}
	for i := range place {
		if idOf(i) == id {
			return false
		}
	}
	return true
}

// labelKey is the place where the Extra of a result has the label of its call, if that is not the ID.
const labelKey = "_weft_call_label"

// Mark notes in the Extra of the result of a call what the label of the call is. Most results need no mark.
func Mark(extra map[string]any, label, id string) {
	if label != "" && label != id {
		extra[labelKey] = label
	}
}

// LabelOf is the label of the call that a message is the result of, "" if it is none.
func LabelOf(m *schema.Message) string {
	if label, ok := m.Extra[labelKey].(string); ok {
		return label
	}
	return m.ToolCallID
}

// Append adds an entry to a list of what was said, and puts the result of a call before the results of later calls of the
// same answer. of says who said an entry, and what: several may speak between each other.
func Append[E any](list []E, entry E, of func(E) (speaker string, m *schema.Message)) []E {
	speaker, m := of(entry)
	if m == nil || m.Role != schema.Tool {
		return append(list, entry)
	}
	answer := -1
	for i := len(list) - 1; i >= 0 && answer < 0; i-- {
		if who, said := of(list[i]); who == speaker && said != nil && said.Role == schema.Assistant {
			answer = i
		}
	}
	if answer < 0 {
		return append(list, entry)
	}
	_, calls := of(list[answer])
	place := placeOf(calls.ToolCalls, m)
	if place < 0 || len(calls.ToolCalls) < 2 {
		return append(list, entry)
	}
	for i := answer + 1; i < len(list); i++ {
		who, other := of(list[i])
		if who == speaker && other != nil && other.Role == schema.Tool && placeOf(calls.ToolCalls, other) > place {
			return slices.Insert(list, i, entry)
		}
	}
	return append(list, entry)
}

// placeOf is the place of the call that a message is the result of, -1 if there is none.
func placeOf(calls []schema.ToolCall, result *schema.Message) int {
	label := LabelOf(result)
	for i := range calls {
		if Label(i, func(i int) string { return calls[i].ID }) == label {
			return i
		}
	}
	return -1
}
