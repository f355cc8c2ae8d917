package patchtoolcalls

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/schema"
)

// InvalidError says what is wrong with a history that [Config].Strict refused.
type InvalidError struct{ Problems []string }

// Error lists the problems.
func (e *InvalidError) Error() string {
	return "patchtoolcalls: the history is not valid: " + strings.Join(e.Problems, "; ")
}

// fault says what is wrong with a result.
type fault uint8

const (
	sound fault = iota
	orphan
	duplicate
)

// round is the calls of the last message that made some, by ID, and whether they are answered. It is nil when no result
// may come.
type round map[string]bool

// next takes a message in and calls judge for each result in it.
func (r round) next(calls []message.Call, kind message.Kind, results []message.Call,
	judge func(message.Call, fault),
) round {
	if kind != message.Result {
		r = nil
	}
	for _, result := range results {
		answered, open := r[result.ID]
		switch {
		case !open:
			judge(result, orphan)
		case answered:
			judge(result, duplicate)
		default:
			r[result.ID] = true
			judge(result, sound)
		}
	}
	if len(calls) > 0 {
		r = make(round, len(calls))
		for _, call := range calls {
			r[call.ID] = false
		}
	}
	return r
}

// check returns what is wrong with the calls and results of a history.
func check[M adk.MessageType](messages []M) error {
	var problems []string
	var open round
	var scan scan[M]
	for i, m := range messages {
		open = open.next(message.Calls(m), message.KindOf(m), message.Results(m), func(result message.Call, f fault) {
			what := ""
			switch f {
			case sound:
				return
			case orphan:
				what = "answers no call"
			case duplicate:
				what = "is the second one of its call"
			}
			problems = append(problems,
				fmt.Sprintf("message %d: the result of call %q of tool %q %s", i, result.ID, result.Name, what))
		})
		for _, call := range scan.unanswered(messages, i) {
			problems = append(problems, fmt.Sprintf("message %d: call %q of tool %q has no result", i, call.ID, call.Name))
		}
	}
	if len(problems) > 0 {
		return &InvalidError{problems}
	}
	return nil
}

// removeResults leaves results out, in changed copies. A history without any to leave out comes back itself.
func removeResults[M adk.MessageType](messages []M, conf *Config) []M {
	var kept []M // nil while nothing was left out
	var open round
	for i, m := range messages {
		var drop []bool // of the results in the message
		open = open.next(message.Calls(m), message.KindOf(m), message.Results(m), func(_ message.Call, f fault) {
			drop = append(drop, f == orphan && conf.RemoveOrphanResults || f == duplicate && conf.RemoveDuplicateResults)
		})
		if !slices.Contains(drop, true) {
			if kept != nil {
				kept = append(kept, m)
			}
			continue
		}
		if kept == nil {
			kept = append(make([]M, 0, len(messages)), messages[:i]...)
		}
		if rest, ok := withoutResults(m, drop); ok {
			kept = append(kept, rest)
		}
	}
	if kept == nil {
		return messages
	}
	return kept
}

// withoutResults is a copy of a message without some of its results; ok is false if nothing is left of it.
func withoutResults[M adk.MessageType](m M, drop []bool) (rest M, ok bool) {
	agentic, isAgentic := any(m).(*schema.AgenticMessage)
	if !isAgentic {
		return rest, false // an ordinary message is one result
	}
	changed := *agentic
	changed.ContentBlocks = nil
	next := 0
	for _, b := range agentic.ContentBlocks {
		if b != nil && (b.FunctionToolResult != nil || b.ToolSearchFunctionToolResult != nil) {
			if next++; drop[next-1] {
				continue
			}
		}
		changed.ContentBlocks = append(changed.ContentBlocks, b)
	}
	return any(&changed).(M), len(changed.ContentBlocks) > 0
}
