// Package jinja renders Jinja2 templates, for programs that import it beside package schema:
//
//	import _ "github.com/weftgo/weft/ext/jinja"
//
// It has no names of its own. It registers the engine of [schema.Jinja2] when the program starts. It is a module of its
// own because that engine, and what it needs, add 3 MB to a program.
//
// Templates need not be trusted. The package is a fence around the gonja engine: templates are checked before they are
// parsed, and what they compute is counted while they run. A template must never read a file, reach the network, change the
// variables, panic, or run without end.
package jinja

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"

	"github.com/weftgo/weft/schema"
)

func init() {
	schema.RegisterTemplates(schema.Jinja2, func(text string) (schema.TextTemplate, error) { return compile(text) })
}

// template is a compiled template. It is immutable and safe for concurrent use.
type template struct {
	template *exec.Template
	texts    []*exec.Value // literal text that is kept away from the engine, by number
}

// compile parses a template. Of Jinja2 it knows the statements autoescape, block, filter, for, if, macro, raw, set
// and with; whatever loads other templates is disabled.
func compile(text string) (t *template, err error) {
	defer recoverAs(&err, "jinja2 template does not compile")
	src, err := prepare(text)
	if err != nil {
		return nil, err
	}
	conf := config.New()
	conf.KeepTrailingNewline = true
	t = &template{}
	for _, s := range src.texts {
		t.texts = append(t.texts, exec.AsSafeValue(s))
	}
	t.template, err = exec.NewTemplate(rootName, conf, source(src.template), environment())
	if err != nil {
		return nil, parseError(src.template, err)
	}
	guardTemplate(t.template.Root())
	return t, nil
}

// Execute renders the template with the variables, which may be nil and are not changed. A result of more than limit
// bytes is an error.
func (t *template) Execute(vars map[string]any, limit int) (text string, err error) {
	defer recoverAs(&err, "jinja2 template failed")
	b := &budget{bytes: limit}
	context := make(map[string]any, len(vars)+len(t.texts)+1)
	maps.Copy(context, vars)
	for i, s := range t.texts {
		context[textName(i)] = s
	}
	context[budgetName] = b
	var out strings.Builder
	err = t.template.Execute(&limitedWriter{w: &out, left: limit}, exec.NewContext(context))
	switch {
	case b.err != nil: // it may have been swallowed by the template
		return "", b.err
	case err != nil:
		return "", renderError(err)
	}
	return out.String(), nil
}

// recoverAs turns a panic of the engine, or of a method called by the template, into an error.
func recoverAs(err *error, what string) {
	switch v := recover().(type) {
	case nil:
	case error:
		*err = fmt.Errorf("%s: %w", what, v)
	default:
		*err = fmt.Errorf("%s: %v", what, v)
	}
}

const rootName = "template"

// source is the loader of the only template there is.
type source string

var _ loaders.Loader = source("")

func (s source) Read(path string) (io.Reader, error) {
	if path != rootName {
		return nil, errNoTemplates
	}
	return strings.NewReader(string(s)), nil
}

func (s source) Resolve(string) (string, error)         { return "", errNoTemplates }
func (s source) Inherit(string) (loaders.Loader, error) { return nil, errNoTemplates }

var errNoTemplates = errors.New("loading of templates has been disabled")

// parseError takes out of the engine's error the template, which may be long, and the engine's own terms.
func parseError(template string, err error) error {
	text := strings.TrimPrefix(err.Error(), "failed to parse template '"+template+"': ")
	return errors.New(strings.ReplaceAll(text, "Unable to parse controlStructure", "Unable to parse statement"))
}

// renderError takes the traces of the guards, and what the engine prints of its own data, out of its error.
func renderError(err error) error {
	text := strings.TrimPrefix(err.Error(), "unable to execute template: ")
	text = filterTrace.ReplaceAllString(text, "")
	for _, name := range guardNames {
		text = strings.ReplaceAll(text, "invalid call to filter '"+name+"': ", "")
	}
	return &templateError{text: unwrapped(text, "filtered_expression("), err: err}
}

var filterTrace = regexp.MustCompile(`unable to evaluate filter &\{<Token\[.*?map\[.*?\]\}: `)

// unwrapped removes each prefix, which ends with a parenthesis, and the parenthesis that closes it.
func unwrapped(text, prefix string) string {
	var b strings.Builder
	var wrapped []bool // of the parentheses that are open
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], prefix):
			wrapped = append(wrapped, true)
			i += len(prefix) - 1
			continue
		case text[i] == '(':
			wrapped = append(wrapped, false)
		case text[i] == ')' && len(wrapped) > 0:
			last := wrapped[len(wrapped)-1]
			wrapped = wrapped[:len(wrapped)-1]
			if last {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// templateError is an error with a text of its own.
type templateError struct {
	text string
	err  error
}

func (e *templateError) Error() string { return e.text }
func (e *templateError) Unwrap() error { return e.err }

// limitedWriter refuses what goes beyond a number of bytes.
type limitedWriter struct {
	w    io.Writer
	left int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return 0, errTooLong
	}
	w.left -= len(p)
	return w.w.Write(p)
}
