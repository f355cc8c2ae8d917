package kit

import (
	"fmt"

	"github.com/weftgo/weft/schema"
)

// HistoryError is a conversation that no provider would accept. It is found before anything is sent.
type HistoryError struct {
	// Index is the message that is wrong.
	Index int
	// Reason says what is wrong with it, and what to do.
	Reason string
}

// Error implements error.
func (e *HistoryError) Error() string { return fmt.Sprintf("message %d: %s", e.Index, e.Reason) }

// Is reports whether target is [ErrInvalid].
func (e *HistoryError) Is(target error) bool { return target == ErrInvalid }

// CheckHistory returns a [HistoryError] for an empty conversation, nil messages, unknown roles, tool results without
// their calls, and calls without results before the conversation continues.
func CheckHistory[M Message](in []M) error {
	if len(in) == 0 {
		return &HistoryError{Index: 0, Reason: "the conversation has no messages: give at least one"}
	}
	var check historyCheck
	for i, m := range in {
		var reason string
		switch m := any(m).(type) {
		case *schema.Message:
			reason = check.message(m)
		case *schema.AgenticMessage:
			reason = check.blocks(m)
		}
		if reason != "" {
			return &HistoryError{Index: i, Reason: reason}
		}
	}
	if reason := check.unanswered(); reason != "" {
		return &HistoryError{Index: len(in) - 1, Reason: reason}
	}
	return nil
}

// A historyCheck follows a conversation.
type historyCheck struct {
	open []schema.ToolCall // calls without a result, in their order
}

const nilMessage = "it is nil"

func (c *historyCheck) message(m *schema.Message) string {
	if m == nil {
		return nilMessage
	}
	switch m.Role {
	case schema.Tool:
		if m.ToolCallID == "" {
			return "ToolCallID is required: set it to the ID of the tool call that this answers"
		}
		return c.result(m.ToolCallID)
	case schema.Assistant:
		if reason := c.unanswered(); reason != "" {
			return reason
		}
		for _, call := range m.ToolCalls {
			if reason := c.call(call.ID, call.Function.Name); reason != "" {
				return reason
			}
		}
		return ""
	case schema.System, schema.User:
		return c.unanswered()
	}
	return fmt.Sprintf("the role %q is unknown: use one of the constants of package schema", m.Role)
}

func (c *historyCheck) blocks(m *schema.AgenticMessage) string {
	if m == nil {
		return nilMessage
	}
	switch m.Role {
	case schema.AgenticRoleTypeSystem, schema.AgenticRoleTypeUser, schema.AgenticRoleTypeAssistant:
	default:
		return fmt.Sprintf("the role %q is unknown: use one of the constants of package schema", m.Role)
	}
	if m.Role == schema.AgenticRoleTypeAssistant {
		if reason := c.unanswered(); reason != "" {
			return reason
		}
	}
	hasResults, hasMore := false, false
	for _, b := range m.ContentBlocks {
		reason := ""
		switch {
		case b == nil:
		case b.FunctionToolCall != nil:
			reason = c.call(b.FunctionToolCall.CallID, b.FunctionToolCall.Name)
		case b.FunctionToolResult != nil:
			hasResults = true
			reason = c.result(b.FunctionToolResult.CallID)
		case b.ToolSearchFunctionToolResult != nil:
			hasResults = true
			reason = c.result(b.ToolSearchFunctionToolResult.CallID)
		default:
			hasMore = true
		}
		if reason != "" {
			return reason
		}
	}
	if m.Role != schema.AgenticRoleTypeAssistant && (hasMore || !hasResults) {
		return c.unanswered()
	}
	return ""
}

func (c *historyCheck) call(id, name string) string {
	if id == "" {
		return fmt.Sprintf("the call of tool %q has no ID: set one, as its result refers to it", name)
	}
	c.open = append(c.open, schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: name}})
	return ""
}

func (c *historyCheck) result(id string) string {
	for i, call := range c.open {
		if call.ID == id {
			c.open = append(c.open[:i:i], c.open[i+1:]...)
			return ""
		}
	}
	return fmt.Sprintf("it is the result of tool call %q, which is not in the answer before it, or has a result already", id)
}

func (c *historyCheck) unanswered() string {
	if len(c.open) == 0 {
		return ""
	}
	call := c.open[0]
	return fmt.Sprintf("tool call %q of tool %q has no result before the conversation continues: add a tool message for it",
		call.ID, call.Function.Name)
}
