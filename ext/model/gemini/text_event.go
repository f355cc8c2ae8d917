package gemini

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// A textEvent reads the events that nearly all of a streamed answer is made of: one piece of text, and the usage so far.
// Decoding these as what they could be as well takes six times the memory. Whatever looks different is left to
// encoding/json; events that are accepted mean the same to both.
type textEvent struct {
	data []byte // valid JSON
	at   int
	// text is the string of the text with its quotes, usage the object.
	text, usage []byte
	// id and model must be the same as in the events before.
	id, model string
}

// read reports whether an event is one of text.
func (e *textEvent) read(data []byte) bool {
	if !json.Valid(data) {
		return false
	}
	e.data, e.at, e.text, e.usage = data, 0, nil, nil
	return e.object(e.root) && len(e.text) > len(`""`)
}

func (e *textEvent) root(key []byte) bool {
	switch string(key) {
	case "candidates":
		return e.onlyEntry(e.candidate)
	case "usageMetadata":
		e.usage = e.value()
		return e.usage[0] == '{'
	case "modelVersion":
		return isText(e.value(), e.model)
	case "responseId":
		return isText(e.value(), e.id)
	case "createTime":
		e.value()
		return true
	}
	return false
}

func (e *textEvent) candidate(key []byte) bool {
	switch string(key) {
	case "content":
		return e.object(e.content)
	case "index":
		return string(e.value()) == "0"
	}
	return false
}

func (e *textEvent) content(key []byte) bool {
	switch string(key) {
	case "parts":
		return e.onlyEntry(e.part)
	case "role":
		e.value()
		return true
	}
	return false
}

func (e *textEvent) part(key []byte) bool {
	if string(key) != "text" {
		return false
	}
	e.text = e.value()
	return e.text[0] == '"'
}

// isText reports whether JSON is a certain text without escapes.
func isText(raw []byte, text string) bool {
	return len(raw) == len(text)+2 && raw[0] == '"' && string(raw[1:len(raw)-1]) == text
}

// string decodes a text.
func (e *textEvent) string() (text string, ok bool) {
	inner := e.text[1 : len(e.text)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), true
	}
	return text, json.Unmarshal(e.text, &text) == nil && text != ""
}

// next moves over white space and returns the byte behind it.
func (e *textEvent) next() byte {
	for {
		switch c := e.data[e.at]; c {
		case ' ', '\t', '\r', '\n':
			e.at++
		default:
			return c
		}
	}
}

// object reads an object, whose fields a function takes. The function moves over the value, or returns false.
func (e *textEvent) object(field func(key []byte) bool) bool {
	if e.next() != '{' {
		return false
	}
	e.at++
	for {
		switch e.next() {
		case '}':
			e.at++
			return true
		case ',':
			e.at++
		case '"':
			key := e.value()
			e.next()
			e.at++ // the colon
			e.next()
			if !field(key[1 : len(key)-1]) {
				return false
			}
		}
	}
}

// onlyEntry reads a list with exactly one object.
func (e *textEvent) onlyEntry(field func(key []byte) bool) bool {
	if e.next() != '[' {
		return false
	}
	e.at++
	if e.next() != '{' || !e.object(field) || e.next() != ']' {
		return false
	}
	e.at++
	return true
}

// value moves over a value and returns it.
func (e *textEvent) value() []byte {
	e.next()
	start, depth := e.at, 0
	for e.at < len(e.data) {
		switch c := e.data[e.at]; c {
		case '"':
			e.skipText()
			if depth == 0 {
				return e.data[start:e.at]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']', ',', ' ', '\t', '\r', '\n':
			if depth == 0 { // behind a number or a word
				return e.data[start:e.at]
			}
			if c == '}' || c == ']' {
				depth--
				if depth == 0 {
					e.at++
					return e.data[start:e.at]
				}
			}
		}
		e.at++
	}
	return e.data[start:e.at]
}

func (e *textEvent) skipText() {
	for e.at++; e.data[e.at] != '"'; e.at++ {
		if e.data[e.at] == '\\' {
			e.at++
		}
	}
	e.at++
}
