package runlog

import (
	"errors"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/schema"
)

// Message is a message in an event. One of the fields is set. As JSON, an ordinary message is as package schema encodes
// it; an agentic one has its content under "blocks"; of a message whose text a policy left out there is a "shape".
type Message struct {
	Chat    *schema.Message
	Agentic *schema.AgenticMessage
	Shape   *MessageShape
}

// MessageShape describes a message without its text.
type MessageShape struct {
	Role string `json:"role"`
	// Chars counts the bytes of its text, Media its other parts.
	Chars int      `json:"chars"`
	Media int      `json:"media,omitempty"`
	Calls []string `json:"calls,omitempty"`
}

// MessageOf is a message for an event.
func MessageOf[M adk.MessageType](m M) Message {
	switch m := any(m).(type) {
	case *schema.Message:
		return Message{Chat: m}
	case *schema.AgenticMessage:
		return Message{Agentic: m}
	}
	return Message{}
}

// messagesOf are messages for an event.
func messagesOf[M adk.MessageType](ms []M) []Message {
	all := make([]Message, len(ms))
	for i, m := range ms {
		all[i] = MessageOf(m)
	}
	return all
}

// As returns a message of a kind, and false if it is of the other kind or has no text any more.
func As[M adk.MessageType](m Message) (as M, ok bool) {
	if m.Chat != nil {
		as, ok = any(m.Chat).(M)
		return as, ok
	}
	if m.Agentic != nil {
		as, ok = any(m.Agentic).(M)
	}
	return as, ok
}

// IsZero reports whether there is no message.
func (m Message) IsZero() bool { return m.Chat == nil && m.Agentic == nil && m.Shape == nil }

// agenticWire is an agentic message as JSON.
type agenticWire struct {
	Role         schema.AgenticRoleType      `json:"role"`
	Blocks       []*schema.ContentBlock      `json:"blocks"`
	ResponseMeta *schema.AgenticResponseMeta `json:"response_meta,omitempty"`
	Extra        map[string]any              `json:"extra,omitempty"`
}

// MarshalJSON encodes the message. An Extra that cannot be encoded is left out.
func (m Message) MarshalJSON() ([]byte, error) {
	switch {
	case m.Shape != nil:
		return json.Marshal(struct {
			Shape *MessageShape `json:"shape"`
		}{m.Shape})
	case m.Agentic != nil:
		w := agenticWire{m.Agentic.Role, m.Agentic.ContentBlocks, m.Agentic.ResponseMeta, m.Agentic.Extra}
		if w.Blocks == nil {
			w.Blocks = []*schema.ContentBlock{}
		}
		data, err := encode(w)
		if err != nil && w.Extra != nil {
			w.Extra = nil
			data, err = encode(w)
		}
		return data, err
	case m.Chat != nil:
		data, err := encode(m.Chat)
		if err != nil && m.Chat.Extra != nil {
			plain := *m.Chat
			plain.Extra = nil
			data, err = encode(&plain)
		}
		return data, err
	}
	return []byte("null"), nil
}

// encode is json.Marshal of values with parts of the application's own, whose methods may panic.
func encode(v any) (data []byte, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a method of the value panics")
		}
	}()
	return json.Marshal(v)
}

// UnmarshalJSON decodes a message.
func (m *Message) UnmarshalJSON(data []byte) error {
	*m = Message{}
	var probe struct {
		Blocks json.RawMessage `json:"blocks"`
		Shape  *MessageShape   `json:"shape"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return err
	}
	switch {
	case probe.Shape != nil:
		m.Shape = probe.Shape
	case probe.Blocks != nil:
		var w agenticWire
		if err := json.Unmarshal(data, &w); err != nil {
			return err
		}
		m.Agentic = &schema.AgenticMessage{Role: w.Role, ContentBlocks: w.Blocks, ResponseMeta: w.ResponseMeta, Extra: w.Extra}
	case string(data) != "null":
		m.Chat = new(schema.Message)
		return json.Unmarshal(data, m.Chat)
	}
	return nil
}
