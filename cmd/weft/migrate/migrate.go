// Package migrate has analyzers that find what behaves differently on Weft in a program that was written for Eino. They
// look at code that imports either; each is explained in docs/moving-from-eino.md.
//
// Run them with weft vet, with go vet -vettool, or in a checker of your own:
//
//	multichecker.Main(migrate.Analyzers()...)
package migrate

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

const (
	weftModule = "github.com/weftgo/weft"
	einoModule = "github.com/cloudwego/eino"
	guide      = "docs/moving-from-eino.md"
)

// Analyzers returns all checks.
func Analyzers() []*analysis.Analyzer {
	return []*analysis.Analyzer{
		checkpoints, errorText, genResume, graphStart, panicText, runNames, shimVars, toolTags,
	}
}

// newAnalyzer makes a check whose page is the section of the guide with that anchor.
func newAnalyzer(name, doc, anchor string, run func(*check)) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: name,
		Doc:  doc,
		URL:  guideURL + "#" + anchor,
		Run: func(pass *analysis.Pass) (any, error) {
			c := &check{Pass: pass, anchor: anchor, nodes: inspector.New(pass.Files), reported: map[ast.Node]bool{}}
			if c.concerned() {
				run(c)
			}
			return nil, nil
		},
	}
}

const guideURL = "https://" + weftModule + "/blob/main/" + guide

// A check is one run of a check on a package.
type check struct {
	*analysis.Pass
	anchor string
	nodes  *inspector.Inspector
	// reported are nodes that a check may come to by several ways.
	reported map[ast.Node]bool
}

// concerned reports whether the package imports Weft or Eino.
func (c *check) concerned() bool {
	for _, p := range c.Pkg.Imports() {
		if _, ok := packagePath(p.Path()); ok {
			return true
		}
	}
	return false
}

// report adds where the guide explains a finding.
func (c *check) report(at ast.Node, format string, args ...any) {
	c.Reportf(at.Pos(), format+" ("+guide+"#"+c.anchor+")", args...)
}

// packagePath returns the path of a package inside of Weft or Eino.
func packagePath(importPath string) (rel string, ok bool) {
	for _, module := range []string{weftModule, einoModule} {
		if rel, ok = strings.CutPrefix(importPath, module+"/"); ok {
			return rel, true
		}
	}
	return "", false
}

// isType reports whether t, or what it points to, is a type of that name of Weft's or Eino's.
func isType(t types.Type, name string) bool {
	if t == nil {
		return false
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Name() != name || named.Obj().Pkg() == nil {
		return false
	}
	_, ours := packagePath(named.Obj().Pkg().Path())
	return ours
}

// callee returns the function or method that a call calls, if it is one of a package of Weft's or Eino's.
func (c *check) callee(call *ast.CallExpr) (rel, name string, ok bool) {
	fn, _ := typeutil.Callee(c.TypesInfo, call).(*types.Func)
	if fn == nil || fn.Pkg() == nil {
		return "", "", false
	}
	rel, ok = packagePath(fn.Pkg().Path())
	return rel, fn.Name(), ok
}

// isFunc reports whether a call calls that function of the standard library.
func (c *check) isFunc(call *ast.CallExpr, pkg string, names ...string) bool {
	fn, _ := typeutil.Callee(c.TypesInfo, call).(*types.Func)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != pkg {
		return false
	}
	for _, n := range names {
		if n == fn.Name() {
			return true
		}
	}
	return false
}

// text returns the value of a constant string.
func (c *check) text(e ast.Expr) (string, bool) {
	v := c.TypesInfo.Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// errorOf returns the error whose text an expression is: e in e.Error().
func (c *check) errorOf(e ast.Expr) ast.Expr {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) != 0 {
		return nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Error" || !types.Implements(c.TypesInfo.TypeOf(sel.X), errorInterface) {
		return nil
	}
	return sel.X
}

var errorInterface = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
