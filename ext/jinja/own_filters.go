package jinja

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
	"go.yaml.in/yaml/v3"
)

// ownFilters holds the filters beyond Jinja2's own.
var ownFilters = map[string]exec.FilterFunction{
	"add":      addFilter,
	"append":   appendFilter,
	"basename": textFilter(path.Base),
	"bool":     boolFilter,
	"concat":   concatFilter,
	"dir":      textFilter(path.Dir),
	"fail":     failFilter,
	"flatten":  flattenFilter,
	"fromjson": fromJSONFilter,
	"fromyaml": fromYAMLFilter,
	"get":      getFilter,
	"ifelse":   ifElseFilter,
	"insert":   insertFilter,
	"keys":     keysFilter,
	"match":    matchFilter,
	"panic":    failFilter,
	"split":    splitFilter,
	"toyaml":   toYAMLFilter,
	"try":      tryFilter,
	"unset":    unsetFilter,
	"values":   valuesFilter,
}

var (
	errNoList = errors.New("not a list")
	errNoDict = errors.New("not a dict")
)

func textFilter(f func(string) string) exec.FilterFunction {
	return func(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
		if in.IsError() {
			return in
		}
		return exec.AsValue(f(in.String()))
	}
}

// argument returns the i-th argument, or nil.
func argument(params *exec.VarArgs, i int) *exec.Value {
	if i < len(params.Args) {
		return params.Args[i]
	}
	return exec.AsValue(nil)
}

// elements returns what a list or a tuple holds.
func elements(v *exec.Value) []any {
	list := []any{}
	v.Iterate(func(_, _ int, element, _ *exec.Value) bool {
		list = append(list, element.Interface())
		return true
	}, func() {})
	return list
}

func appendFilter(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if !in.IsList() {
		return exec.AsValue(fmt.Errorf("append: %w", errNoList))
	}
	return exec.AsValue(append(elements(in), argument(params, 0).Interface()))
}

func concatFilter(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	all := []any{}
	for _, list := range append([]*exec.Value{in}, params.Args...) {
		if !list.IsList() {
			return exec.AsValue(fmt.Errorf("concat: %w", errNoList))
		}
		all = append(all, elements(list)...)
	}
	return exec.AsValue(all)
}

// addFilter adds numbers; anything else is joined as text.
func addFilter(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	other := argument(params, 0)
	switch {
	case in.IsInteger() && other.IsInteger():
		return exec.AsValue(in.Integer() + other.Integer())
	case in.IsNumber() && other.IsNumber():
		return exec.AsValue(in.Float() + other.Float())
	}
	return exec.AsValue(in.String() + other.String())
}

func flattenFilter(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if !in.IsList() {
		return exec.AsValue(fmt.Errorf("flatten: %w", errNoList))
	}
	flat := []any{}
	for _, element := range elements(in) {
		if inner := exec.ToValue(element); inner.IsList() {
			flat = append(flat, elements(inner)...)
			continue
		}
		flat = append(flat, element)
	}
	return exec.AsValue(flat)
}

func boolFilter(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	if !in.IsString() {
		return exec.AsValue(in.IsTrue())
	}
	switch strings.ToLower(in.String()) {
	case "true", "yes", "on", "1":
		return exec.AsValue(true)
	case "false", "no", "off", "0", "":
		return exec.AsValue(false)
	}
	return exec.AsValue(fmt.Errorf("bool: %q is neither true nor false", in.String()))
}

func failFilter(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	return exec.AsValue(errors.New(in.String()))
}

func fromJSONFilter(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	var v any
	if err := json.Unmarshal([]byte(in.String()), &v); err != nil {
		return exec.AsValue(fmt.Errorf("fromjson: %w", err))
	}
	return exec.AsValue(v)
}

func fromYAMLFilter(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	var v any
	if err := yaml.Unmarshal([]byte(in.String()), &v); err != nil {
		return exec.AsValue(fmt.Errorf("fromyaml: %w", err))
	}
	return exec.AsValue(v)
}

func toYAMLFilter(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	v := in.ToGoSimpleType(true)
	err, failed := v.(error)
	var text []byte
	if !failed {
		text, err = yaml.Marshal(v)
	}
	if err != nil {
		return exec.AsValue(fmt.Errorf("toyaml: %w", err))
	}
	return exec.AsValue(string(text))
}

// tryFilter gives none where the value cannot be had.
func tryFilter(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return exec.AsValue(nil)
	}
	return in
}

// insertFilter gives a copy of a dict with one more entry.
func insertFilter(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if !in.IsDict() {
		return exec.AsValue(fmt.Errorf("insert: %w", errNoDict))
	}
	key := argument(params, 0)
	dict := without(in, key)
	dict.Pairs = append(dict.Pairs, &exec.Pair{Key: key, Value: argument(params, 1)})
	return exec.AsValue(dict)
}

// unsetFilter gives a copy of a dict without an entry.
func unsetFilter(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if !in.IsDict() {
		return exec.AsValue(fmt.Errorf("unset: %w", errNoDict))
	}
	return exec.AsValue(without(in, argument(params, 0)))
}

func without(in, key *exec.Value) *exec.Dict {
	dict := exec.NewDict()
	text := key.String() // the engine's comparison is slow, and nearly all keys differ
	in.Iterate(func(_, _ int, k, v *exec.Value) bool {
		if k.String() != text || !k.EqualValueTo(key) {
			dict.Pairs = append(dict.Pairs, &exec.Pair{Key: k, Value: v})
		}
		return true
	}, func() {})
	return dict
}

func getFilter(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if v, ok := in.GetItem(argument(params, 0).Interface()); ok {
		return v
	}
	if v, ok := params.KwArgs["default"]; ok {
		return v
	}
	return argument(params, 1)
}

func ifElseFilter(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	switch {
	case in.IsError():
		return in
	case in.IsTrue():
		return argument(params, 0)
	}
	return argument(params, 1)
}

func keysFilter(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if !in.IsDict() {
		return exec.AsValue(fmt.Errorf("keys: %w", errNoDict))
	}
	return exec.AsValue(in.Keys())
}

func valuesFilter(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if !in.IsDict() {
		return exec.AsValue(fmt.Errorf("values: %w", errNoDict))
	}
	values := []any{}
	in.Iterate(func(_, _ int, _, value *exec.Value) bool {
		values = append(values, value.Interface())
		return true
	}, func() {})
	return exec.AsValue(values)
}

func matchFilter(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	matched, err := regexp.MatchString(argument(params, 0).String(), in.String())
	if err != nil {
		return exec.AsValue(fmt.Errorf("match: %w", err))
	}
	return exec.AsValue(matched)
}

func splitFilter(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	separator := argument(params, 0)
	if separator.IsNil() {
		return exec.AsValue(strings.Fields(in.String()))
	}
	return exec.AsValue(strings.Split(in.String(), separator.String()))
}
