package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
)

// checkDepth refuses JSON that is nested too deeply. It does not check more: damaged JSON is for the decoder.
func checkDepth(data []byte, most int) error {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return NewProblem(TooLarge, "the JSON is nested more than %d deep", most)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// ReadJSON decodes the body of a request into a value, and returns the body. It must be JSON by its Content-Type, which
// forms of other pages cannot be. An empty body leaves the value as it is.
func (s *Server) ReadJSON(r *http.Request, into any) ([]byte, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil || len(data) == 0 {
		return data, err
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return data, NewProblem(BadRequest, "send JSON, with Content-Type: application/json")
	}
	return data, s.DecodeJSON(data, into)
}

// DecodeJSON decodes JSON of a client into a value, within the limits of the server on its depth. JSON that could be read
// two ways is refused: an object, however deep, with a member twice, or with the name of a field of the value in other
// letters. The error is a *Problem.
func (s *Server) DecodeJSON(data []byte, into any) error {
	if err := checkDepth(data, s.settings.limits.Depth); err != nil {
		return err
	}
	if err := checkReading(data, into); err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return &Problem{Code: BadRequest, Title: "the body is not the JSON that is expected", Cause: err}
	}
	return nil
}

// checkReading refuses JSON whose meaning depends on who reads it, before it is decoded into a value: what a proxy or a
// log in front of the server has read must be what the server does.
func checkReading(data []byte, into any) error {
	r := reading{json.NewDecoder(bytes.NewReader(data)), map[reflect.Type]fields{}}
	err := r.value(reflect.TypeOf(into))
	if err == nil || errors.As(err, new(*Problem)) {
		return err
	}
	return &Problem{Code: BadRequest, Title: "the body is no JSON", Cause: err}
}

// reading walks over JSON beside the type that it is decoded into.
type reading struct {
	d     *json.Decoder
	known map[reflect.Type]fields
}

// fields are the fields of a struct by their names in JSON.
type fields map[string]reflect.Type

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value checks the next value, which is decoded into a type, nil if that reads it in a way of its own.
func (r *reading) value(into reflect.Type) error {
	for into != nil && into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	if into != nil && reflect.PointerTo(into).Implements(unmarshaler) {
		into = nil
	}
	token, err := r.d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		err = r.members(into)
	case json.Delim('['):
		err = r.items(into)
	}
	return err
}

// items checks the items of a list, and its end.
func (r *reading) items(into reflect.Type) error {
	var item reflect.Type
	if into != nil && (into.Kind() == reflect.Slice || into.Kind() == reflect.Array) {
		item = into.Elem()
	}
	for r.d.More() {
		if err := r.value(item); err != nil {
			return err
		}
	}
	_, err := r.d.Token()
	return err
}

// members checks the members of an object, and its end.
func (r *reading) members(into reflect.Type) error {
	known := r.fieldsOf(into)
	seen := map[string]bool{}
	for r.d.More() {
		token, err := r.d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		member, exact := known[name]
		switch {
		case seen[name]:
			return NewProblem(BadRequest, "an object has the member %.64q twice", name)
		case into != nil && into.Kind() == reflect.Map:
			member = into.Elem()
		case !exact && known.hasInOtherLetters(name):
			return NewProblem(BadRequest, "the member %.64q is written in other letters", name)
		}
		seen[name] = true
		if err := r.value(member); err != nil {
			return err
		}
	}
	_, err := r.d.Token()
	return err
}

// fieldsOf are the fields of a type, none if it is no struct.
func (r *reading) fieldsOf(into reflect.Type) fields {
	if into == nil || into.Kind() != reflect.Struct {
		return nil
	}
	if known, ok := r.known[into]; ok {
		return known
	}
	known := fields{}
	for _, f := range reflect.VisibleFields(into) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous && name == "" || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		known[name] = f.Type
	}
	r.known[into] = known
	return known
}

// hasInOtherLetters reports whether a decoder takes a name, which is none of the fields, for one of them.
func (f fields) hasInOtherLetters(name string) bool {
	for known := range f {
		if strings.EqualFold(known, name) {
			return true
		}
	}
	return false
}

// decodeStrictly decodes an object of exactly these members, each at most once, with their very names: a decision of a
// person must not depend on how JSON is read.
func decodeStrictly(data json.RawMessage, into any) error {
	if err := checkReading(data, into); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return NewProblem(BadRequest, "something follows the answer")
	}
	return nil
}
