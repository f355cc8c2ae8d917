package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/parser"
)

// environment holds what all templates share: statements, filters, tests, functions and methods. It is made when the
// first template is compiled.
var environment = sync.OnceValue(func() *exec.Environment {
	return &exec.Environment{
		Context:           exec.NewContext(functions()),
		Filters:           exec.NewFilterSet(filters()),
		Tests:             tests(),
		ControlStructures: exec.NewControlStructureSet(statements()),
		Methods:           methods(),
	}
})

// statements returns the statements that templates may use, and those that are known but disabled.
func statements() map[string]parser.ControlStructureParser {
	all := map[string]parser.ControlStructureParser{
		"set":    parseSet,
		"with":   parseWith,
		"filter": parseFilter,
	}
	for _, name := range []string{"autoescape", "block", "for", "if", "macro"} {
		if parse, ok := builtins.ControlStructures.Get(name); ok {
			all[name] = parse
		}
	}
	for _, name := range []string{"include", "extends", "import", "from"} {
		all[name] = disabled(name)
	}
	return all
}

// tests are the engine's and empty: whether nothing is in a value.
func tests() *exec.TestSet {
	return exec.NewTestSet(map[string]exec.TestFunction{
		"empty": func(_ *exec.Context, in *exec.Value, _ *exec.VarArgs) (bool, error) {
			return in.IsNil() || in.IsIterable() && in.Len() == 0, nil
		},
	}).Update(builtins.Tests)
}

// functions are the global ones.
func functions() map[string]any {
	all := map[string]any{
		"range":     rangeList,
		"namespace": newNamespace,
		"dict":      newDict,
		"lipsum":    lipsum,
	}
	for _, name := range []string{"cycler", "joiner"} {
		if f, ok := builtins.GlobalFunctions.Get(name); ok {
			all[name] = f
		}
	}
	if version, ok := builtins.GlobalVariables.Get("gonja"); ok {
		all["gonja"] = version
	}
	return all
}

// rangeList is the function range, as a list.
func rangeList(e *exec.Evaluator, params *exec.VarArgs) *exec.Value {
	bounds := make([]int, 0, 3)
	for _, arg := range params.Args {
		if !arg.IsInteger() {
			return exec.AsValue(errors.New("range: arguments must be integers"))
		}
		bounds = append(bounds, arg.Integer())
	}
	start, stop, step := 0, 0, 1
	switch len(bounds) {
	case 1:
		stop = bounds[0]
	case 2:
		start, stop = bounds[0], bounds[1]
	case 3:
		start, stop, step = bounds[0], bounds[1], bounds[2]
	default:
		return exec.AsValue(errors.New("range: expected [start, ]stop[, step]"))
	}
	if step == 0 {
		return exec.AsValue(errors.New("range: step must not be 0"))
	}
	list := []int{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(list) == maxNodes {
			return exec.AsValue(budgetOf(e.Environment).fail(fmt.Errorf("range: %w", errTooLarge)))
		}
		list = append(list, i)
	}
	return exec.AsValue(list)
}

// newDict is the function dict, with keys in the order of their names.
func newDict(_ *exec.Evaluator, params *exec.VarArgs) *exec.Value {
	dict := exec.NewDict()
	for key, value := range params.KwArgs {
		dict.Pairs = append(dict.Pairs, &exec.Pair{Key: exec.AsValue(key), Value: value})
	}
	slices.SortFunc(dict.Pairs, func(a, b *exec.Pair) int { return cmp.Compare(a.Key.String(), b.Key.String()) })
	return exec.AsValue(dict)
}

func lipsum(e *exec.Evaluator, params *exec.VarArgs) *exec.Value {
	if err := smallIntegers(params, 1000); err != nil {
		return exec.AsValue(budgetOf(e.Environment).fail(fmt.Errorf("lipsum: %w", err)))
	}
	f, _ := builtins.GlobalFunctions.Get("lipsum")
	return f.(func(*exec.Evaluator, *exec.VarArgs) *exec.Value)(e, params)
}

// smallIntegers checks the integers among the arguments of what makes as much text or as many values as its argument
// says.
func smallIntegers(params *exec.VarArgs, limit int) error {
	check := func(v *exec.Value) error {
		if v.IsNumber() && (v.Float() > float64(limit) || v.Float() < -float64(limit)) {
			return fmt.Errorf("%w: argument %s is over %d", errTooLarge, v.String(), limit)
		}
		return nil
	}
	for _, v := range params.Args {
		if err := check(v); err != nil {
			return err
		}
	}
	for _, v := range params.KwArgs {
		if err := check(v); err != nil {
			return err
		}
	}
	return nil
}

// methods are the methods of Python's strings and dicts that give no more than they are given.
func methods() exec.Methods {
	return exec.Methods{
		Bool:  exec.NewMethodSet(map[string]exec.Method[bool]{}),
		Int:   exec.NewMethodSet(map[string]exec.Method[int]{}),
		Float: exec.NewMethodSet(map[string]exec.Method[float64]{}),
		List:  exec.NewMethodSet(map[string]exec.Method[[]any]{}),
		Str: choose(builtins.Methods.Str, "capitalize", "count", "endswith", "find", "isalnum", "isalpha", "isdigit",
			"islower", "isspace", "isupper", "lower", "lstrip", "removeprefix", "removesuffix", "rstrip", "split",
			"splitlines", "startswith", "strip", "title", "upper"),
		Dict: choose(builtins.Methods.Dict, "get", "items", "keys", "values"),
	}
}

func choose[T any](from *exec.MethodSet[T], names ...string) *exec.MethodSet[T] {
	chosen := map[string]exec.Method[T]{}
	for _, name := range names {
		if method, ok := from.Get(name); ok {
			chosen[name] = method
		}
	}
	return exec.NewMethodSet(chosen)
}
