package callbacks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

type named struct{}

func (named) Method()   {}
func (*named) Pointer() {}

type list[T any] struct{}

func (list[T]) Method() {}

type namedFunc func()

type typer struct{}

func (typer) GetType() string { return "Self" }

func declared(context.Context) {}

func generic[T any](T) {}

var atPackageLevel = func() {}

// Rule components/B13.1.9.
func TestTypeName_NamesEveryKindOfValue(t *testing.T) {
	one, p := named{}, &named{}
	pp := &p
	fn := declared
	for name, tc := range map[string]struct {
		v    any
		want string
	}{
		"nil":                       {nil, ""},
		"self-named":                {typer{}, "Self"},
		"self-named pointer":        {&typer{}, "Self"},
		"type":                      {one, "named"},
		"pointer":                   {p, "named"},
		"pointer to pointer":        {pp, "named"},
		"nil pointer":               {(*named)(nil), "named"},
		"generic type":              {list[int]{}, "list[int]"},
		"basic":                     {3, "int"},
		"unnamed":                   {[]int{}, ""},
		"unnamed struct":            {struct{}{}, ""},
		"function":                  {declared, "declared"},
		"pointer to function":       {&fn, "declared"},
		"nil function":              {(func())(nil), ""},
		"nil pointer to a function": {(*func())(nil), ""},
		"generic function":          {generic[int], "generic"},
		"named function type":       {namedFunc(func() {}), "namedFunc"},
		"function literal":          {func() {}, ""},
		"nested literal":            {func() func() { return func() { t.Log() } }(), ""},
		"package-level literal":     {atPackageLevel, ""},
		"method value":              {one.Method, "Method"},
		"pointer method value":      {p.Pointer, "Pointer"},
		"method expression":         {(*named).Pointer, "Pointer"},
		"generic method value":      {list[int]{}.Method, "Method"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, TypeName(tc.v)) })
	}
}
