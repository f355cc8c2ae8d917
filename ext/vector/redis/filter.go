package redis

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weftgo/weft/ext/vector"
)

// The search module has a language for filters in which nearly every character means something. So keys and values are
// written in hexadecimal there: nothing that comes from outside can be part of a query's syntax.
//
// The value of a metadata key on which filters are possible is in two fields of the hash: its token, or the tokens of
// its elements, in a TAG field, and the number, if it is one, in a NUMERIC field.

// subIndexesKey is the metadata key of schema.Document.WithSubIndexes.
const subIndexesKey = "_sub_indexes"

// maxToken limits how many bytes of a value a token shows. Longer ones are replaced by their hash.
const maxToken = 64

func (b *backend) filterKeys() []string {
	return slices.Concat([]string{subIndexesKey}, b.conf.FilterKeys)
}

func tagField(key string) string    { return "meta:" + key }
func numberField(key string) string { return "num:" + key }

func isMetaField(field string) bool {
	return strings.HasPrefix(field, "meta:") || strings.HasPrefix(field, "num:")
}

// tagName and numberName are what the fields are called in queries.
func tagName(key string) string    { return "t_" + hex.EncodeToString([]byte(key)) }
func numberName(key string) string { return "n_" + hex.EncodeToString([]byte(key)) }

// addMetaFields adds the fields for a metadata value.
func addMetaFields(hash map[string]any, key string, v any) {
	elements, ok := v.([]any)
	if !ok {
		elements = []any{v}
	}
	var tokens []string
	for _, element := range elements {
		if t := token(element); t != "" {
			tokens = append(tokens, t)
		}
	}
	if len(tokens) > 0 {
		hash[tagField(key)] = strings.Join(tokens, ",")
	}
	if n, ok := number(v); ok {
		hash[numberField(key)] = n
	}
}

// token returns a word for a string, bool or number, and "" for what is none of these.
func token(v any) string {
	var text string
	switch v := v.(type) {
	case string:
		text = "s" + v
	case bool:
		text = "b" + strconv.FormatBool(v)
	case int64, uint64, float64:
		text = fmt.Sprint("n", v)
	default:
		return ""
	}
	if len(text) > maxToken {
		sum := sha256.Sum256([]byte(text))
		return "h" + hex.EncodeToString(sum[:])
	}
	return "t" + hex.EncodeToString([]byte(text))
}

// number returns the text of a number.
func number(v any) (string, bool) {
	switch v := v.(type) {
	case int64, uint64:
		return fmt.Sprint(v), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

// condition returns the filter in the language of the search module.
func (b *backend) condition(filter vector.Filter) (string, error) {
	if len(filter) == 0 {
		return "*", nil
	}
	parts := make([]string, len(filter))
	for i := range filter {
		c := &filter[i]
		if !slices.Contains(b.filterKeys(), c.Key) {
			return "", fmt.Errorf("filter on %q: the search index does not know the key: name it in FilterKeys", c.Key)
		}
		part, err := conditionPart(c)
		if err != nil {
			return "", fmt.Errorf("filter on %q: %w", c.Key, err)
		}
		parts[i] = part
	}
	return "(" + strings.Join(parts, " ") + ")", nil
}

func conditionPart(c *vector.Condition) (string, error) {
	switch c.Op {
	case vector.AnyOf, vector.NoneOf:
		tokens := make([]string, len(c.Values))
		for i, v := range c.Values {
			tokens[i] = token(v)
		}
		part := "@" + tagName(c.Key) + ":{" + strings.Join(tokens, "|") + "}"
		if c.Op == vector.NoneOf {
			part = "-" + part
		}
		return part, nil
	}
	n, ok := number(c.Values[0])
	if !ok {
		return "", errors.New("comparisons take a number")
	}
	limits := map[vector.Op]string{
		vector.Less: "[-inf (" + n + "]", vector.AtMost: "[-inf " + n + "]",
		vector.Greater: "[(" + n + " +inf]", vector.AtLeast: "[" + n + " +inf]",
	}[c.Op]
	if limits == "" {
		return "", fmt.Errorf("the operator %q is not known", c.Op)
	}
	return "@" + numberName(c.Key) + ":" + limits, nil
}
