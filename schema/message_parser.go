package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	internaljson "github.com/weftgo/weft/internal/json"
)

// MessageParser turns a message into a value.
type MessageParser[T any] interface {
	Parse(ctx context.Context, m *Message) (T, error)
}

// MessageParseFrom says which text of a message is parsed.
type MessageParseFrom string

const (
	// MessageParseFromContent is the message's Content. The default.
	MessageParseFromContent MessageParseFrom = "content"
	// MessageParseFromToolCall is the arguments of the message's first tool call.
	MessageParseFromToolCall MessageParseFrom = "tool_call"
)

// MessageJSONParseConfig configures [NewMessageJSONParser].
type MessageJSONParseConfig struct {
	// ParseFrom is the text to parse, [MessageParseFromContent] if empty.
	ParseFrom MessageParseFrom `json:"parse_from,omitempty"`
	// ParseKeyPath leads to the value to parse: object keys and array indexes separated by dots, for example
	// "data.items.0". Empty means the whole text.
	ParseKeyPath string `json:"parse_key_path,omitempty"`
}

// MessageJSONParser is the parser made by [NewMessageJSONParser]. It is safe for concurrent use.
type MessageJSONParser[T any] struct {
	ParseFrom    MessageParseFrom
	ParseKeyPath string
}

// NewMessageJSONParser returns a parser that decodes JSON from a message into a T, by the rules of encoding/json. A nil
// config means the defaults.
func NewMessageJSONParser[T any](config *MessageJSONParseConfig) MessageParser[T] {
	p := &MessageJSONParser[T]{ParseFrom: MessageParseFromContent}
	if config == nil {
		return p
	}
	p.ParseKeyPath = config.ParseKeyPath
	if config.ParseFrom != "" {
		p.ParseFrom = config.ParseFrom
	}
	return p
}

// Parse decodes the value that the configuration points to. The context is not used.
//
// Without a key path the text must be one JSON value with nothing behind it; with one, only what stands before the
// value is looked at.
func (p *MessageJSONParser[T]) Parse(ctx context.Context, m *Message) (parsed T, err error) {
	var zero T
	text, err := p.text(m)
	if err != nil {
		return zero, err
	}
	if p.ParseKeyPath == "" {
		if err := internaljson.UnmarshalString(text, &parsed); err != nil {
			return zero, fmt.Errorf("failed to unmarshal content: %w", err)
		}
		return parsed, nil
	}
	// Walking there token by token lets the value be decoded where it stands, without cutting it out first.
	dec := json.NewDecoder(strings.NewReader(text))
	for _, key := range strings.Split(p.ParseKeyPath, ".") {
		if err := enter(dec, key); err != nil {
			return zero, fmt.Errorf("failed to get parse key path: %q at %q: %w", p.ParseKeyPath, key, err)
		}
	}
	if err := dec.Decode(&parsed); err != nil {
		return zero, fmt.Errorf("failed to unmarshal content: %w", err)
	}
	return parsed, nil
}

func (p *MessageJSONParser[T]) text(m *Message) (string, error) {
	if m == nil {
		return "", errors.New("message to parse is nil")
	}
	switch p.ParseFrom {
	case MessageParseFromContent, "":
		return m.Content, nil
	case MessageParseFromToolCall:
		if len(m.ToolCalls) == 0 {
			return "", errors.New("no tool call found")
		}
		return m.ToolCalls[0].Function.Arguments, nil
	}
	return "", fmt.Errorf("invalid parse from type: %s", p.ParseFrom)
}

// enter moves dec from before an object or array to before the value under key.
func enter(dec *json.Decoder, key string) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return enterObject(dec, key)
	case json.Delim('['):
		return enterArray(dec, key)
	}
	return errors.New("neither an object nor an array")
}

func enterObject(dec *json.Decoder, key string) error {
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		if name == key {
			return nil
		}
		if err := skip(dec); err != nil {
			return err
		}
	}
	return notFound(dec, "key not found")
}

func enterArray(dec *json.Decoder, key string) error {
	index, err := strconv.Atoi(key)
	if err != nil || index < 0 {
		return errors.New("not an array index")
	}
	for ; dec.More(); index-- {
		if index == 0 {
			return nil
		}
		if err := skip(dec); err != nil {
			return err
		}
	}
	return notFound(dec, "array index out of range")
}

// notFound is the error at the end of an object or array, unless the text breaks off there.
func notFound(dec *json.Decoder, message string) error {
	if _, err := dec.Token(); err != nil {
		return err
	}
	return errors.New(message)
}

func skip(dec *json.Decoder) error {
	var value json.RawMessage
	return dec.Decode(&value)
}
