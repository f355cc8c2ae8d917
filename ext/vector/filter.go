package vector

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
)

// A Filter says what the metadata of a document must fulfil: all of the conditions.
type Filter []Condition

// A Condition is about the metadata value under one key. If that value is a list, its elements are meant: AnyOf and the
// comparisons hold if they hold for one element.
type Condition struct {
	Key string
	Op  Op
	// Values are strings, bools, int64, uint64 and float64. There is at least one, and for comparisons exactly one,
	// which is a number.
	Values []any
}

// Op is the kind of a [Condition].
type Op string

// The kinds of conditions. A key that is not there fulfils NoneOf alone.
const (
	AnyOf   Op = "$in"
	NoneOf  Op = "$nin"
	Less    Op = "$lt"
	AtMost  Op = "$lte"
	Greater Op = "$gt"
	AtLeast Op = "$gte"
)

// ParseFilter reads a filter in the form that retriever.WithDSLInfo has:
//
//	map[string]any{
//		"kind":  "letter",                                       // equal
//		"tags":  []string{"rome", "travel"},                     // equal to one of these
//		"year":  map[string]any{"$gte": 1990, "$lt": 2000},      // all of these
//		"state": map[string]any{"$ne": "draft"},                 // not equal; a document without a state fits, too
//		"lang":  map[string]any{"$nin": []string{"de", "fr"}},   // equal to none of these
//	}
//
// Keys are the keys of the metadata, as they are: there are no paths into objects. All conditions must hold. Values are
// strings, numbers and bools; $lt, $lte, $gt and $gte take numbers. If the metadata has a list under the key, its
// elements are compared. The conditions are in the order of their keys.
func ParseFilter(dsl map[string]any) (Filter, error) {
	if len(dsl) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(dsl)
	if err != nil {
		return nil, fmt.Errorf("the filter cannot be written as JSON: %w", err)
	}
	fields, err := DecodeMetaData(data)
	if err != nil {
		return nil, err
	}
	var filter Filter
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		conditions, err := parseKey(key, fields[key])
		if err != nil {
			return nil, fmt.Errorf("filter on %q: %w", key, err)
		}
		filter = append(filter, conditions...)
	}
	return filter, nil
}

func parseKey(key string, v any) ([]Condition, error) {
	if strings.HasPrefix(key, "$") {
		return nil, errors.New("operators stand below the keys of the metadata: {\"year\": {\"$gte\": 1990}}")
	}
	operators, ok := v.(map[string]any)
	if !ok {
		c, err := parseValues(key, AnyOf, v)
		return []Condition{c}, err
	}
	if len(operators) == 0 {
		return nil, errors.New("it has no operators")
	}
	var conditions []Condition
	for _, name := range slices.Sorted(maps.Keys(operators)) {
		c, err := parseOperator(key, name, operators[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		conditions = append(conditions, c)
	}
	return conditions, nil
}

func parseOperator(key, name string, v any) (Condition, error) {
	_, list := v.([]any)
	switch op := Op(name); op {
	case AnyOf, NoneOf:
		if !list {
			return Condition{}, errors.New("it takes a list")
		}
		return parseValues(key, op, v)
	case "$eq", "$ne":
		if list {
			return Condition{}, errors.New("it takes one value: use $in or $nin for a list")
		}
		return parseValues(key, map[Op]Op{"$eq": AnyOf, "$ne": NoneOf}[op], v)
	case Less, AtMost, Greater, AtLeast:
		switch v.(type) {
		case int64, uint64, float64:
			return Condition{Key: key, Op: op, Values: []any{v}}, nil
		}
		return Condition{}, errors.New("it takes a number")
	}
	return Condition{}, errors.New("there is no such operator: use $eq, $ne, $in, $nin, $lt, $lte, $gt or $gte")
}

func parseValues(key string, op Op, v any) (Condition, error) {
	values, ok := v.([]any)
	if !ok {
		values = []any{v}
	}
	if len(values) == 0 {
		return Condition{}, errors.New("the list is empty")
	}
	for _, value := range values {
		switch value.(type) {
		case string, bool, int64, uint64, float64:
		default:
			return Condition{}, errors.New("values are strings, numbers and bools")
		}
	}
	return Condition{Key: key, Op: op, Values: values}, nil
}

// Match reports whether the metadata fulfils the filter. It must have been read by [DecodeMetaData].
func (f Filter) Match(fields map[string]any) bool {
	for i := range f {
		if !f[i].match(fields[f[i].Key]) {
			return false
		}
	}
	return true
}

func (c *Condition) match(v any) bool {
	elements, ok := v.([]any)
	if !ok {
		elements = []any{v}
	}
	holds := slices.ContainsFunc(elements, c.matchElement)
	return holds != (c.Op == NoneOf)
}

// matchElement takes NoneOf for AnyOf.
func (c *Condition) matchElement(v any) bool {
	return slices.ContainsFunc(c.Values, func(want any) bool {
		order, same := compare(v, want)
		if !same {
			return false
		}
		switch c.Op {
		case Less:
			return order < 0
		case AtMost:
			return order <= 0
		case Greater:
			return order > 0
		case AtLeast:
			return order >= 0
		}
		return order == 0
	})
}

// compare says how a and b are ordered, if they are of the same kind. Numbers are compared exactly, whatever their
// types are.
func compare(a, b any) (order int, sameKind bool) {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return cmp.Compare(a, b), ok
	case bool:
		b, ok := b.(bool)
		if ok && a == b {
			return 0, true
		}
		return 1, ok
	}
	x, ok := exact(a)
	if !ok {
		return 0, false
	}
	y, ok := exact(b)
	if !ok {
		return 0, false
	}
	return x.Cmp(y), true
}

// exact returns a number without loss.
func exact(v any) (*big.Float, bool) {
	switch v := v.(type) {
	case int64:
		return new(big.Float).SetInt64(v), true
	case uint64:
		return new(big.Float).SetUint64(v), true
	case float64:
		if !math.IsNaN(v) {
			return big.NewFloat(v), true
		}
	}
	return nil, false
}

// plainNumber returns a whole number as int64, or uint64 if it is too large for that, and any other as float64.
func plainNumber(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	var u uint64
	if err := json.Unmarshal([]byte(n), &u); err == nil {
		return u
	}
	f, _ := n.Float64() // encoding/json lets only numbers through; one out of range is infinite
	return f
}
