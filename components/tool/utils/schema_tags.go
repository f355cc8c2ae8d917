package utils

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/eino-contrib/jsonschema"
)

// The words of a jsonschema tag. What they mean is in the package comment.
var (
	textKeys   = []string{"title", "description"}
	uintKeys   = []string{"minLength", "maxLength", "minItems", "maxItems"}
	numberKeys = []string{"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
	boolKeys   = []string{"readOnly", "writeOnly"}
	otherKeys  = []string{
		"enum", "default", "example", "pattern", "format", "uniqueItems", "type", "anchor",
		"oneof_required", "anyof_required", "oneof_ref", "anyof_ref", "oneof_type", "anyof_type",
	}
	tagKeys  = slices.Concat(textKeys, otherKeys[:6], uintKeys, numberKeys, boolKeys, otherKeys[6:])
	tagFlags = []string{"required", "nullable"}
)

// checkTag finds what the reflector would ignore in the jsonschema tag of a field: words that it does not know, and
// values that it cannot read.
func checkTag(f reflect.StructField) error {
	inText := false
	for i, word := range splitTag(f.Tag.Get("jsonschema")) {
		key, value, isPair := strings.Cut(word, "=")
		known := isPair && slices.Contains(tagKeys, key) || !isPair && slices.Contains(tagFlags, word)
		switch {
		case word == "" || i == 0 && word == "-":
		case known:
			if err := checkTagValue(f.Type, key, value); err != nil {
				return err
			}
			inText = slices.Contains(textKeys, key)
		case inText && !looksLikeKey(word):
			// the text has a comma in it
		default:
			return unknownWord(word)
		}
	}
	return nil
}

// looksLikeKey reports whether a word after the comma of a text is meant as one of its own, as far as that can be seen.
func looksLikeKey(word string) bool {
	key, _, isPair := strings.Cut(word, "=")
	trimmed := strings.TrimSpace(key)
	if isPair && slices.Contains(tagKeys, trimmed) || !isPair && slices.Contains(tagFlags, trimmed) {
		return true
	}
	return isPair && key != "" && !strings.ContainsFunc(key, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

func unknownWord(word string) error {
	key, _, isPair := strings.Cut(word, "=")
	trimmed := strings.TrimSpace(key)
	what := fmt.Sprintf("unknown key %q", key)
	switch {
	case slices.Contains(tagKeys, trimmed) && !isPair:
		what = fmt.Sprintf("%q has no value", trimmed)
	case slices.Contains(tagFlags, trimmed) && isPair:
		what = fmt.Sprintf("%q takes no value", trimmed)
	case slices.Contains(tagKeys, trimmed) || slices.Contains(tagFlags, trimmed):
		what = fmt.Sprintf("a space around %q", trimmed)
	case !isPair:
		what = fmt.Sprintf("%q is no key=value", word)
	}
	return fmt.Errorf(`jsonschema tag: %s; the keys are %s, and without a value %s; a comma in a value is written \\,`,
		what, strings.Join(tagKeys, ", "), strings.Join(tagFlags, ", "))
}

func checkTagValue(t reflect.Type, key, value string) error {
	wants := ""
	switch {
	case slices.Contains(uintKeys, key):
		if _, err := strconv.ParseUint(value, 10, 64); err != nil {
			wants = "a whole number, not negative"
		}
	case slices.Contains(numberKeys, key) && !isNumber(value):
		wants = "a number"
	case slices.Contains(boolKeys, key):
		if _, err := strconv.ParseBool(value); err != nil {
			wants = "true or false"
		}
	case key == "default":
		wants = wrongDefault(t, value)
	}
	if wants == "" {
		return nil
	}
	return fmt.Errorf("jsonschema tag: %s=%s is no value of it: %s is wanted", key, value, wants)
}

// wrongDefault says what a default value must be, "" if it is that or the type is not known.
func wrongDefault(t reflect.Type, value string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch kind := t.Kind(); {
	case t.Implements(selfDescribing) || t.Implements(aliased) || t.Implements(protoEnum):
	case kind == reflect.Bool && value != "true" && value != "false":
		return "true or false"
	case kind >= reflect.Int && kind <= reflect.Float64 && !isNumber(value):
		return "a number"
	}
	return ""
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// splitTag splits a tag at its commas as the reflector does: not at one behind a backslash.
func splitTag(tag string) []string {
	words := []string{}
	for word := range strings.SplitSeq(tag, ",") {
		if last := len(words) - 1; last >= 0 && strings.HasSuffix(words[last], `\`) {
			words[last] = strings.TrimSuffix(words[last], `\`) + "," + word
			continue
		}
		words = append(words, word)
	}
	return words
}

// keepCommas repairs the texts of a property, which the reflector ends at the first comma.
func keepCommas(tag reflect.StructTag, property *jsonschema.Schema) {
	words := splitTag(tag.Get("jsonschema"))
	for i, word := range words {
		key, cut, _ := strings.Cut(word, "=")
		if !slices.Contains(textKeys, key) {
			continue
		}
		whole := cut
		for _, more := range words[i+1:] {
			name, _, isPair := strings.Cut(more, "=")
			if isPair && slices.Contains(tagKeys, name) || !isPair && slices.Contains(tagFlags, more) {
				break
			}
			whole += "," + more
		}
		if whole == cut {
			continue
		}
		for _, s := range append([]*jsonschema.Schema{property}, property.OneOf...) { // a nullable one is inside
			if key == "title" && s.Title == cut {
				s.Title = whole
			} else if key == "description" && s.Description == cut {
				s.Description = whole
			}
		}
	}
}
