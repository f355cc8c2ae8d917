package validhistory

import (
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
)

// Check returns what is wrong with a history, in the order of the messages; nothing if it is valid.
func Check[M adk.MessageType](messages []M, o Options) []Problem {
	if sound(messages, o) {
		return nil
	}
	_, problems := Repair(messages, o, nil)
	return problems
}

// sound reports whether a history is valid. It says the same as Check, and is quick about it.
func sound[M adk.MessageType](messages []M, o Options) bool {
	var room [2][few]message.Call
	calls, results := room[0][:0], room[1][:0]
	talked, others := false, false // something else than system messages was there
	for i := 0; i < len(messages); {
		m := messages[i]
		var none M
		if m == none || !hasRole(m) || hasEmptyParts(m) || isEmpty(m) {
			return false
		}
		i++
		switch kind := message.KindOf(m); kind {
		case message.Result:
			return false
		case message.System:
			if others && o.SystemFirst {
				return false
			}
			continue
		default:
			if !talked && o.UserFirst && kind != message.User {
				return false
			}
			talked, others = true, true
		}
		if calls = message.AppendCalls(calls[:0], m); len(calls) == 0 {
			continue
		}
		for results = results[:0]; i < len(messages) && message.KindOf(messages[i]) == message.Result; i++ {
			if hasEmptyParts(messages[i]) {
				return false
			}
			results = message.AppendResults(results, messages[i])
		}
		if !paired(calls, results) {
			return false
		}
	}
	return true
}

// few is up to how many calls it is cheaper to look through all of them than to sort.
const few = 8

// paired reports whether there is one result for each call, and the calls have different IDs. It may reorder both.
func paired(calls, results []message.Call) bool {
	if len(calls) != len(results) {
		return false
	}
	if len(calls) > few {
		byID := func(a, b message.Call) int {
			if a.ID < b.ID {
				return -1
			} else if a.ID > b.ID {
				return 1
			}
			return 0
		}
		slices.SortFunc(calls, byID)
		slices.SortFunc(results, byID)
		for i := range calls {
			if calls[i].ID != results[i].ID || i > 0 && calls[i].ID == calls[i-1].ID {
				return false
			}
		}
		return true
	}
	for i, c := range calls {
		if slices.ContainsFunc(calls[:i], func(o message.Call) bool { return o.ID == c.ID }) ||
			!slices.ContainsFunc(results, func(r message.Call) bool { return r.ID == c.ID }) {
			return false
		}
	}
	return true
}
