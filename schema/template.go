package schema

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/weftgo/weft/internal/format"
)

// FormatType chooses the template language of a message.
type FormatType uint8

const (
	// FString replaces {name} by the value of name, {name.field} and {name[key]} by what is found in it, and takes
	// formats as in {name:.2f}. Literal braces, as in JSON, are doubled: {{ and }}. A missing name is an error.
	FString FormatType = 0
	// GoTemplate is text/template. A missing key is an error. Like Jinja2 it can call the methods of the values that it
	// is given: give only plain data to a template from an untrusted source.
	GoTemplate FormatType = 1
	// Jinja2 is Jinja without any access to files or other templates. A missing name renders as nothing. It can call the
	// methods of values, see [GoTemplate]. Its engine is a module of its own: without
	// import _ "github.com/weftgo/weft/ext/jinja" in the program, a text that has something to render is an error.
	Jinja2 FormatType = 2
)

// TextTemplate is a compiled template of a text. It has to be safe for concurrent use.
type TextTemplate interface {
	// Execute renders the template with the variables, which may be nil and must not be changed. It returns an error if the
	// result would be longer than limit bytes, and if the template does more work than a prompt can need.
	Execute(vars map[string]any, limit int) (string, error)
}

// RegisterTemplates sets the engine of a template language, for packages that bring one: they call it in their init
// function. What compile returns is kept and used again for the same text. It panics if the language is not [Jinja2], the
// only one without an engine, if compile is nil, and if there is an engine already: what a template means must not depend on
// the order of imports. It is safe for concurrent use, also while templates are rendered.
func RegisterTemplates(language FormatType, compile func(text string) (TextTemplate, error)) {
	switch {
	case language != Jinja2:
		panic(fmt.Sprintf("schema.RegisterTemplates: format type %d takes no engine, only Jinja2 does", language))
	case compile == nil:
		panic("schema.RegisterTemplates: compile is nil")
	}
	if !format.Register(func(text string) (format.Template, error) { return compile(text) }) {
		panic("schema.RegisterTemplates: Jinja2 has an engine already")
	}
}

// MessagesTemplate turns variables into messages. A [*Message] is one, whose text is the template, and
// [MessagesPlaceholder] makes another, which puts a list of messages in.
type MessagesTemplate interface {
	Format(ctx context.Context, vs map[string]any, formatType FormatType) ([]*Message, error)
}

// AgenticMessagesTemplate is [MessagesTemplate] for agentic messages.
type AgenticMessagesTemplate interface {
	Format(ctx context.Context, vs map[string]any, formatType FormatType) ([]*AgenticMessage, error)
}

var (
	_ MessagesTemplate        = (*Message)(nil)
	_ AgenticMessagesTemplate = (*AgenticMessage)(nil)
)

// MessagesPlaceholder returns a template that stands for the variable key, which must be a []*Message: a conversation
// so far, for example. The very slice is returned, and nothing in it is rendered. Without the variable the result is
// empty if the placeholder is optional, and an error otherwise.
func MessagesPlaceholder(key string, optional bool) MessagesTemplate {
	return &placeholder[Message]{key: key, optional: optional, what: "messages"}
}

// AgenticMessagesPlaceholder is [MessagesPlaceholder] for a variable that is a []*AgenticMessage.
func AgenticMessagesPlaceholder(key string, optional bool) AgenticMessagesTemplate {
	return &placeholder[AgenticMessage]{key: key, optional: optional, what: "agentic messages"}
}

type placeholder[M any] struct {
	key      string
	optional bool
	what     string
}

// Format returns the variable.
func (p *placeholder[M]) Format(_ context.Context, vs map[string]any, _ FormatType) ([]*M, error) {
	v, ok := vs[p.key]
	switch {
	case !ok && p.optional:
		return []*M{}, nil
	case !ok:
		return nil, fmt.Errorf("message placeholder format: %s not found", p.key)
	}
	messages, ok := v.([]*M)
	if !ok {
		return nil, fmt.Errorf("only %s can be used to format message placeholder, key: %s, actual type: %v",
			p.what, p.key, reflect.TypeOf(v))
	}
	return messages, nil
}

var errNilTemplate = errors.New("message template is nil")

// renderer renders the texts of one message. After the first error it does nothing.
type renderer struct {
	language format.Language
	vs       map[string]any
	err      error
}

func newRenderer(vs map[string]any, formatType FormatType) *renderer {
	r := &renderer{vs: vs}
	switch formatType {
	case FString:
		r.language = format.FString
	case GoTemplate:
		r.language = format.GoTemplate
	case Jinja2:
		r.language = format.Jinja2
	default:
		r.err = fmt.Errorf("unknown format type: %v", formatType)
	}
	return r
}

// text renders a text in its place. The names say where that is.
func (r *renderer) text(text *string, list string, index int, field string) {
	if r.err != nil || *text == "" {
		return
	}
	rendered, err := format.Render(r.language, *text, r.vs)
	switch {
	case err == nil:
		*text = rendered
	case list == "":
		r.err = fmt.Errorf("failed to format %s: %w", field, err)
	default:
		r.err = fmt.Errorf("failed to format %s[%d].%s: %w", list, index, field, err)
	}
}

// optional is text for a text that may be missing.
func (r *renderer) optional(text *string, list string, index int, field string) {
	if text != nil {
		r.text(text, list, index, field)
	}
}
