package validhistory

import (
	"fmt"
	"strings"
)

// Rule names a rule that a valid history keeps.
type Rule string

// The rules.
const (
	// RuleMessage: there are no nil messages.
	RuleMessage Rule = "message is nil"
	// RuleRole: every message has a role.
	RuleRole Rule = "message has no role"
	// RuleContent: every message says something, or calls a tool. Results may be empty.
	RuleContent Rule = "message is empty"
	// RulePart: no part of a message is empty.
	RulePart Rule = "message has an empty part"
	// RuleCallID: the calls of a message have different IDs.
	RuleCallID Rule = "two calls of the message have the same ID"
	// RuleResult: every call has a result.
	RuleResult Rule = "call has no result"
	// RuleCall: every result has a call, which has no other result.
	RuleCall Rule = "result answers no open call"
	// RuleOrder: results come right behind the message that makes the calls.
	RuleOrder Rule = "result is not right behind its call"
	// RuleSystemFirst: see [Options].
	RuleSystemFirst Rule = "system message comes after others"
	// RuleUserFirst: see [Options].
	RuleUserFirst Rule = "conversation does not begin with the user"
)

// Problem is a place where a history breaks a rule.
type Problem struct {
	Rule Rule
	// Index is the message's in the history.
	Index int
	// CallID and ToolName name the call or result, if the rule is about one.
	CallID, ToolName string
}

// String describes the problem.
func (p Problem) String() string {
	if p.CallID == "" && p.ToolName == "" {
		return fmt.Sprintf("message %d: %s", p.Index, p.Rule)
	}
	return fmt.Sprintf("message %d: %s (tool %q, call %q)", p.Index, p.Rule, p.ToolName, p.CallID)
}

// InvalidError says why a history was not sent.
type InvalidError struct{ Problems []Problem }

// Error lists the problems.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return "the history is not valid: " + strings.Join(lines, "; ")
}

// Options are rules that not all providers have.
type Options struct {
	// SystemFirst: system messages come before all others. They are moved there.
	SystemFirst bool
	// UserFirst: the first message that is no system message is the user's. A short one is put there.
	UserFirst bool
}
