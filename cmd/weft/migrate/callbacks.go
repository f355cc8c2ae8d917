package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

var runNames = newAnalyzer("runnames",
	"comparisons of RunInfo.Name with ReAct: on Weft the graph of an agent has the agent's name"+"\n\n"+
		"It does not find names in maps, and those that are computed; names of chains and lambdas, such as Init, which programs use themselves.", "callbacks-of-agents",
	func(c *check) {
		equal := func(v, name string) bool { return v == name }
		found := func(name, text ast.Expr, same func(v, name string) bool) {
			sel, ok := ast.Unparen(name).(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Name" || !isType(c.TypesInfo.TypeOf(sel.X), "RunInfo") {
				return
			}
			if v, ok := c.text(text); ok && same(v, "ReAct") {
				c.report(text, "nothing inside an agent is called ReAct on Weft: its graph has the name of the agent")
			}
		}
		c.nodes.Preorder([]ast.Node{(*ast.BinaryExpr)(nil), (*ast.SwitchStmt)(nil), (*ast.CallExpr)(nil)}, func(n ast.Node) {
			switch x := n.(type) {
			case *ast.BinaryExpr:
				if x.Op == token.EQL || x.Op == token.NEQ {
					found(x.X, x.Y, equal)
					found(x.Y, x.X, equal)
				}
			case *ast.CallExpr:
				switch {
				case c.isFunc(x, "strings", "HasPrefix", "HasSuffix", "Contains"):
					found(x.Args[0], x.Args[1], equal)
				case c.isFunc(x, "strings", "EqualFold"):
					found(x.Args[0], x.Args[1], strings.EqualFold)
					found(x.Args[1], x.Args[0], strings.EqualFold)
				}
			case *ast.SwitchStmt:
				for _, clause := range x.Body.List {
					for _, value := range clause.(*ast.CaseClause).List {
						if x.Tag != nil {
							found(x.Tag, value, equal)
						}
					}
				}
			}
		})
	})

var graphStart = newAnalyzer("graphstart",
	"handlers of graphs that miss the start of an agent that streams: on Weft it is OnStartWithStreamInput"+"\n\n"+
		"It does not find handlers that are not given to utils/callbacks, as only a run says what they are for; builders in several statements.",
	"start-of-a-streaming-agent",
	func(c *check) {
		c.nodes.Preorder([]ast.Node{(*ast.CallExpr)(nil)}, func(n ast.Node) {
			call := n.(*ast.CallExpr)
			rel, name, ok := c.callee(call)
			if !ok || rel != "utils/callbacks" || name != "Graph" || len(call.Args) != 1 {
				return
			}
			methods := c.builderMethods(call.Args[0])
			if methods["OnStartFn"] && !methods["OnStartWithStreamInputFn"] {
				c.report(call.Args[0], "this handler does not see the start of an agent that streams: on Weft that is "+
					"OnStartWithStreamInput")
			}
		})
	})

// builderMethods returns the methods that were called on a callbacks.HandlerBuilder up to Build, in one expression,
// which may have been assigned to a variable before. It returns nil for anything else.
func (c *check) builderMethods(e ast.Expr) map[string]bool {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		v, _ := c.TypesInfo.Uses[id].(*types.Var)
		if v == nil {
			return nil
		}
		values, all := c.values(v)
		if !all || len(values) != 1 {
			return nil
		}
		e = values[0]
	}
	methods := map[string]bool{}
	for {
		call, ok := ast.Unparen(e).(*ast.CallExpr)
		if !ok {
			return nil
		}
		rel, name, ok := c.callee(call)
		if !ok || rel != "callbacks" {
			return nil
		}
		if name == "NewHandlerBuilder" {
			return methods
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return nil
		}
		methods[name] = true
		e = sel.X
	}
}
