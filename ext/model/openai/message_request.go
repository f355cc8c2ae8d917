package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// messages returns the conversation as it is sent.
func (c *call) messages(in []*schema.Message) ([]object, error) {
	if err := kit.CheckHistory(in); err != nil {
		return nil, err
	}
	filter := kit.Filter{Kinship: c.kinship, Thinking: c.conf.ForeignThinking, Opaque: opaqueKeys}
	w := conversation{call: c, ids: kit.NewCallIDs(c.profile.ToolCallID.rule()), out: make([]object, 0, len(in)+1)}
	for i, m := range filter.Messages(in) {
		if err := w.add(m, in[i]); err != nil {
			return nil, fmt.Errorf("message %d (role %q): %w", i, m.Role, err)
		}
	}
	if err := w.flushMedia(); err != nil {
		return nil, &kit.HistoryError{Index: len(in) - 1, Reason: err.Error()}
	}
	return w.out, nil
}

// kinship says what of an answer the server understands: all of its own, and of others what every server does.
func (c *call) kinship(from kit.Origin) kit.Kinship {
	if from == c.engine.origin {
		return kit.Own
	}
	return kit.Foreign
}

// A conversation is the messages of a request that is being written.
type conversation struct {
	call  *call
	ids   *kit.CallIDs
	out   []object
	media []object // of tool results, to be sent behind the last of them
	begun bool     // there was a message that is no instruction
}

// add writes a message. original has what other servers attached to it, too.
func (w *conversation) add(m, original *schema.Message) error {
	if m.Role != schema.Tool {
		if err := w.flushMedia(); err != nil {
			return err
		}
	}
	o, attached, err := w.message(m, original)
	if err != nil {
		return err
	}
	o.Merge(extraFields(m.Extra))
	w.begun = w.begun || m.Role != schema.System
	w.media = append(w.media, attached...)
	return w.put(o)
}

func (w *conversation) flushMedia() error {
	media := w.media
	w.media = nil
	if len(media) == 0 {
		return nil
	}
	return w.put(kit.ObjectOf("role", "user", "content", media))
}

// put appends a message, or adds it to the one before where the server wants that.
func (w *conversation) put(o object) error {
	if len(w.out) > 0 {
		last := w.out[len(w.out)-1]
		from, to := last.Get("role"), o.Get("role")
		if w.call.profile.NoUserAfterTool && from == "tool" && to == "user" {
			w.out = append(w.out, kit.ObjectOf("role", "assistant", "content", "OK"))
		}
		if w.call.profile.MergeSameRole && from == to && to == "user" {
			w.out[len(w.out)-1].Set("content", append(contentParts(last), contentParts(o)...))
			return nil
		}
	}
	w.out = append(w.out, o)
	return nil
}

// contentParts returns the content of a message as parts.
func contentParts(o object) []object {
	switch content := o.Get("content").(type) {
	case []object:
		return content
	case string:
		return []object{textPart(content)}
	}
	return nil
}

// message returns one message, and what the API does not allow in it but elsewhere.
func (w *conversation) message(m, original *schema.Message) (o object, media []object, err error) {
	switch m.Role {
	case schema.Assistant:
		o, err = w.assistantMessage(m, original)
	case schema.Tool:
		return w.toolMessage(m)
	default:
		o, err = w.inputMessage(m)
	}
	return o, nil, err
}

func (w *conversation) inputMessage(m *schema.Message) (object, error) {
	parts, err := inputParts(m)
	if err != nil {
		return nil, err
	}
	o := kit.ObjectOf("role", w.role(m), "content", m.Content)
	if len(parts) > 0 && (len(parts) > 1 || m.Content == "") {
		o.Set("content", parts)
	}
	o.SetText("name", m.Name)
	return o, nil
}

// role returns the word for who says a message.
func (w *conversation) role(m *schema.Message) string {
	profile := w.call.profile
	switch {
	case m.Role != schema.System:
	case profile.SystemFirstOnly && w.begun:
		return string(schema.User)
	case profile.DeveloperRole && isReasoningModel(*w.call.common.Model):
		return "developer"
	}
	return string(m.Role)
}

func (w *conversation) assistantMessage(m, original *schema.Message) (object, error) {
	text, media, err := outputParts(m)
	if err != nil {
		return nil, err
	}
	o := kit.ObjectOf("role", "assistant")
	refusal := GetRefusal(m)
	switch {
	case len(media) == 0 && text == "" && len(m.ToolCalls) > 0:
		w.call.profile.EmptyContent.set(&o)
	case len(media) > 0 && text != "":
		o.Set("content", append([]object{textPart(text)}, media...))
	case len(media) > 0:
		o.Set("content", media)
	case text != "" || len(m.ToolCalls) == 0 && refusal == "":
		o.Set("content", text)
	}
	o.SetText("name", m.Name)
	o.SetText("refusal", refusal)
	w.call.replayReasoning(&o, m, original)
	if len(m.ToolCalls) > 0 {
		o.Set("tool_calls", w.toolCalls(m.ToolCalls))
	}
	return o, nil
}

func (w *conversation) toolCalls(calls []schema.ToolCall) []object {
	all := make([]object, len(calls))
	for i, tc := range calls {
		all[i] = kit.ObjectOf(
			"id", w.ids.Call(tc.ID),
			"type", cmp.Or(tc.Type, "function"),
			"function", kit.ObjectOf(
				"name", tc.Function.Name,
				"arguments", kit.ArgumentsText(tc.Function.Arguments, !w.call.profile.InvalidArguments),
			),
		)
		if extra, ok := tc.Extra[extraContentKey].(string); ok {
			all[i].Set("extra_content", rawJSON(extra))
		}
	}
	return all
}

// toolMessage returns a tool's result. Its media are returned apart unless they may stay.
func (w *conversation) toolMessage(m *schema.Message) (o object, media []object, err error) {
	parts, err := inputParts(m)
	if err != nil {
		return nil, nil, err
	}
	o = kit.ObjectOf("role", "tool", "tool_call_id", w.ids.Result(m.ToolCallID))
	var texts []string
	for _, part := range parts {
		if text, ok := partText(part); ok {
			texts = append(texts, text)
		} else {
			media = append(media, part)
		}
	}
	if len(media) > 0 && w.call.conf.ToolResultMedia == ToolResultMediaInline {
		o.Set("content", parts)
		return o, nil, nil
	}
	if len(media) > 0 {
		media = append([]object{mediaTitle(m)}, media...)
		if len(texts) == 0 {
			texts = append(texts, "See the media in the next user message.")
		}
	}
	o.Set("content", strings.Join(texts, "\n"))
	return o, media, nil
}

// set sets the content of an answer that has none.
func (e EmptyContent) set(o *object) {
	switch e {
	case EmptyContentNull:
		o.Set("content", json.RawMessage("null"))
	case EmptyContentText:
		o.Set("content", "")
	case EmptyContentSpace:
		o.Set("content", " ")
	}
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
