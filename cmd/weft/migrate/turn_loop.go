package migrate

import (
	"go/ast"
	"go/types"
)

var genResume = newAnalyzer("genresume",
	"GenResume functions that return an error: on Weft the saved run is kept", "a-turnloop-whose-genresume-fails",
	func(c *check) {
		c.nodes.Preorder([]ast.Node{(*ast.CompositeLit)(nil)}, func(n ast.Node) {
			lit := n.(*ast.CompositeLit)
			if !isType(c.TypesInfo.TypeOf(lit), "TurnLoopConfig") {
				return
			}
			for _, elt := range lit.Elts {
				field, ok := elt.(*ast.KeyValueExpr)
				if !ok {
					continue
				}
				if name, ok := field.Key.(*ast.Ident); ok && name.Name == "GenResume" {
					c.reportFailing(c.body(field.Value))
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
	for _, file := range c.Files {
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && c.TypesInfo.Defs[d.Name] == fn {
				return d.Body
			}
		}
	}
	return nil
}

// reportFailing reports the first return with an error, unless the function has a way out that is Weft's: a decision,
// or a stop without a checkpoint.
func (c *check) reportFailing(body *ast.BlockStmt) {
	if body == nil {
		return
	}
	var failing ast.Node
	wayOut := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.Ident:
			wayOut = wayOut || x.Name == "WithSkipCheckpoint" || x.Name == "TurnLoopResumeDecisionStartNewTurn"
		case *ast.ReturnStmt:
			if len(x.Results) == 2 && !c.TypesInfo.Types[x.Results[1]].IsNil() && failing == nil {
				failing = x
			}
		}
		return true
	})
	if failing != nil && !wayOut {
		c.report(failing, "when GenResume fails, Weft keeps the saved run, and the next loop finds it again: return "+
			"TurnLoopResumeDecisionStartNewTurn to give it up")
	}
}
