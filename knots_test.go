package weft_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/weftgo/weft/internal/mock/racedetector"
)

// knotsFile has, by package, how many files the largest knot may have.
const knotsFile = "testdata/knots.txt"

// TestKnots_NoPackageGetsMoreTangled computes the largest knot of each package of the core: the files that use each other's
// declarations in a circle, so that none is read without the others. The numbers of testdata/knots.txt may only fall.
func TestKnots_NoPackageGetsMoreTangled(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("it reads source files, for a minute with the race detector")
	}
	files := map[string][]*ast.File{} // by package
	positions := token.NewFileSet()
	eachGoFile(t, func(file, text string) {
		if !isOfTheCore(file) || strings.HasSuffix(file, "_windows.go") || strings.HasSuffix(file, "_other.go") {
			return
		}
		syntax, err := parser.ParseFile(positions, file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[path.Dir(file)] = append(files[path.Dir(file)], syntax)
	})
	most := map[string]int{}
	text, err := os.ReadFile(knotsFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var pkg string
		var n int
		if _, err := fmt.Sscan(line, &pkg, &n); err != nil {
			t.Fatalf("%s: %q: %v", knotsFile, line, err)
		}
		most[pkg] = n
	}
	for _, pkg := range slices.Sorted(maps.Keys(files)) {
		knot := largestKnot(usesOf(positions, files[pkg]))
		switch n := len(knot); {
		case n > max(most[pkg], 2):
			t.Errorf("%d files of %s use each other in a circle, and %s allows %d: %s", n, pkg, knotsFile, most[pkg],
				strings.Join(knot, ", "))
		case n < most[pkg]:
			t.Errorf("the largest knot of %s has %d files: write that into %s", pkg, n, knotsFile)
		}
	}
}

// anyImport is an importer of packages without declarations: what a package declares itself is all that is looked at.
type anyImport struct{}

func (anyImport) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// usesOf returns, by file, the files whose declarations it uses: functions, types, methods, fields, variables.
func usesOf(positions *token.FileSet, files []*ast.File) map[string][]string {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Error: func(error) {}, Importer: anyImport{}}
	pkg, _ := conf.Check("p", positions, files, info) // what is imported is missing, and that is an error
	fileOf := func(p token.Pos) string { return path.Base(positions.Position(p).Filename) }
	uses := map[string][]string{}
	for _, f := range files {
		uses[fileOf(f.Pos())] = nil
	}
	for id, object := range info.Uses {
		if object.Pkg() != pkg || !object.Pos().IsValid() || !isDeclaredByFile(pkg, object) {
			continue
		}
		if from, to := fileOf(id.Pos()), fileOf(object.Pos()); from != to && !slices.Contains(uses[from], to) {
			uses[from] = append(uses[from], to)
		}
	}
	return uses
}

// isDeclaredByFile reports whether an object is one of the package, a method or a field, and not local to a function.
func isDeclaredByFile(pkg *types.Package, object types.Object) bool {
	switch o := object.(type) {
	case *types.Func:
		return true
	case *types.Var:
		return o.IsField() || o.Parent() == pkg.Scope()
	}
	return object.Parent() == pkg.Scope()
}

// largestKnot returns the largest set of nodes each of which is reached from each other one.
func largestKnot(edges map[string][]string) (largest []string) {
	reached := func(from string) map[string]bool {
		seen := map[string]bool{}
		for next := []string{from}; len(next) > 0; {
			node := next[0]
			next = next[1:]
			for _, to := range edges[node] {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		return seen
	}
	all := map[string]map[string]bool{}
	for node := range edges {
		all[node] = reached(node)
	}
	for _, node := range slices.Sorted(maps.Keys(edges)) {
		var knot []string
		for _, other := range slices.Sorted(maps.Keys(edges)) {
			if all[node][other] && all[other][node] {
				knot = append(knot, other)
			}
		}
		if len(knot) > len(largest) {
			largest = knot
		}
	}
	return largest
}
