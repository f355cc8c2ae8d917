package main

import (
	"fmt"
	"go/constant"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// list prints the exported API of a module, one fact a line, sorted. Packages are named relative to the module; names
// of parameters and packages inside types are left out, and aliases are resolved: callers do not depend on them. The members
// that a type has as an alias of another public one are returned apart, as they are listed at that one.
func list(dir string) (lines, byAlias []string, err error) {
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedModule | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax,
		Dir:  dir,
	}, "./...")
	if err != nil {
		return nil, nil, err
	}
	seen, aliased := map[string]bool{}, map[string]bool{}
	for _, p := range pkgs {
		if p.Module == nil || p.Name == "main" || isInternal(p.PkgPath) || p.Types == nil {
			continue
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, p.Module.Path), "/")
		if rel == "" {
			rel = "."
		}
		into := func(facts map[string]bool) func(string, ...any) {
			return func(format string, a ...any) { facts["pkg "+rel+", "+fmt.Sprintf(format, a...)] = true }
		}
		scope := p.Types.Scope()
		for _, name := range scope.Names() {
			if o := scope.Lookup(name); o.Exported() {
				describe(o, into(seen), into(aliased))
			}
		}
	}
	return slices.Sorted(maps.Keys(seen)), slices.Sorted(maps.Keys(aliased)), nil
}

func isInternal(path string) bool { return strings.Contains(path+"/", "/internal/") }

func describe(o types.Object, emit, emitAliased func(string, ...any)) {
	switch x := o.(type) {
	case *types.Const:
		v := x.Val().ExactString()
		if x.Val().Kind() == constant.String && len(v) > 60 {
			v = "(long text)"
		}
		emit("const %s %s = %s", x.Name(), typeString(x.Type()), v)
	case *types.Var:
		emit("var %s %s", x.Name(), typeString(x.Type()))
	case *types.Func:
		emit("func %s%s", x.Name(), signature(x.Type().(*types.Signature)))
	case *types.TypeName:
		emit("type %s", x.Name())
		n, ok := types.Unalias(x.Type()).(*types.Named)
		if !ok {
			return
		}
		// An alias and a defined type serve callers alike.
		target := n.Obj()
		if x.IsAlias() && target.Exported() && target.Pkg() != nil && !isInternal(target.Pkg().Path()) {
			emit = emitAliased
		}
		members(x.Name(), n, emit)
	}
}

func members(name string, n *types.Named, emit func(string, ...any)) {
	if tp := n.TypeParams(); tp.Len() > 0 && n.TypeArgs().Len() == 0 {
		emit("type %s, type parameters %d", name, tp.Len())
	}
	switch u := n.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			f := u.Field(i)
			if !f.Exported() {
				continue
			}
			kind, tag := "field", ""
			if f.Embedded() {
				kind = "embedded"
			}
			if u.Tag(i) != "" {
				tag = " `" + u.Tag(i) + "`"
			}
			emit("type %s struct, %s %s %s%s", name, kind, f.Name(), typeString(f.Type()), tag)
		}
	case *types.Interface:
		for i := range u.NumMethods() {
			if m := u.Method(i); m.Exported() {
				emit("type %s interface, %s%s", name, m.Name(), signature(m.Type().(*types.Signature)))
			}
		}
		return
	default:
		emit("type %s %s", name, typeString(u))
	}
	ms := types.NewMethodSet(types.NewPointer(n))
	for i := range ms.Len() {
		m := ms.At(i).Obj().(*types.Func)
		if m.Exported() && len(ms.At(i).Index()) == 1 {
			emit("method (%s) %s%s", name, m.Name(), signature(m.Type().(*types.Signature)))
		}
	}
}

// signature prints a signature without the parameters' names, which callers do not depend on.
func signature(s *types.Signature) string {
	var b strings.Builder
	if tp := s.TypeParams(); tp.Len() > 0 {
		var parts []string
		for i := range tp.Len() {
			parts = append(parts, typeString(tp.At(i))+" "+typeString(tp.At(i).Constraint()))
		}
		b.WriteString("[" + strings.Join(parts, ", ") + "]")
	}
	b.WriteString("(" + tuple(s.Params(), s.Variadic()) + ")")
	switch r := s.Results(); r.Len() {
	case 0:
	case 1:
		b.WriteString(" " + tuple(r, false))
	default:
		b.WriteString(" (" + tuple(r, false) + ")")
	}
	return b.String()
}

func tuple(t *types.Tuple, variadic bool) string {
	var parts []string
	for i := range t.Len() {
		s := typeString(t.At(i).Type())
		if variadic && i == t.Len()-1 {
			s = "..." + strings.TrimPrefix(s, "[]")
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// typeString prints a type with its aliases resolved, its package left out, and type parameters by position.
func typeString(t types.Type) string {
	switch x := types.Unalias(t).(type) {
	case *types.Basic:
		return x.Name()
	case *types.TypeParam:
		return fmt.Sprintf("T%d", x.Index())
	case *types.Named:
		s := x.Obj().Name()
		if args := x.TypeArgs(); args.Len() > 0 {
			var parts []string
			for i := range args.Len() {
				parts = append(parts, typeString(args.At(i)))
			}
			s += "[" + strings.Join(parts, ", ") + "]"
		}
		return s
	case *types.Pointer:
		return "*" + typeString(x.Elem())
	case *types.Slice:
		return "[]" + typeString(x.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", x.Len(), typeString(x.Elem()))
	case *types.Map:
		return "map[" + typeString(x.Key()) + "]" + typeString(x.Elem())
	case *types.Chan:
		switch x.Dir() {
		case types.RecvOnly:
			return "<-chan " + typeString(x.Elem())
		case types.SendOnly:
			return "chan<- " + typeString(x.Elem())
		}
		return "chan " + typeString(x.Elem())
	case *types.Signature:
		return "func" + signature(x)
	case *types.Interface:
		if x.NumMethods() == 0 && x.NumEmbeddeds() == 0 {
			return "any"
		}
		var parts []string
		for i := range x.NumExplicitMethods() {
			m := x.ExplicitMethod(i)
			parts = append(parts, m.Name()+signature(m.Type().(*types.Signature)))
		}
		for i := range x.NumEmbeddeds() {
			parts = append(parts, typeString(x.EmbeddedType(i)))
		}
		return "interface{" + strings.Join(parts, "; ") + "}"
	case *types.Union:
		var parts []string
		for i := range x.Len() {
			tilde := ""
			if x.Term(i).Tilde() {
				tilde = "~"
			}
			parts = append(parts, tilde+typeString(x.Term(i).Type()))
		}
		return strings.Join(parts, "|")
	case *types.Struct:
		var parts []string
		for i := range x.NumFields() {
			parts = append(parts, x.Field(i).Name()+" "+typeString(x.Field(i).Type()))
		}
		return "struct{" + strings.Join(parts, "; ") + "}"
	}
	return t.String()
}
