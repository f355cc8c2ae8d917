package callbacks

import (
	"reflect"
	"runtime"
	"strings"

	"github.com/weftgo/weft/components"
)

// TypeName returns what RunInfo.Type says about a component: the name it gives itself (components.Typer), else the one
// [ReflectedTypeName] finds. It is meant for the time a component is added to something, not for every run.
func TypeName(component any) string {
	if name, ok := components.GetType(component); ok {
		return name
	}
	return ReflectedTypeName(component)
}

// ReflectedTypeName returns the name of v's type without pointers. A function has the name it was declared with. It is
// empty for nil, unnamed types and function literals.
func ReflectedTypeName(v any) string {
	t := reflect.TypeOf(v)
	for t != nil && t.Name() == "" && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
		return ""
	case t.Name() != "":
		return t.Name()
	case t.Kind() == reflect.Func:
		return funcName(reflect.ValueOf(v))
	}
	return ""
}

// funcName returns the last part of a function's symbol name, such as pkg.(*T).Method-fm.
func funcName(f reflect.Value) string {
	for f.Kind() == reflect.Pointer {
		f = f.Elem()
	}
	if !f.IsValid() || f.IsNil() {
		return ""
	}
	symbol := strings.ReplaceAll(runtime.FuncForPC(f.Pointer()).Name(), "[...]", "")
	name := strings.TrimSuffix(symbol[strings.LastIndexByte(symbol, '.')+1:], "-fm")
	if strings.Trim(strings.TrimPrefix(name, "func"), "0123456789") == "" {
		return "" // a function literal: func1, or 1 inside another literal
	}
	return name
}
