package structured

import (
	"encoding/json"
	"errors"
	"strings"
)

// decode finds the JSON value in a text: all of it, what a code fence holds, or what lies between the first and the
// last bracket.
func decode(text string) (raw []byte, value any, err error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil, errors.New("it is empty")
	}
	err = json.Unmarshal([]byte(text), &value)
	if err == nil {
		return []byte(text), value, nil
	}
	for _, part := range []string{fenced(text), bracketed(text)} {
		if part != "" && json.Unmarshal([]byte(part), &value) == nil {
			return []byte(part), value, nil
		}
	}
	return nil, nil, err
}

// fenced returns what the first code fence holds.
func fenced(text string) string {
	_, rest, ok := strings.Cut(text, "```")
	if !ok {
		return ""
	}
	_, rest, ok = strings.Cut(rest, "\n") // the language
	if !ok {
		return ""
	}
	inside, _, ok := strings.Cut(rest, "```")
	if !ok {
		return ""
	}
	return strings.TrimSpace(inside)
}

// bracketed returns what lies between the first opening bracket and the last closing one.
func bracketed(text string) string {
	from := strings.IndexAny(text, "{[")
	to := strings.LastIndexAny(text, "}]")
	if from < 0 || to < from {
		return ""
	}
	return text[from : to+1]
}
