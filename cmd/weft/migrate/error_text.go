package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

var errorText = newAnalyzer("errtext",
	"texts of agents' errors that are compared as a whole: Weft puts the name of the agent in front"+"\n\n"+
		"It does not find errors that a function returned or that are in a field, which may be of anything; those of graphs, whose paths differ; texts that a function of the program compares.", "texts-of-errors",
	func(c *check) {
		c.nodes.Preorder([]ast.Node{
			(*ast.BinaryExpr)(nil), (*ast.CallExpr)(nil), (*ast.SwitchStmt)(nil), (*ast.IndexExpr)(nil),
		}, func(n ast.Node) {
			for _, e := range c.compared(n) {
				if err := c.textOf(e); err != nil && c.isEventError(err) {
					c.report(e, "the text of an agent's error begins with \"agent 'name': \" on Weft: "+
						"use errors.Is, errors.As or strings.Contains")
				}
			}
		})
	})

// compared are the texts that a node compares as a whole, or from their beginning.
func (c *check) compared(n ast.Node) []ast.Expr {
	switch x := n.(type) {
	case *ast.BinaryExpr:
		if x.Op != token.EQL && x.Op != token.NEQ {
			return nil
		}
		for _, side := range []ast.Expr{x.X, x.Y} { // strings.Index(text, "…") == 0
			if call, ok := ast.Unparen(side).(*ast.CallExpr); ok && c.isFunc(call, "strings", "Index") {
				return call.Args[:1]
			}
		}
		return []ast.Expr{x.X, x.Y}
	case *ast.CallExpr:
		switch {
		case c.isFunc(x, "strings", "HasPrefix", "EqualFold", "TrimPrefix", "CutPrefix"):
			return x.Args[:1]
		case c.isFunc(x, "regexp", "MatchString") && len(x.Args) == 1 && c.isAnchored(x.Fun): // of a *Regexp
			return x.Args
		case c.isFunc(x, "regexp", "MatchString") && len(x.Args) == 2:
			if pattern, ok := c.text(x.Args[0]); ok && strings.HasPrefix(pattern, "^") {
				return x.Args[1:]
			}
		}
	case *ast.SwitchStmt:
		if x.Tag != nil {
			return []ast.Expr{x.Tag}
		}
	case *ast.IndexExpr:
		if t := c.TypesInfo.TypeOf(x.X); t != nil {
			if _, isMap := t.Underlying().(*types.Map); isMap {
				return []ast.Expr{x.Index}
			}
		}
	}
	return nil
}

// isAnchored reports whether the pattern of a method of a regular expression that is made in this package begins with ^.
func (c *check) isAnchored(method ast.Expr) bool {
	sel, ok := method.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pattern := func(e ast.Expr) bool {
		call, ok := ast.Unparen(e).(*ast.CallExpr)
		if !ok || !c.isFunc(call, "regexp", "MustCompile", "Compile") || len(call.Args) != 1 {
			return false
		}
		text, ok := c.text(call.Args[0])
		return ok && strings.HasPrefix(text, "^")
	}
	if id, ok := ast.Unparen(sel.X).(*ast.Ident); ok {
		v, ok := c.TypesInfo.Uses[id].(*types.Var)
		return ok && c.onlyValue(v, pattern)
	}
	return pattern(sel.X)
}

// textOf is the error whose text an expression is: e in e.Error(), also by way of a variable that has nothing else.
func (c *check) textOf(e ast.Expr) (err ast.Expr) {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		if v, ok := c.TypesInfo.Uses[id].(*types.Var); ok && c.onlyValue(v, func(value ast.Expr) bool {
			if err == nil {
				err = c.errorOf(value)
			}
			return c.errorOf(value) != nil
		}) {
			return err
		}
		return nil
	}
	return c.errorOf(e)
}

// isEventError reports whether an expression is the field Err of an event, or a variable that only it is assigned to.
func (c *check) isEventError(e ast.Expr) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		return x.Sel.Name == "Err" && isType(c.TypesInfo.TypeOf(x.X), "TypedAgentEvent")
	case *ast.Ident:
		v, ok := c.TypesInfo.Uses[x].(*types.Var)
		return ok && c.onlyValue(v, c.isEventError)
	}
	return false
}

// onlyValue reports whether all that is assigned to a local variable is as wanted.
func (c *check) onlyValue(v *types.Var, wanted func(ast.Expr) bool) bool {
	values, all := c.values(v)
	return all && len(values) > 0 && !slices.ContainsFunc(values, func(e ast.Expr) bool { return !wanted(e) })
}

// values returns what is assigned to a variable, and whether that is all that it can be.
func (c *check) values(v *types.Var) (values []ast.Expr, all bool) {
	all = true
	assigned := func(left, right []ast.Expr) {
		for i, l := range left {
			switch id, ok := l.(*ast.Ident); {
			case !ok || c.TypesInfo.ObjectOf(id) != v:
			case len(right) == len(left):
				values = append(values, right[i])
			default:
				all = false
			}
		}
	}
	c.nodes.Preorder([]ast.Node{(*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil), (*ast.UnaryExpr)(nil)}, func(n ast.Node) {
		switch x := n.(type) {
		case *ast.AssignStmt:
			assigned(x.Lhs, x.Rhs)
		case *ast.ValueSpec:
			for i, name := range x.Names {
				if i < len(x.Values) {
					assigned([]ast.Expr{name}, x.Values[i:i+1])
				}
			}
		case *ast.UnaryExpr:
			id, ok := ast.Unparen(x.X).(*ast.Ident)
			all = all && (x.Op != token.AND || !ok || c.TypesInfo.Uses[id] != v)
		}
	})
	return values, all
}

var panicText = newAnalyzer("panictext",
	"searches for a stack in the text of an error: on Weft it is the field Stack of *schema.PanicError"+"\n\n"+
		"It does not find regular expressions, and texts that are passed on before they are searched.", "panics",
	func(c *check) {
		c.nodes.Preorder([]ast.Node{(*ast.CallExpr)(nil)}, func(n ast.Node) {
			call := n.(*ast.CallExpr)
			if !c.isFunc(call, "strings", "Contains", "Index", "LastIndex", "Split", "SplitN", "SplitAfter", "Cut", "Count") ||
				c.textOf(call.Args[0]) == nil {
				return
			}
			text, ok := c.text(call.Args[1])
			if ok && (strings.Contains(text, "stack:") || strings.Contains(text, "goroutine ")) {
				c.report(call, "the text of a panic has no stack on Weft: use errors.As with *schema.PanicError")
			}
		})
	})
