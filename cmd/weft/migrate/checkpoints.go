package migrate

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

var checkpoints = newAnalyzer("checkpoints",
	"stores of checkpoints that outlive the process: what Eino has saved cannot be resumed"+"\n\n"+
		"It does not find a store of another module, whose Set is not looked into.", "checkpoints",
	func(c *check) {
		c.nodes.Preorder([]ast.Node{(*ast.FuncDecl)(nil)}, func(n ast.Node) {
			fn := n.(*ast.FuncDecl)
			obj, _ := c.TypesInfo.Defs[fn.Name].(*types.Func)
			if obj == nil || fn.Recv == nil || fn.Name.Name != "Set" || c.inTest(fn) || !c.isStore(obj) || !c.callsOut(fn, map[*ast.FuncDecl]bool{}) {
				return
			}
			c.report(fn.Name, "checkpoints that Eino saved in this store cannot be resumed on Weft: let those runs end, "+
				"or start them anew")
		})
	})

// inTest reports whether a node is in the file of a test. Its stores do not outlive it.
func (c *check) inTest(n ast.Node) bool {
	return strings.HasSuffix(c.Fset.Position(n.Pos()).Filename, "_test.go")
}

// isStore reports whether the type of a method is used as a store of checkpoints in this package.
func (c *check) isStore(set *types.Func) bool {
	recv := set.Signature().Recv().Type()
	if p, ok := recv.(*types.Pointer); ok {
		recv = p.Elem()
	}
	pointer := types.NewPointer(recv)
	for _, p := range c.Pkg.Imports() {
		rel, ours := packagePath(p.Path())
		if !ours || rel != "compose" && rel != "adk" {
			continue
		}
		store, _ := p.Scope().Lookup("CheckPointStore").(*types.TypeName)
		if store == nil {
			continue
		}
		if i, ok := store.Type().Underlying().(*types.Interface); ok && types.Implements(pointer, i) {
			return true
		}
	}
	return false
}

// callsOut reports whether a function calls something that may store data outside of memory: anything but the language,
// locks, copies and errors. Functions of the package are looked into; an interface of it may be anything.
func (c *check) callsOut(fn *ast.FuncDecl, seen map[*ast.FuncDecl]bool) bool {
	if seen[fn] {
		return false
	}
	seen[fn] = true
	inMemory := []string{
		"sync", "sync/atomic", "bytes", "slices", "maps", "errors", "fmt", "strings", "context", "time", "log",
		"log/slog", "runtime",
	}
	out := false
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := typeutil.Callee(c.TypesInfo, call).(type) {
		case *types.Func:
			if f.Pkg() == c.Pkg {
				recv := f.Signature().Recv()
				decl := c.declaration(f)
				out = out || recv != nil && types.IsInterface(recv.Type()) || decl != nil && decl.Body != nil && c.callsOut(decl, seen)
			}
			if f.Pkg() != nil && f.Pkg() != c.Pkg && !slices.Contains(inMemory, f.Pkg().Path()) {
				_, ours := packagePath(f.Pkg().Path())
				out = out || !ours
			}
		}
		return true
	})
	return out
}

// declaration returns the declaration of a function or method of this package.
func (c *check) declaration(fn *types.Func) *ast.FuncDecl {
	for _, file := range c.Files {
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && c.TypesInfo.Defs[d.Name] == fn {
				return d
			}
		}
	}
	return nil
}
