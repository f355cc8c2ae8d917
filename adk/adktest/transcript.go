package adktest

import (
	"fmt"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// ToolCall is one call of a tool, as a model makes it and as a tool sees it.
type ToolCall struct{ ID, Name, Arguments string }

// Call is a tool call for [Calls]. The model numbers the calls of its script: call_1, call_2, …
func Call(name, arguments string) ToolCall { return ToolCall{Name: name, Arguments: arguments} }

// WithID is the call with an ID of its own.
func (c ToolCall) WithID(id string) ToolCall {
	c.ID = id
	return c
}

// String is the call as a transcript shows it.
func (c ToolCall) String() string { return fmt.Sprintf("[%s#%s %s]", c.Name, c.ID, c.Arguments) }

// Line is a message as a line of a transcript:
//
//	system: Be brief.
//	user: Do I need an umbrella?
//	assistant: Let me see. [weather#call_1 {"city":"Lisbon"}]
//	tool weather#call_1: sunny
//
// Both kinds of message give the same line. Parts that are no text show as their type: user: look at <image_url>.
// Reasoning and what providers attach are left out.
func Line[M adk.MessageType](m M) string { return partsOf(m).line() }

// Lines are the lines of messages.
func Lines[M adk.MessageType](messages []M) []string {
	lines := make([]string, len(messages))
	for i, m := range messages {
		lines[i] = Line(m)
	}
	return lines
}

// parts holds what both kinds of message have.
type parts struct {
	role   string
	text   string
	calls  []ToolCall
	result *ToolCall // of which call the text is the result
}

func (p parts) line() string {
	if p.result != nil {
		return fmt.Sprintf("tool %s#%s: %s", p.result.Name, p.result.ID, p.text)
	}
	words := []string{p.role + ":"}
	if p.text != "" {
		words = append(words, p.text)
	}
	for _, c := range p.calls {
		words = append(words, c.String())
	}
	return strings.Join(words, " ")
}

func partsOf[M adk.MessageType](m M) parts {
	switch m := any(m).(type) {
	case *schema.Message:
		if m != nil {
			return chatParts(m)
		}
	case *schema.AgenticMessage:
		if m != nil {
			return agenticParts(m)
		}
	}
	return parts{role: "nil"}
}

func chatParts(m *schema.Message) parts {
	p := parts{role: string(m.Role), text: m.Content}
	for _, part := range m.UserInputMultiContent {
		p.text += shown(string(part.Type), part.Text)
	}
	for _, part := range m.AssistantGenMultiContent {
		p.text += shown(string(part.Type), part.Text)
	}
	for _, c := range m.ToolCalls {
		p.calls = append(p.calls, ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	if m.Role == schema.Tool {
		p.result = &ToolCall{ID: m.ToolCallID, Name: m.ToolName}
	}
	return p
}

func agenticParts(m *schema.AgenticMessage) parts {
	p := parts{role: string(m.Role)}
	for _, b := range m.ContentBlocks {
		switch {
		case b == nil || b.Reasoning != nil:
		case b.UserInputText != nil:
			p.text += b.UserInputText.Text
		case b.AssistantGenText != nil:
			p.text += b.AssistantGenText.Text
		case b.FunctionToolCall != nil:
			c := b.FunctionToolCall
			p.calls = append(p.calls, ToolCall{ID: c.CallID, Name: c.Name, Arguments: c.Arguments})
		case b.FunctionToolResult != nil:
			p.result = &ToolCall{ID: b.FunctionToolResult.CallID, Name: b.FunctionToolResult.Name}
			for _, c := range b.FunctionToolResult.Content {
				if c != nil && c.Text != nil {
					p.text += c.Text.Text
				} else if c != nil {
					p.text += shown(string(c.Type), "")
				}
			}
		default:
			p.text += shown(string(b.Type), "")
		}
	}
	return p
}

// shown is a part of a message: its text, or else its type.
func shown(kind, text string) string {
	if text != "" {
		return text
	}
	return "<" + kind + ">"
}

// answer makes a message of a model. A chunk of a stream of agentic messages says which blocks it has: the text is
// block 0, and firstCall is the number of its first call.
func answer[M adk.MessageType](text string, calls []ToolCall, chunk bool, firstCall int) M {
	var m any
	if _, ordinary := any(*new(M)).(*schema.Message); ordinary {
		m = chatAnswer(text, calls)
	} else {
		m = agenticAnswer(text, calls, chunk, firstCall)
	}
	return m.(M)
}

func chatAnswer(text string, calls []ToolCall) *schema.Message {
	m := schema.AssistantMessage(text, nil)
	for _, c := range calls {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{
			ID: c.ID, Type: "function", Function: schema.FunctionCall{Name: c.Name, Arguments: c.Arguments}})
	}
	return m
}

func agenticAnswer(text string, calls []ToolCall, chunk bool, firstCall int) *schema.AgenticMessage {
	m := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}
	add := func(b *schema.ContentBlock, index int) {
		if chunk {
			b.StreamingMeta = &schema.StreamingMeta{Index: index}
		}
		m.ContentBlocks = append(m.ContentBlocks, b)
	}
	if text != "" || len(calls) == 0 {
		add(schema.NewContentBlock(&schema.AssistantGenText{Text: text}), 0)
	}
	for i, c := range calls {
		add(schema.NewContentBlock(&schema.FunctionToolCall{CallID: c.ID, Name: c.Name, Arguments: c.Arguments}), firstCall+i)
	}
	return m
}

// join makes one message of chunks.
func join[M adk.MessageType](chunks []M) (whole M, err error) {
	var m any
	switch chunks := any(chunks).(type) {
	case []*schema.Message:
		m, err = schema.ConcatMessages(chunks)
	case []*schema.AgenticMessage:
		m, err = schema.ConcatAgenticMessages(chunks)
	}
	if err != nil {
		return whole, err
	}
	return m.(M), nil
}
