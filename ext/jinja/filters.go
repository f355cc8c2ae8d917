package jinja

import (
	"fmt"
	"maps"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// builtinFilters are the engine's filters that templates may use, with a check of their own where the result can be
// far larger than what goes in, or take far longer.
var builtinFilters = map[string]func(in *exec.Value, params *exec.VarArgs) error{
	"abs": nil, "attr": nil, "batch": checkIntegers, "capitalize": nil, "center": checkIntegers, "count": nil, "d": nil,
	"default": nil, "dictsort": nil, "e": nil, "escape": nil, "filesizeformat": nil, "first": nil, "float": nil,
	"forceescape": nil, "format": checkFormat, "groupby": nil, "indent": checkIndent, "int": nil, "items": nil,
	"join": checkJoin, "last": nil, "length": nil, "list": nil, "lower": nil, "map": nil, "max": nil, "min": nil,
	"pprint": nil, "random": nil, "reject": nil, "rejectattr": nil, "replace": checkReplace, "reverse": nil,
	"round": checkIntegers, "safe": nil, "select": nil, "selectattr": nil, "slice": checkIntegers, "sort": nil,
	"string": nil, "striptags": nil, "sum": nil, "title": nil, "tojson": checkIntegers, "trim": nil,
	"truncate": nil, "unique": nil, "upper": nil, "urlencode": nil, "urlize": nil, "wordcount": nil,
	"wordwrap": checkIntegers, "xmlattr": nil,
}

// cheapFilters do not go through what they are given.
var cheapFilters = map[string]bool{
	"attr": true, "count": true, "d": true, "default": true, "first": true, "last": true, "length": true, "safe": true,
}

func filters() map[string]exec.FilterFunction {
	all := maps.Clone(guardFunctions)
	for name, check := range builtinFilters {
		if f, ok := builtins.Filters.Get(name); ok {
			all[name] = guardFilter(name, check, f)
		}
	}
	for name, f := range ownFilters {
		all[name] = guardFilter(name, nil, f)
	}
	for _, name := range []string{"file", "fileset"} {
		all[name] = func(*exec.Evaluator, *exec.Value, *exec.VarArgs) *exec.Value {
			return exec.AsValue(fmt.Errorf("keyword[%s] has been disabled", name))
		}
	}
	return all
}

// guardFilter counts what a filter goes through and checks what it makes.
func guardFilter(
	name string, check func(*exec.Value, *exec.VarArgs) error, f exec.FilterFunction,
) exec.FilterFunction {
	return func(e *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
		b := budgetOf(e.Environment)
		if cheapFilters[name] {
			if err := b.spend(1); err != nil {
				return exec.AsValue(err)
			}
			return f(e, in, params)
		}
		if check != nil && b.err == nil {
			if err := check(in, params); err != nil {
				b.err = fmt.Errorf("filter %s: %w", name, err)
			}
		}
		if err := b.use(in); err != nil {
			return exec.AsValue(err)
		}
		out := f(e, in, params)
		if err := b.accept(out); err != nil {
			return exec.AsValue(err)
		}
		return out
	}
}

// maxArgument bounds widths and counts, of columns or of spaces.
const maxArgument = 10_000

func checkIntegers(_ *exec.Value, params *exec.VarArgs) error {
	return smallIntegers(params, maxArgument)
}

// checkFormat refuses widths and precisions that are long or given by an argument.
func checkFormat(in *exec.Value, _ *exec.VarArgs) error {
	digits := 0
	for _, r := range in.String() {
		if r < '0' || r > '9' {
			digits = 0
			continue
		}
		if digits++; digits > 3 {
			return fmt.Errorf("%w: width over 999", errTooLarge)
		}
	}
	if strings.Contains(in.String(), "*") {
		return fmt.Errorf("%w: width by argument", errTooLarge)
	}
	return nil
}

func checkIndent(in *exec.Value, params *exec.VarArgs) error {
	if err := smallIntegers(params, maxArgument); err != nil {
		return err
	}
	width := 4
	for _, v := range params.Args {
		width = max(width, argumentLength(v))
	}
	for _, v := range params.KwArgs {
		width = max(width, argumentLength(v))
	}
	return checkProduct(strings.Count(in.String(), "\n")+1, width)
}

// argumentLength returns how much text an argument stands for.
func argumentLength(v *exec.Value) int {
	switch {
	case v.IsString():
		return v.Len()
	case v.IsNumber():
		return v.Integer()
	}
	return 0
}

func checkJoin(in *exec.Value, params *exec.VarArgs) error {
	separator := 0
	for _, v := range params.Args {
		separator = max(separator, argumentLength(v))
	}
	for _, v := range params.KwArgs {
		separator = max(separator, argumentLength(v))
	}
	return checkProduct(length(in), separator)
}

func checkReplace(in *exec.Value, params *exec.VarArgs) error {
	text, longest := in.String(), 0
	for _, v := range params.Args {
		longest = max(longest, argumentLength(v))
	}
	for _, v := range params.KwArgs {
		longest = max(longest, argumentLength(v))
	}
	n := len(text) + 1
	if len(params.Args) > 0 && params.Args[0].IsString() {
		n = strings.Count(text, params.Args[0].String())
	}
	return checkProduct(n, longest)
}

// checkProduct checks that n texts of a length are not too much.
func checkProduct(n, length int) error {
	if n > 0 && length > maxNodes*64/n {
		return errTooLarge
	}
	return nil
}
