package main

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/types"
	"os"
	"slices"
	"strings"
)

// expr returns a type expression of Weft's source as the shim writes it: with the shim's own names where it has them,
// and Weft's otherwise.
func (s *shim) expr(e ast.Expr) (string, error) {
	var edits []edit
	var failed error
	ast.Inspect(e, func(n ast.Node) bool {
		var obj types.Object
		switch x := n.(type) {
		case *ast.SelectorExpr:
			obj = s.pkg.TypesInfo.Uses[x.Sel]
		case *ast.Ident:
			obj = s.pkg.TypesInfo.Uses[x]
		default:
			return true
		}
		if obj == nil || obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() {
			return true // a name of the language, a type parameter, a parameter
		}
		text, err := s.name(obj)
		if err != nil && failed == nil {
			failed = err
		}
		edits = append(edits, edit{from: n, text: text})
		return false
	})
	if failed != nil {
		return "", failed
	}
	return s.rewrite(e, edits)
}

// An edit replaces a node by text.
type edit struct {
	from ast.Node
	text string
}

// rewrite prints an expression with some of its nodes replaced.
func (s *shim) rewrite(e ast.Expr, edits []edit) (string, error) {
	var b strings.Builder
	if len(edits) == 0 {
		err := format.Node(&b, s.pkg.Fset, e)
		return b.String(), err
	}
	file := s.pkg.Fset.File(e.Pos())
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return "", err
	}
	slices.SortFunc(edits, func(a, b edit) int { return int(a.from.Pos() - b.from.Pos()) })
	at := file.Offset(e.Pos())
	for _, ed := range edits {
		b.Write(text[at:file.Offset(ed.from.Pos())])
		b.WriteString(ed.text)
		at = file.Offset(ed.from.End())
	}
	b.Write(text[at:file.Offset(e.End())])
	return b.String(), nil
}

// name returns what an object of a package is called in the shim.
func (s *shim) name(obj types.Object) (string, error) {
	p := obj.Pkg()
	rel, inWeft := strings.CutPrefix(p.Path(), weftModule+"/")
	switch {
	case inWeft && s.wanted[rel][obj.Name()]:
		if rel == s.rel {
			return obj.Name(), nil
		}
		return s.importName(einoModule+"/"+rel, p.Name()) + "." + obj.Name(), nil
	case inWeft && s.public[obj] != nil:
		return s.name(s.public[obj])
	case inWeft && (!obj.Exported() || strings.Contains(p.Path()+"/", "/internal/")):
		if d, ok := s.decls[obj.Name()]; ok && p == s.pkg.Types {
			if _, isInterface := d.typ.(*ast.InterfaceType); isInterface {
				return s.expr(d.typ)
			}
		}
		return "", fmt.Errorf("the signature has %s.%s, which others cannot name", p.Path(), obj.Name())
	}
	return s.importName(p.Path(), p.Name()) + "." + obj.Name(), nil
}

// importName returns the name under which the file imports a package.
func (s *shim) importName(importPath, name string) string {
	if known, ok := s.imports[importPath]; ok {
		return known
	}
	if importPath == weftModule+"/"+s.rel {
		name = "weft"
	}
	for taken := true; taken; {
		taken = false
		for _, other := range s.imports {
			taken = taken || other == name
		}
		if taken || s.pkg.Types.Scope().Lookup(name) != nil {
			name, taken = "weft"+name, true
		}
	}
	s.imports[importPath] = name
	return name
}
