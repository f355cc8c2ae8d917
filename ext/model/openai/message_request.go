package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weftgo/weft/schema"
)

// messages returns the conversation as it is sent.
func (c *call) messages(in []*schema.Message) ([]object, error) {
	if len(in) == 0 {
		return nil, errors.New("there are no messages")
	}
	var media []object // of tool results, to be sent behind the last of them
	out := make([]object, 0, len(in)+1)
	for i, m := range in {
		if m == nil {
			return nil, fmt.Errorf("message %d is nil", i)
		}
		if m.Role != schema.Tool && len(media) > 0 {
			out = append(out, object{{"role", "user"}, {"content", media}})
			media = nil
		}
		o, attached, err := c.message(m)
		if err != nil {
			return nil, fmt.Errorf("message %d (role %q): %w", i, m.Role, err)
		}
		o.merge(extraFields(m.Extra))
		out = append(out, o)
		media = append(media, attached...)
	}
	if len(media) > 0 {
		out = append(out, object{{"role", "user"}, {"content", media}})
	}
	return out, nil
}

// message returns one message, and what the API does not allow in it but elsewhere.
func (c *call) message(m *schema.Message) (o object, media []object, err error) {
	switch m.Role {
	case schema.System, schema.User:
		o, err = inputMessage(m)
	case schema.Assistant:
		o, err = c.assistantMessage(m)
	case schema.Tool:
		return c.toolMessage(m)
	default:
		err = errors.New("the role is unknown: use one of the constants of package schema")
	}
	return o, nil, err
}

func inputMessage(m *schema.Message) (object, error) {
	parts, err := inputParts(m)
	if err != nil {
		return nil, err
	}
	o := object{{"role", string(m.Role)}, {"content", m.Content}}
	if len(parts) > 0 {
		if m.Content != "" {
			parts = append([]object{textPart(m.Content)}, parts...)
		}
		o.set("content", parts)
	}
	o.setText("name", m.Name)
	return o, nil
}

func (c *call) assistantMessage(m *schema.Message) (object, error) {
	text, media, err := outputParts(m)
	if err != nil {
		return nil, err
	}
	o := object{{"role", "assistant"}}
	refusal := GetRefusal(m)
	switch {
	case len(media) > 0 && text != "":
		o.set("content", append([]object{textPart(text)}, media...))
	case len(media) > 0:
		o.set("content", media)
	case text != "" || len(m.ToolCalls) == 0 && refusal == "":
		o.set("content", text)
	}
	o.setText("name", m.Name)
	o.setText("refusal", refusal)
	c.replayReasoning(&o, m)
	if len(m.ToolCalls) > 0 {
		o.set("tool_calls", toolCalls(m.ToolCalls))
	}
	return o, nil
}

func toolCalls(calls []schema.ToolCall) []object {
	all := make([]object, len(calls))
	for i, tc := range calls {
		all[i] = object{
			{"id", tc.ID},
			{"type", cmp.Or(tc.Type, "function")},
			{"function", object{
				{"name", tc.Function.Name},
				{"arguments", cmp.Or(tc.Function.Arguments, "{}")}, // some servers parse them
			}},
		}
		if extra, ok := tc.Extra[extraContentKey].(string); ok {
			all[i].set("extra_content", rawJSON(extra))
		}
	}
	return all
}

// toolMessage returns a tool's result. Its media are returned apart unless they may stay.
func (c *call) toolMessage(m *schema.Message) (o object, media []object, err error) {
	if m.ToolCallID == "" {
		return nil, nil, errors.New("ToolCallID is required: set it to the ID of the tool call that this answers")
	}
	parts, err := inputParts(m)
	if err != nil {
		return nil, nil, err
	}
	if m.Content != "" {
		parts = append([]object{textPart(m.Content)}, parts...)
	}
	o = object{{"role", "tool"}, {"tool_call_id", m.ToolCallID}}
	var texts []string
	for _, part := range parts {
		if text, ok := part.text(); ok {
			texts = append(texts, text)
		} else {
			media = append(media, part)
		}
	}
	if len(media) > 0 && c.conf.ToolResultMedia == ToolResultMediaInline {
		o.set("content", parts)
		return o, nil, nil
	}
	if len(media) > 0 {
		media = append([]object{mediaTitle(m)}, media...)
		if len(texts) == 0 {
			texts = append(texts, "See the media in the next user message.")
		}
	}
	o.set("content", strings.Join(texts, "\n"))
	return o, media, nil
}

// mediaTitle makes the text that says to the model where media come from.
func mediaTitle(m *schema.Message) object {
	title := "Media returned by tool call " + m.ToolCallID
	if m.ToolName != "" {
		title += " of " + m.ToolName
	}
	return textPart(title + ":")
}

func rawJSON(text string) any {
	if !json.Valid([]byte(text)) {
		return text
	}
	return json.RawMessage(text)
}
