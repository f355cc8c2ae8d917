package runlog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weftgo/weft/internal/core"
)

// answerCall is a call of a tool in an answer. Its place identifies it: the model may have given other calls the same ID.
type answerCall struct {
	id, call string
	// key identifies the call in addresses: see core.CallKeys. It is set when the answer is whole.
	key string
	// index is the index of its chunks, and args what pieces of its arguments have in common, of an answer that comes in
	// chunks.
	index int
	args  *ModelDeltaData
}

// setKeys sets the keys of the calls of an answer.
func setKeys(calls []answerCall) {
	for i := range calls {
		calls[i].key = calls[i].id
	}
	core.CallKeys(len(calls), func(i int) *string { return &calls[i].key })
}

// callAt finds a call of an answer: the one at a place, from 1, if that has the ID, or else the first with the ID. "" is
// none.
func callAt(calls []answerCall, place int, id string) string {
	if place > 0 && place <= len(calls) && calls[place-1].id == id {
		return calls[place-1].call
	}
	for i := range calls {
		if calls[i].id == id {
			return calls[i].call
		}
	}
	return ""
}

// agentPlace is the position of an agent in a run: the call that it works for, "" for none, and the path to it from the
// outermost agent, or from the one in that call.
type agentPlace struct{ call, path string }

func placeAt(call string, path []string) agentPlace { return agentPlace{call, strings.Join(path, "/")} }

// forCall is the call that a span works for, however far inside, "" if it is outside of all.
func (s *span) forCall() string {
	for p := s.parent; p != nil; p = p.parent {
		if p.kind == toolSpan {
			return p.call
		}
	}
	return ""
}

// nameCalls gives the calls of an answer that is whole their names, with mu locked.
func (s *span) nameCalls(d *ModelEndData) {
	calls := d.Message.calls()
	if len(calls) == 0 {
		return
	}
	known := s.inAnswer
	whole := make([]answerCall, len(calls))
	d.Calls = make([]string, len(calls))
	for i, c := range calls {
		whole[i] = answerCall{id: c.id}
		at := slices.IndexFunc(known, func(k answerCall) bool { return k.call != "" && k.id == c.id && c.index != nil && k.index == *c.index })
		if at < 0 {
			at = slices.IndexFunc(known, func(k answerCall) bool { return k.call != "" && k.id == c.id })
		}
		if at >= 0 {
			whole[i].call, known[at].call = known[at].call, "" // it is taken
		} else {
			whole[i].call = s.newCall(c.id)
		}
		d.Calls[i] = whole[i].call
	}
	setKeys(whole)
	s.inAnswer = whole
	s.answers()
	if s.rec.last == nil {
		s.rec.last = map[agentPlace][]answerCall{}
	}
	s.rec.last[placeAt(s.forCall(), s.path)] = whole
}

// answers sets this answer as the one whose calls the agent of the model makes, with mu locked.
func (s *span) answers() {
	if s.parent != nil {
		s.parent.answered = s
	}
}

// newCall names a call that an answer makes: the model's ID, if that is new in the run, with mu locked.
func (s *span) newCall(id string) string {
	r := s.rec
	if r.calls == nil {
		r.calls = map[string]int{}
	}
	r.calls[id]++
	if n := r.calls[id]; n > 1 || id == "" {
		return id + "~" + strconv.Itoa(n)
	}
	return id
}

// made returns the calls that an agent makes now: the calls of its last answer, also if an earlier process recorded it, with
// mu locked.
func (s *span) made() []answerCall {
	if s.answered != nil {
		return s.answered.inAnswer
	}
	return s.rec.last[placeAt(s.forCall(), s.path)]
}

// callOf is the name of a call that an agent makes, by its place in the answer and its ID, with mu locked.
func (s *span) callOf(place int, id string) string {
	if name := callAt(s.made(), place, id); name != "" {
		return name
	}
	return s.newCall(id)
}

// askedIn returns what finds the names of the calls in an address, from the outermost on, with mu locked.
func (r *recorder) askedIn() func(path []string, key string) string {
	outer := ""
	return func(path []string, key string) string {
		name := ""
		for _, c := range r.last[placeAt(outer, path)] {
			if c.key == key {
				name = c.call
			}
		}
		outer = name
		return name
	}
}

// numberOf is which use of an ID a name is for.
func numberOf(call, id string) int {
	if call == id {
		return 1
	}
	n, _ := strconv.Atoi(call[min(len(call), len(id)+1):])
	return n
}
