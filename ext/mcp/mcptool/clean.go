package mcptool

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
)

// escapes are the sequences with which programs steer terminals.
var escapes = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(\x07|\x1b\\\\)?|[ -/]*[0-~])|\u009b[0-?]*[ -/]*[@-~]")

// clean returns a text of a server as models, people and logs may have it: without sequences for terminals, without
// control characters other than line ends and tabs, and without characters that change the direction of what is around
// them.
func clean(text string) string {
	if strings.IndexFunc(text, isUnsafe) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isUnsafe(r) {
			return -1
		}
		return r
	}, escapes.ReplaceAllString(text, ""))
}

func isUnsafe(r rune) bool {
	switch {
	case r == '\n', r == '\r', r == '\t':
		return false
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069': // embeddings, overrides and isolates
		return true
	}
	return unicode.IsControl(r)
}

// described are the members of a schema that are text for models.
var described = regexp.MustCompile(`"(?:description|title)"\s*:\s*("(?:[^"\\]|\\.)*")`)

// cleanSchema is a schema whose descriptions and titles are clean. All else stays as it came: a pattern may name control
// characters.
func cleanSchema(text json.RawMessage) json.RawMessage {
	return described.ReplaceAllFunc(text, func(member []byte) []byte {
		literal := described.FindSubmatch(member)[1]
		var said string
		if json.Unmarshal(literal, &said) != nil || clean(said) == said {
			return member
		}
		cleaned, _ := json.Marshal(clean(said)) // a text has one
		return append(bytes.TrimSuffix(bytes.Clone(member), literal), cleaned...)
	})
}
