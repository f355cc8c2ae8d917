package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
)

var genResume = newAnalyzer("genresume",
	"GenResume functions that return an error: on Weft the saved run is kept"+"\n\n"+
		"It does not find functions of other packages, and those that are kept in variables.", "a-turnloop-whose-genresume-fails",
	func(c *check) {
		c.nodes.Preorder([]ast.Node{(*ast.CompositeLit)(nil), (*ast.AssignStmt)(nil)}, func(n ast.Node) {
			switch x := n.(type) {
			case *ast.CompositeLit:
				if !isType(c.TypesInfo.TypeOf(x), "TurnLoopConfig") {
					return
				}
				for _, elt := range x.Elts {
					field, ok := elt.(*ast.KeyValueExpr)
					if !ok {
						continue
					}
					if name, ok := field.Key.(*ast.Ident); ok && name.Name == "GenResume" {
						c.reportFailing(c.body(field.Value), 0)
					}
				}
			case *ast.AssignStmt:
				for i, left := range x.Lhs {
					field, ok := left.(*ast.SelectorExpr)
					if ok && len(x.Rhs) == len(x.Lhs) && field.Sel.Name == "GenResume" && isType(c.TypesInfo.TypeOf(field.X), "TurnLoopConfig") {
						c.reportFailing(c.body(x.Rhs[i]), 0)
					}
				}
			}
		})
	})

// body returns the body of a function literal, or of a function or method of this package.
func (c *check) body(e ast.Expr) *ast.BlockStmt {
	var id *ast.Ident
	switch x := ast.Unparen(e).(type) {
	case *ast.FuncLit:
		return x.Body
	case *ast.Ident:
		id = x
	case *ast.SelectorExpr:
		id = x.Sel
	default:
		return nil
	}
	fn, ok := c.TypesInfo.Uses[id].(*types.Func)
	if !ok {
		return nil
	}
	if decl := c.declaration(fn); decl != nil {
		return decl.Body
	}
	return nil
}

// mostDelegations is over how many functions that return what another one returned a check follows.
const mostDelegations = 5

// reportFailing reports the first return with an error, unless the function has a way out that is Weft's: a decision,
// or a stop without a checkpoint. A function that returns what another one of the package returns is as that one.
func (c *check) reportFailing(body *ast.BlockStmt, delegated int) {
	if body == nil || delegated > mostDelegations {
		return
	}
	var failing ast.Node
	var assigned ast.Node // an error, to a named result perhaps
	wayOut, bare := false, false
	var to []*ast.BlockStmt
	ast.Inspect(body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.Ident:
			wayOut = wayOut || x.Name == "WithSkipCheckpoint" || x.Name == "TurnLoopResumeDecisionStartNewTurn"
		case *ast.AssignStmt:
			if x.Tok == token.ASSIGN && len(x.Lhs) == 1 && assigned == nil && !c.TypesInfo.Types[x.Rhs[0]].IsNil() &&
				types.Identical(c.TypesInfo.TypeOf(x.Lhs[0]), types.Universe.Lookup("error").Type()) {
				assigned = x
			}
		case *ast.ReturnStmt:
			switch {
			case len(x.Results) == 0:
				bare = true
			case len(x.Results) == 2 && !c.TypesInfo.Types[x.Results[1]].IsNil() && failing == nil:
				failing = x
			case len(x.Results) == 1:
				if call, ok := x.Results[0].(*ast.CallExpr); ok {
					to = append(to, c.body(call.Fun))
				}
			}
		}
		return true
	})
	if failing == nil && bare {
		failing = assigned
	}
	if wayOut {
		return
	}
	for _, next := range to {
		c.reportFailing(next, delegated+1)
	}
	if failing != nil && !c.reported[failing] {
		c.reported[failing] = true
		c.report(failing, "when GenResume fails, Weft keeps the saved run, and the next loop finds it again: return "+
			"TurnLoopResumeDecisionStartNewTurn to give it up")
	}
}
