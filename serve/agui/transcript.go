package agui

import (
	"encoding/json"
	"slices"
)

// maxTranscript is the number of bytes of messages that a transcript has at most: the messages that the client sent, and
// those since.
const maxTranscript = 256 << 10

// transcript are the messages that a client shows: those that it sent, and what became of the events since. It is what
// MESSAGES_SNAPSHOT shows, whose messages take the place of all that the client has.
type transcript struct {
	// size is the number of bytes that there are. Beyond maxTranscript there is no transcript any more.
	size  int
	given []json.RawMessage
	since []*pageMessage
}

// pageMessage is a message as a client folds it from events.
type pageMessage struct {
	ID         string     `json:"id"`
	Role       string     `json:"role"`
	Content    any        `json:"content,omitempty"`
	ToolCalls  []wireCall `json:"toolCalls,omitempty"`
	ToolCallID string     `json:"toolCallId,omitempty"`
	Subagent   string     `json:"subagentRunId,omitempty"`
	text       []byte
}

// newTranscript makes the transcript of a client that has sent a body, nil if that is too long.
func newTranscript(body []byte) *transcript {
	if len(body) > maxTranscript {
		return nil
	}
	var sent struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(body, &sent) != nil {
		return nil
	}
	return &transcript{size: len(body), given: sent.Messages}
}

// add takes an event that is sent to the client.
func (p *transcript) add(e *event) {
	if p.size > maxTranscript {
		return
	}
	switch e.Type {
	case "TEXT_MESSAGE_START":
		p.since = append(p.since, &pageMessage{ID: e.MessageID, Role: "assistant", Subagent: e.SubagentRunID})
	case "REASONING_MESSAGE_START":
		p.since = append(p.since, &pageMessage{ID: e.MessageID, Role: "reasoning", Subagent: e.SubagentRunID})
	case "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT":
		if m := p.message(e.MessageID); m != nil {
			text, _ := e.Delta.(string)
			m.text = append(m.text, text...)
			p.size += len(text)
		}
	case "TOOL_CALL_START":
		m := p.message(e.ParentMessageID)
		if m == nil {
			m = &pageMessage{ID: e.ParentMessageID, Role: "assistant", Subagent: e.SubagentRunID}
			p.since = append(p.since, m)
		}
		c := wireCall{ID: e.ToolCallID, Type: "function"}
		c.Function.Name = e.ToolCallName
		m.ToolCalls = append(m.ToolCalls, c)
	case "TOOL_CALL_ARGS":
		text, _ := e.Delta.(string)
		p.size += len(text)
		p.addArguments(e.ToolCallID, text)
	case "TOOL_CALL_RESULT":
		data, _ := json.Marshal(e.Content)
		p.size += len(data)
		p.since = append(p.since, &pageMessage{ID: e.MessageID, Role: "tool", Content: json.RawMessage(data),
			ToolCallID: e.ToolCallID, Subagent: e.SubagentRunID})
	}
}

func (p *transcript) message(id string) *pageMessage {
	if at := slices.IndexFunc(p.since, func(m *pageMessage) bool { return m.ID == id }); at >= 0 {
		return p.since[at]
	}
	return nil
}

func (p *transcript) addArguments(call, text string) {
	for _, m := range p.since {
		for i := range m.ToolCalls {
			if m.ToolCalls[i].ID == call {
				m.ToolCalls[i].Function.Arguments += text
			}
		}
	}
}

// drop leaves a message out, with the calls in it.
func (p *transcript) drop(id string) {
	p.since = slices.DeleteFunc(p.since, func(m *pageMessage) bool { return m.ID == id })
	p.given = slices.DeleteFunc(p.given, func(sent json.RawMessage) bool {
		var m struct {
			ID string `json:"id"`
		}
		return json.Unmarshal(sent, &m) == nil && m.ID == id
	})
}

// messages are all of them, nil if they are too long. Those without content and calls are left out.
func (p *transcript) messages() []json.RawMessage {
	if p.size > maxTranscript {
		return nil
	}
	all := slices.Clone(p.given)
	for _, m := range p.since {
		if m.Role != "tool" && (len(m.text) > 0 || len(m.ToolCalls) == 0) {
			m.Content = string(m.text)
		}
		if data, err := json.Marshal(m); err == nil {
			all = append(all, data)
		}
	}
	return all
}

// takeBack has a client that asks again for a part of the run show only what was before that: what it shows already of it,
// perhaps not whole, comes once more.
func (t *translator) takeBack() {
	if !t.again || t.page == nil {
		return
	}
	t.again = false
	for _, call := range t.page.keep(func(id string) bool { return t.seen[id] || !isOf(t.run, id) }) {
		delete(t.has, call)
	}
	if all := t.page.messages(); len(all) > 0 {
		t.send(event{Type: "MESSAGES_SNAPSHOT", Messages: all})
	}
}

// keep leaves out the messages that the client has sent and is not to keep, and returns the calls whose results are among
// them.
func (p *transcript) keep(keeps func(id string) bool) (calls []string) {
	p.given = slices.DeleteFunc(p.given, func(sent json.RawMessage) bool {
		var m struct {
			ID         string `json:"id"`
			ToolCallID string `json:"toolCallId"`
		}
		if json.Unmarshal(sent, &m) != nil || keeps(m.ID) {
			return false
		}
		if m.ToolCallID != "" {
			calls = append(calls, m.ToolCallID)
		}
		return true
	})
	return calls
}

// emit sends an event, and notes what the client makes of it.
func (t *translator) emit(e event) {
	if t.again {
		if t.seen == nil {
			t.seen = map[string]bool{}
		}
		t.seen[e.MessageID], t.seen[e.ParentMessageID] = true, true
	}
	if t.page != nil {
		t.page.add(&e)
	}
	t.send(e)
}

// showPage shows all messages of the client, if they are known.
func (t *translator) showPage() {
	if t.page == nil || t.legacy {
		return
	}
	if all := t.page.messages(); len(all) > 0 {
		t.send(event{Type: "MESSAGES_SNAPSHOT", Messages: all})
	}
}
