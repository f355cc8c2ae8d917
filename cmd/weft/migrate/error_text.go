package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

var errorText = newAnalyzer("errtext",
	"texts of agents' errors that are compared as a whole: Weft puts the name of the agent in front", "texts-of-errors",
	func(c *check) {
		c.nodes.Preorder([]ast.Node{(*ast.BinaryExpr)(nil), (*ast.CallExpr)(nil), (*ast.SwitchStmt)(nil)}, func(n ast.Node) {
			var compared []ast.Expr
			switch x := n.(type) {
			case *ast.BinaryExpr:
				if x.Op == token.EQL || x.Op == token.NEQ {
					compared = []ast.Expr{x.X, x.Y}
				}
			case *ast.CallExpr:
				if c.isFunc(x, "strings", "HasPrefix", "EqualFold", "TrimPrefix", "CutPrefix") {
					compared = x.Args[:1]
				}
			case *ast.SwitchStmt:
				if x.Tag != nil {
					compared = []ast.Expr{x.Tag}
				}
			}
			for _, e := range compared {
				if err := c.errorOf(e); err != nil && c.isEventError(err) {
					c.report(e, "the text of an agent's error begins with \"agent 'name': \" on Weft: "+
						"use errors.Is, errors.As or strings.Contains")
				}
			}
		})
	})

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
	"searches for a stack in the text of an error: on Weft it is the field Stack of *schema.PanicError", "panics",
	func(c *check) {
		c.nodes.Preorder([]ast.Node{(*ast.CallExpr)(nil)}, func(n ast.Node) {
			call := n.(*ast.CallExpr)
			if !c.isFunc(call, "strings", "Contains", "Index", "Split", "SplitN", "Cut") || c.errorOf(call.Args[0]) == nil {
				return
			}
			if text, ok := c.text(call.Args[1]); ok && strings.Contains(text, "stack:") {
				c.report(call, "the text of a panic has no stack on Weft: use errors.As with *schema.PanicError")
			}
		})
	})
