// Package message is what middlewares read and write in messages, the same for both kinds.
//
// Middlewares that look at the history (patchtoolcalls, reduction, summarization, validhistory, budget, structured) are
// written once with it.
// It must never change a message that it was given: every change is made on a copy.
package message

import (
	"errors"
	"maps"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// Kind is the place of a message in a conversation.
type Kind uint8

// The kinds of messages. A result is a message with the results of tool calls, whatever its role is called.
const (
	Other Kind = iota
	System
	User
	Assistant
	Result
)

// KindOf returns the kind of a message; a nil message is Other.
func KindOf[M adk.MessageType](m M) Kind {
	switch m := any(m).(type) {
	case *schema.Message:
		return chatKind(m)
	case *schema.AgenticMessage:
		return agenticKind(m)
	}
	return Other
}

func chatKind(m *schema.Message) Kind {
	if m == nil {
		return Other
	}
	switch m.Role {
	case schema.System:
		return System
	case schema.User:
		return User
	case schema.Assistant:
		return Assistant
	case schema.Tool:
		return Result
	}
	return Other
}

func agenticKind(m *schema.AgenticMessage) Kind {
	if m == nil {
		return Other
	}
	switch m.Role {
	case schema.AgenticRoleTypeSystem:
		return System
	case schema.AgenticRoleTypeAssistant:
		return Assistant
	case schema.AgenticRoleTypeUser:
		for _, b := range m.ContentBlocks {
			if _, ok := resultOf(b); ok {
				return Result
			}
		}
		return User
	}
	return Other
}

// Call is a call of a tool, or what a result says about the call that it answers.
type Call struct{ ID, Name, Arguments string }

// AppendCalls appends the calls of function tools that an assistant message makes, in order.
func AppendCalls[M adk.MessageType](calls []Call, m M) []Call {
	switch m := any(m).(type) {
	case *schema.Message:
		if m == nil || m.Role != schema.Assistant {
			return calls
		}
		for i := range m.ToolCalls {
			c := &m.ToolCalls[i]
			calls = append(calls, Call{c.ID, c.Function.Name, c.Function.Arguments})
		}
	case *schema.AgenticMessage:
		if m == nil || m.Role != schema.AgenticRoleTypeAssistant {
			return calls
		}
		for _, b := range m.ContentBlocks {
			if b != nil && b.FunctionToolCall != nil {
				calls = append(calls, Call{b.FunctionToolCall.CallID, b.FunctionToolCall.Name, b.FunctionToolCall.Arguments})
			}
		}
	}
	return calls
}

// Calls are the calls of a message. See [AppendCalls].
func Calls[M adk.MessageType](m M) []Call { return AppendCalls(nil, m) }

// CountCalls is the number of calls that a message makes.
func CountCalls[M adk.MessageType](m M) (n int) {
	switch m := any(m).(type) {
	case *schema.Message:
		if m != nil && m.Role == schema.Assistant {
			return len(m.ToolCalls)
		}
	case *schema.AgenticMessage:
		if m == nil || m.Role != schema.AgenticRoleTypeAssistant {
			return 0
		}
		for _, b := range m.ContentBlocks {
			if b != nil && b.FunctionToolCall != nil {
				n++
			}
		}
	}
	return n
}

// AppendResults appends the calls that a message answers, without their arguments.
func AppendResults[M adk.MessageType](results []Call, m M) []Call {
	switch m := any(m).(type) {
	case *schema.Message:
		if m != nil && m.Role == schema.Tool {
			results = append(results, Call{ID: m.ToolCallID, Name: m.ToolName})
		}
	case *schema.AgenticMessage:
		if m == nil || m.Role != schema.AgenticRoleTypeUser {
			return results
		}
		for _, b := range m.ContentBlocks {
			if c, ok := resultOf(b); ok {
				results = append(results, c)
			}
		}
	}
	return results
}

// Results are the calls that a message answers. See [AppendResults].
func Results[M adk.MessageType](m M) []Call { return AppendResults(nil, m) }

func resultOf(b *schema.ContentBlock) (Call, bool) {
	switch {
	case b == nil:
	case b.FunctionToolResult != nil:
		return Call{ID: b.FunctionToolResult.CallID, Name: b.FunctionToolResult.Name}, true
	case b.ToolSearchFunctionToolResult != nil:
		return Call{ID: b.ToolSearchFunctionToolResult.CallID, Name: b.ToolSearchFunctionToolResult.Name}, true
	}
	return Call{}, false
}

// Extra returns the Extra of a message.
func Extra[M adk.MessageType](m M) map[string]any {
	switch m := any(m).(type) {
	case *schema.Message:
		if m != nil {
			return m.Extra
		}
	case *schema.AgenticMessage:
		if m != nil {
			return m.Extra
		}
	}
	return nil
}

// WithExtra is a copy of a message with one more entry in Extra.
func WithExtra[M adk.MessageType](m M, key string, value any) M {
	extra := maps.Clone(Extra(m))
	if extra == nil {
		extra = make(map[string]any, 1)
	}
	extra[key] = value
	switch m := any(m).(type) {
	case *schema.Message:
		changed := *m
		changed.Extra = extra
		return any(&changed).(M)
	case *schema.AgenticMessage:
		changed := *m
		changed.Extra = extra
		return any(&changed).(M)
	}
	return m
}

// NewSystem makes a message of the author of the application.
func NewSystem[M adk.MessageType](text string) M {
	return of[M](
		func() *schema.Message { return schema.SystemMessage(text) },
		func() *schema.AgenticMessage { return schema.SystemAgenticMessage(text) })
}

// NewUser makes a message of the user.
func NewUser[M adk.MessageType](text string) M {
	return of[M](
		func() *schema.Message { return schema.UserMessage(text) },
		func() *schema.AgenticMessage { return schema.UserAgenticMessage(text) })
}

// NewResult makes the message with the result of a call.
func NewResult[M adk.MessageType](call Call, text string) M {
	return of[M](
		func() *schema.Message { return schema.ToolMessage(text, call.ID, schema.WithToolName(call.Name)) },
		func() *schema.AgenticMessage {
			return schema.FunctionToolResultAgenticMessage(call.ID, call.Name, text)
		})
}

// NewToolResult makes the message with a result that may have other parts than text. A result that cannot be sent to a
// model is an error.
func NewToolResult[M adk.MessageType](call Call, result *schema.ToolResult) (m M, err error) {
	switch {
	case result == nil || len(result.Parts) == 0:
		return NewResult[M](call, ""), nil
	case len(result.Parts) == 1 && result.Parts[0].Type == schema.ToolPartTypeText:
		return NewResult[M](call, result.Parts[0].Text), nil // services refuse a message with content and parts
	}
	parts, err := result.ToMessageInputParts()
	if err != nil {
		return m, err
	}
	for i := range parts {
		if parts[i].Type == schema.ChatMessagePartTypeToolSearchResult && len(parts) > 1 {
			return m, errors.New("the result of a search for tools has other parts beside it")
		}
	}
	chat := schema.ToolMessage("", call.ID, schema.WithToolName(call.Name))
	chat.UserInputMultiContent = parts
	return of[M](func() *schema.Message { return chat },
		func() *schema.AgenticMessage { return compose.AgenticToolMessage(chat) }), nil
}

// of makes a message of the kind that M is.
func of[M adk.MessageType](chat func() *schema.Message, agentic func() *schema.AgenticMessage) M {
	var none M
	if _, ordinary := any(none).(*schema.Message); ordinary {
		return any(chat()).(M)
	}
	return any(agentic()).(M)
}

// Text returns the text of a message: the texts of its parts joined by newlines, without any its content.
func Text[M adk.MessageType](m M) string {
	var texts []string
	add := func(text string) {
		if text != "" {
			texts = append(texts, text)
		}
	}
	switch m := any(m).(type) {
	case *schema.Message:
		if m == nil {
			return ""
		}
		for i := range m.AssistantGenMultiContent {
			if p := &m.AssistantGenMultiContent[i]; p.Type == schema.ChatMessagePartTypeText {
				add(p.Text)
			}
		}
		for i := range m.UserInputMultiContent {
			if p := &m.UserInputMultiContent[i]; p.Type == schema.ChatMessagePartTypeText {
				add(p.Text)
			}
		}
		//lint:ignore SA1019 stored messages still have it
		for i := range m.MultiContent {
			//lint:ignore SA1019 as above
			if p := &m.MultiContent[i]; p.Type == schema.ChatMessagePartTypeText {
				add(p.Text)
			}
		}
		if len(texts) == 0 {
			return m.Content
		}
	case *schema.AgenticMessage:
		if m == nil {
			return ""
		}
		for _, b := range m.ContentBlocks {
			switch {
			case b == nil:
			case b.AssistantGenText != nil:
				add(b.AssistantGenText.Text)
			case b.UserInputText != nil:
				add(b.UserInputText.Text)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// ResultText is the text of the result of a call in a message, and whether the message answers the call.
func ResultText[M adk.MessageType](m M, callID string) (string, bool) {
	switch m := any(m).(type) {
	case *schema.Message:
		if m != nil && m.Role == schema.Tool && m.ToolCallID == callID {
			return Text(m), true
		}
	case *schema.AgenticMessage:
		if m == nil {
			return "", false
		}
		for _, b := range m.ContentBlocks {
			if b == nil || b.FunctionToolResult == nil || b.FunctionToolResult.CallID != callID {
				continue
			}
			var texts []string
			for _, c := range b.FunctionToolResult.Content {
				if c != nil && c.Text != nil {
					texts = append(texts, c.Text.Text)
				}
			}
			return strings.Join(texts, "\n"), true
		}
	}
	return "", false
}

// Usage returns the provider's report about the tokens of an answer, nil without one.
func Usage[M adk.MessageType](m M) *schema.TokenUsage {
	switch m := any(m).(type) {
	case *schema.Message:
		if m != nil && m.ResponseMeta != nil {
			return m.ResponseMeta.Usage
		}
	case *schema.AgenticMessage:
		if m != nil && m.ResponseMeta != nil {
			return m.ResponseMeta.TokenUsage
		}
	}
	return nil
}

// Served returns the service and the model of an answer, as far as the provider reported them.
func Served[M adk.MessageType](m M) (provider, model string) {
	switch m := any(m).(type) {
	case *schema.Message:
		if m != nil && m.ResponseMeta != nil {
			return m.ResponseMeta.Provider, m.ResponseMeta.Model
		}
	case *schema.AgenticMessage:
		if m != nil && m.ResponseMeta != nil {
			return m.ResponseMeta.Provider, m.ResponseMeta.Model
		}
	}
	return "", ""
}
