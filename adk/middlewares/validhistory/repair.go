package validhistory

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/internal/language"
)

const (
	noResult        = "There is no result of this call of tool %s: it was lost or never came."
	noResultChinese = "此次对工具 %s 的调用没有结果：结果已丢失或从未返回。"

	leftOut        = "(Earlier messages of this conversation were left out.)"
	leftOutChinese = "（本次对话较早的消息已省略。）"
)

// Repair returns a history that is valid, and what was wrong with the one it got. placeholder makes the result of a
// call that has none; nil stands for a sentence that says so. A history that is valid comes back itself. Messages are
// replaced by changed copies, never changed.
func Repair[M adk.MessageType](
	messages []M, o Options, placeholder func(toolName, callID string) string,
) ([]M, []Problem) {
	if sound(messages, o) {
		return messages, nil
	}
	if placeholder == nil {
		placeholder = func(toolName, _ string) string {
			return fmt.Sprintf(language.Select(noResult, noResultChinese), toolName)
		}
	}
	r := &repair[M]{options: o, placeholder: placeholder, open: map[string][]slot[M]{}}
	for i, m := range messages {
		r.add(i, m)
	}
	repaired := r.finish()
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Compare(a.Index, b.Index) })
	return repaired, r.problems
}

// repair puts a history together again.
type repair[M adk.MessageType] struct {
	options     Options
	placeholder func(toolName, callID string) string

	entries  []*entry[M]
	problems []Problem
	// round is the message whose results may come now.
	round *entry[M]
	// open are the calls without a result, by ID, in order.
	open map[string][]slot[M]
}

// entry is a message, with the results of its calls behind it.
type entry[M adk.MessageType] struct {
	index    int
	message  M
	calls    []message.Call
	answered []bool
	results  []M
}

// slot is a call of an entry.
type slot[M adk.MessageType] struct {
	entry *entry[M]
	call  int
}

func (r *repair[M]) problem(rule Rule, index int, call message.Call) {
	r.problems = append(r.problems, Problem{Rule: rule, Index: index, CallID: call.ID, ToolName: call.Name})
}

func (r *repair[M]) add(i int, m M) {
	var none M
	if m == none {
		r.problem(RuleMessage, i, message.Call{})
		return
	}
	if !hasRole(m) {
		r.problem(RuleRole, i, message.Call{})
		m = asUsers(m)
	}
	if hasEmptyParts(m) {
		if m = withoutEmptyParts(m); !isEmpty(m) {
			r.problem(RulePart, i, message.Call{})
		}
	}
	switch {
	case isEmpty(m):
		r.problem(RuleContent, i, message.Call{})
	case message.KindOf(m) == message.Result:
		r.addResults(i, m)
	default:
		r.addEntry(i, m)
	}
}

// addEntry adds a message that is no result.
func (r *repair[M]) addEntry(i int, m M) {
	e := &entry[M]{index: i, message: m, calls: message.Calls(m)}
	r.entries = append(r.entries, e)
	if message.KindOf(m) == message.System && len(e.calls) == 0 && r.options.SystemFirst {
		return // it will go to the front
	}
	r.round = nil
	if len(e.calls) == 0 {
		return
	}
	r.round = e
	e.answered = make([]bool, len(e.calls))
	for _, c := range e.calls {
		delete(r.open, c.ID) // a result that is still to come is one of the new call
	}
	ids := make([]string, len(e.calls))
	for n, c := range e.calls {
		ids[n] = c.ID
		r.open[c.ID] = append(r.open[c.ID], slot[M]{e, n})
	}
	if distinct(ids) {
		for n, id := range ids {
			if id != e.calls[n].ID {
				r.problem(RuleCallID, i, e.calls[n])
				e.calls[n].ID = id
			}
		}
		e.message = withCallIDs(m, ids)
	}
}

// addResults puts results behind their calls.
func (r *repair[M]) addResults(i int, m M) {
	results := message.Results(m)
	slots := make([]slot[M], len(results))
	inPlace := true
	for n, result := range results {
		open := r.open[result.ID]
		if len(open) == 0 {
			r.problem(RuleCall, i, result)
			inPlace = false
			continue
		}
		s := open[0]
		r.open[result.ID] = open[1:]
		s.entry.answered[s.call] = true
		slots[n] = s
		if s.entry != r.round {
			r.problem(RuleOrder, i, result)
		}
		inPlace = inPlace && s.entry == r.round && s.entry.calls[s.call].ID == result.ID
	}
	if inPlace {
		r.round.results = append(r.round.results, m)
		return
	}
	parts, rest := split(m)
	for n, s := range slots {
		if s.entry == nil {
			continue
		}
		part := parts[n]
		if id := s.entry.calls[s.call].ID; id != results[n].ID {
			part = withResultID(part, id)
		}
		s.entry.results = append(s.entry.results, part)
	}
	var none M
	if rest != none {
		r.addEntry(i, rest)
	}
}

// finish fills what is still open and lists the messages.
func (r *repair[M]) finish() []M {
	var messages []M
	for _, e := range r.inOrder() {
		messages = append(append(messages, e.message), e.results...)
		for n, c := range e.calls {
			if !e.answered[n] {
				r.problem(RuleResult, e.index, c)
				messages = append(messages, message.NewResult[M](c, r.placeholder(c.Name, c.ID)))
			}
		}
	}
	return messages
}

// inOrder is the messages with the system's and the user's in front, if they must be.
func (r *repair[M]) inOrder() []*entry[M] {
	isSystem := func(e *entry[M]) bool { return message.KindOf(e.message) == message.System }
	if r.options.SystemFirst {
		others := false
		for _, e := range r.entries {
			if others = others || !isSystem(e); others && isSystem(e) {
				r.problem(RuleSystemFirst, e.index, message.Call{})
			}
		}
		slices.SortStableFunc(r.entries, func(a, b *entry[M]) int {
			switch {
			case isSystem(a) == isSystem(b):
				return 0
			case isSystem(a):
				return -1
			}
			return 1
		})
	}
	if !r.options.UserFirst {
		return r.entries
	}
	first := slices.IndexFunc(r.entries, func(e *entry[M]) bool { return !isSystem(e) })
	if first < 0 || message.KindOf(r.entries[first].message) == message.User {
		return r.entries
	}
	r.problem(RuleUserFirst, r.entries[first].index, message.Call{})
	user := &entry[M]{message: message.NewUser[M](language.Select(leftOut, leftOutChinese))}
	return slices.Insert(r.entries, first, user)
}
