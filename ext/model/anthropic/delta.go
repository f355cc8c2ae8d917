package anthropic

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// deltaKinds are the pieces of which a stream mostly consists, and the fields that hold them.
var deltaKinds = []struct {
	kind  string
	start []byte
	set   func(*wireDelta, string)
}{
	{"text_delta", []byte(`{"type":"text_delta","text":`), func(d *wireDelta, s string) { d.Text = s }},
	{"input_json_delta", []byte(`{"type":"input_json_delta","partial_json":`),
		func(d *wireDelta, s string) { d.PartialJSON = s }},
	{"thinking_delta", []byte(`{"type":"thinking_delta","thinking":`), func(d *wireDelta, s string) { d.Thinking = s }},
}

var (
	deltaStart = []byte(`{"type":"content_block_delta","index":`)
	deltaField = []byte(`,"delta":`)
)

// decodeDelta decodes an event of the usual kinds as servers write it, which takes a fifth of the time that
// encoding/json does. It returns false for everything else, and leaves the event as it is then.
func decodeDelta(data []byte, e *wireEvent) bool {
	rest, ok := bytes.CutPrefix(data, deltaStart)
	index, digits := 0, 0
	for ; ok && digits < len(rest) && digits < 6 && '0' <= rest[digits] && rest[digits] <= '9'; digits++ {
		index = index*10 + int(rest[digits]-'0')
	}
	if digits == 0 {
		return false
	}
	if rest, ok = bytes.CutPrefix(rest[digits:], deltaField); !ok {
		return false
	}
	for _, k := range deltaKinds {
		quoted, ok := bytes.CutPrefix(rest, k.start)
		if !ok {
			continue
		}
		text, rest, ok := decodeText(quoted)
		rest, closed := bytes.CutPrefix(rest, []byte("}"))
		if !ok || !closed || string(bytes.TrimSpace(rest)) != "}" {
			return false
		}
		e.Type, e.Index, e.Delta.Type = "content_block_delta", index, k.kind
		k.set(&e.Delta, text)
		return true
	}
	return false
}

// decodeText decodes the string at the start of data.
func decodeText(data []byte) (text string, rest []byte, ok bool) {
	if len(data) == 0 || data[0] != '"' {
		return "", nil, false
	}
	escaped := false
	for i := 1; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return "", nil, false
		case c == '"' && escaped:
			err := json.Unmarshal(data[:i+1], &text)
			return text, data[i+1:], err == nil
		case c == '"':
			return string(data[1:i]), data[i+1:], utf8.Valid(data[1:i])
		}
	}
	return "", nil, false
}
