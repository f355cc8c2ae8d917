package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
)

// scalars writes the keywords that limit a value, and returns the notes for those that the service does not know.
func (l *lowering) scalars(out *kit.Object, s schemaAt, name string) (notes []string) {
	note := func(what string, v any) {
		text, err := kit.Encode(v)
		if err == nil {
			notes = append(notes, what+": "+string(text))
		}
	}
	notes = append(notes, l.format(out, s, name)...)
	if s.Get("nullable") == true {
		out.Set("nullable", true)
	}
	if values := enumOf(s.Object); len(values) > 0 && name != "null" {
		if known, ok := l.enum(values, name); ok {
			out.Set("enum", known)
		} else {
			note("one of", values)
		}
	}
	if name == "number" || name == "integer" {
		l.limits(out, s, name, note)
	}
	if text, ok := s.Get("pattern").(string); ok {
		notes = append(notes, "pattern: "+text)
	}
	for _, f := range [...][2]string{
		{"minLength", "minimum length"}, {"maxLength", "maximum length"}, {"multipleOf", "multiple of"},
		{"minProperties", "minimum number of properties"}, {"maxProperties", "maximum number of properties"},
	} {
		if n, ok := s.Get(f[0]).(json.Number); ok {
			notes = append(notes, f[1]+": "+n.String())
		}
	}
	if s.Get("uniqueItems") == true {
		notes = append(notes, "no duplicates")
	}
	if s.Get("default") != nil {
		note("default", s.Get("default"))
	}
	return notes
}

// format writes the format, if the service knows it.
func (l *lowering) format(out *kit.Object, s schemaAt, name string) (notes []string) {
	format, _ := s.Get("format").(string)
	isNumber := name == "number" || name == "integer"
	switch format {
	case "":
	case "int32", "int64", "float", "double":
		if l.mode == SchemaModeOpenAPI && isNumber {
			out.Set("format", format)
		}
	case "date-time", "enum":
		out.Set("format", format)
	case "date", "time":
		if l.mode == SchemaModeJSON {
			out.Set("format", format)
			break
		}
		notes = append(notes, "format: "+format)
	default:
		notes = append(notes, "format: "+format)
	}
	return notes
}

// limits writes the limits of a number. Whole numbers have no exclusive ones.
func (l *lowering) limits(out *kit.Object, s schemaAt, name string, note func(string, any)) {
	for _, f := range [...]struct {
		key, exclusive, what string
		step                 int64
	}{{"minimum", "exclusiveMinimum", "greater than", 1}, {"maximum", "exclusiveMaximum", "less than", -1}} {
		limit, given := s.Get(f.key).(json.Number)
		if given {
			out.Set(f.key, limit)
		}
		if n, ok := s.Get(f.exclusive).(json.Number); ok {
			whole, err := strconv.ParseInt(n.String(), 10, 64)
			if name == "integer" && err == nil && !given {
				out.Set(f.key, json.Number(strconv.FormatInt(whole+f.step, 10)))
			} else {
				note(f.what, n)
			}
		}
		if given && s.Get(f.exclusive) == true { // draft 4
			note(f.what, limit)
		}
	}
}

// enumOf returns the values that a schema lists, nil if it lists none.
func enumOf(s kit.Object) []any {
	if values, ok := s.Get("enum").([]any); ok && len(values) > 0 {
		return values
	}
	for _, f := range s {
		if f.Key == "const" {
			return []any{f.Value}
		}
	}
	return nil
}

// enum returns the values of a list as the service takes them: texts for texts, numbers for numbers.
func (l *lowering) enum(values []any, name string) ([]any, bool) {
	var out []any
	for _, v := range values {
		number, isNumber := v.(json.Number)
		text, isText := v.(string)
		switch {
		case v == nil: // said by the type
			continue
		case name == "string" && isNumber:
			text = number.String()
		case name == "string" && !isText:
			text = fmt.Sprint(v)
		case name == "string":
		case (name == "number" || name == "integer") && isNumber && l.mode == SchemaModeJSON:
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
			continue
		default:
			return nil, false
		}
		if !slices.Contains(out, any(text)) && (text != "" || l.mode == SchemaModeJSON) {
			out = append(out, text)
		}
	}
	return out, len(out) > 0
}

// describe writes title and description, and the notes into the latter.
func (l *lowering) describe(out *kit.Object, s schemaAt, notes []string) {
	if title, ok := s.Get("title").(string); ok {
		out.SetText("title", title)
	}
	text, _ := s.Get("description").(string)
	if more, ok := s.Get(noteKey).(string); ok {
		notes = append(notes, more)
	}
	if len(notes) > 0 {
		text = strings.TrimSpace(text + " (" + strings.Join(notes, "; ") + ")")
	}
	out.SetText("description", text)
}

// noteKey is a keyword of no schema, for notes that come up before a schema is written.
const noteKey = "\x00note"
