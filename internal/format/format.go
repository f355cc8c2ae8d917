// Package format renders the templates of messages in one of three languages, and keeps compiled templates.
//
// Package schema uses it for every text of a template. Rendering is bounded, whatever the template: in the length of
// the result for all languages, and in the work done for those that have loops.
// It must never give a template access to anything but the variables.
package format

import (
	"errors"
	"strings"
	"sync/atomic"

	"github.com/weftgo/weft/internal/fstring"
)

// Language is a template language.
type Language uint8

// The languages. Jinja2 has the engine that [Register] was given, and none before.
const (
	FString Language = iota
	GoTemplate
	Jinja2
)

// maxLength is the length, in bytes, up to which templates are rendered.
const maxLength = 64 << 20

// Template is a compiled template of any language.
type Template interface {
	Execute(vars map[string]any, limit int) (string, error)
}

// jinja2 compiles the templates of Jinja2.
var jinja2 atomic.Pointer[func(text string) (Template, error)]

var errNoJinja2 = errors.New(
	`Jinja2 templates need their engine: add import _ "github.com/weftgo/weft/ext/jinja" to the program`)

// Register has templates of Jinja2 be compiled by a function from now on, and reports whether it does: the first one
// stays, as what it compiled is in the cache.
func Register(compile func(text string) (Template, error)) bool {
	return jinja2.CompareAndSwap(nil, &compile)
}

// Render renders a template with the variables, which may be nil. Text without any markup of the language is returned
// as it is, however long.
func Render(language Language, text string, vars map[string]any) (string, error) {
	if isPlain(language, text) {
		return text, nil
	}
	t, err := compiled.get(language, text)
	if err != nil {
		return "", err
	}
	return t.Execute(vars, maxLength)
}

// isPlain reports whether a text has no markup.
func isPlain(language Language, text string) bool {
	switch language {
	case FString:
		return !strings.ContainsAny(text, "{}")
	case GoTemplate:
		return !strings.Contains(text, "{{")
	default:
		return !strings.Contains(text, "{{") && !strings.Contains(text, "{%") && !strings.Contains(text, "{#")
	}
}

func compile(language Language, text string) (Template, error) {
	switch language {
	case FString:
		return fstring.Compile(text)
	case GoTemplate:
		return compileGo(text, maxLength)
	default:
		if compile := jinja2.Load(); compile != nil {
			return (*compile)(text)
		}
		return nil, errNoJinja2
	}
}
