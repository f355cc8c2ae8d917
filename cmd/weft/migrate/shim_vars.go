package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

var shimVars = newAnalyzer("shimvars",
	"assignments to variables of Eino's packages, which are copies in the shim"+"\n\n"+
		"It does not find assignments by reflection.", "variables-of-packages",
	func(c *check) {
		c.nodes.Preorder([]ast.Node{(*ast.AssignStmt)(nil), (*ast.UnaryExpr)(nil)}, func(n ast.Node) {
			if address, ok := n.(*ast.UnaryExpr); ok {
				if v := c.variable(address.X); address.Op == token.AND && v != nil {
					c.report(address, "with the shim, %s.%s is a copy, and what is written through this pointer does not reach Weft: take "+
						"that of %s", v.Pkg().Name(), v.Name(), weftModule+strings.TrimPrefix(v.Pkg().Path(), einoModule))
				}
				return
			}
			assign := n.(*ast.AssignStmt)
			if assign.Tok == token.DEFINE {
				return
			}
			for _, left := range assign.Lhs {
				if v := c.variable(left); v != nil {
					c.report(left, "with the shim, %s.%s is a copy, and this assignment does not reach Weft: assign to that of %s",
						v.Pkg().Name(), v.Name(), weftModule+strings.TrimPrefix(v.Pkg().Path(), einoModule))
				}
			}
		})
	})

// variable returns the variable of a package of Eino's that an assignment changes: itself, or a field of its value.
// What a pointer points to is not copied.
func (c *check) variable(e ast.Expr) *types.Var {
	sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	v, ok := c.TypesInfo.Uses[sel.Sel].(*types.Var)
	if !ok {
		return nil
	}
	if v.IsField() {
		if _, pointer := c.TypesInfo.TypeOf(sel.X).Underlying().(*types.Pointer); pointer {
			return nil
		}
		return c.variable(sel.X)
	}
	if v.Pkg() == nil || v.Parent() != v.Pkg().Scope() || !strings.HasPrefix(v.Pkg().Path(), einoModule+"/") {
		return nil
	}
	return v
}
