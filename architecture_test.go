package weft_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// section returns a section of ARCHITECTURE.md, without its heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("ARCHITECTURE.md has no section %q", heading)
	}
	here, _, _ := strings.Cut(rest, "\n## ")
	return here
}

// isOfTheCore reports whether a file is compiled into programs, and belongs to the module at the root.
func isOfTheCore(file string) bool {
	for _, outside := range []string{"ext/", "examples/", "cmd/", "compat/", "interop/", "tools/"} {
		if strings.HasPrefix(file, outside) {
			return false
		}
	}
	return !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(path.Dir(file), "test") && !strings.Contains(file, "testdata/")
}

// eachCoreFile calls f with the syntax of every file of the core.
func eachCoreFile(t *testing.T, f func(file string, syntax *ast.File)) {
	t.Helper()
	eachGoFile(t, func(file, text string) {
		if !isOfTheCore(file) {
			return
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		f(file, syntax)
	})
}

// startsGoroutines reports whether a file has a go statement, or calls a method Go, as groups of goroutines have.
func startsGoroutines(syntax *ast.File) (found bool) {
	ast.Inspect(syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" {
				found = true
			}
		}
		return !found
	})
	return found
}

// TestArchitecture_ListsEveryGoroutine: the table names each file of the core that starts one, and no other.
func TestArchitecture_ListsEveryGoroutine(t *testing.T) {
	var listed []string
	for line := range strings.Lines(section(t, "Goroutines")) {
		if strings.HasPrefix(line, "|") {
			for _, m := range regexp.MustCompile("`([a-z_/0-9]+/[a-z_0-9]+\\.go)`").FindAllStringSubmatch(line, -1) {
				listed = append(listed, m[1])
			}
		}
	}
	eachCoreFile(t, func(file string, syntax *ast.File) {
		switch starts, i := startsGoroutines(syntax), slices.Index(listed, file); {
		case starts && i < 0:
			t.Errorf("%s starts a goroutine that the table of ARCHITECTURE.md lacks: say there when it ends", file)
		case !starts && i >= 0:
			t.Errorf("%s is in the table of goroutines of ARCHITECTURE.md and starts none", file)
		}
		listed = slices.DeleteFunc(listed, func(l string) bool { return l == file })
	})
	for _, file := range listed {
		t.Errorf("the table of goroutines of ARCHITECTURE.md names %s, which does not exist", file)
	}
}

// TestArchitecture_ListsEveryContextKey: the table names each type of key of adk, compose and internal, in its package, and
// no other.
func TestArchitecture_ListsEveryContextKey(t *testing.T) {
	listed := map[string]bool{} // by package and name
	names := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(section(t, "Contexts and their keys")) {
		columns := strings.Split(line, "|")
		if len(columns) < 6 {
			continue
		}
		for _, pkg := range names.FindAllStringSubmatch(columns[2], -1) {
			for _, key := range names.FindAllStringSubmatch(columns[1], -1) {
				listed[pkg[1]+"."+key[1]] = true
			}
		}
	}
	if len(listed) == 0 {
		t.Fatal("ARCHITECTURE.md has no table of keys")
	}
	key := regexp.MustCompile(`(^k|K)ey$`)
	eachCoreFile(t, func(file string, syntax *ast.File) {
		dir := path.Dir(file)
		if dir != "adk" && dir != "compose" && !strings.HasPrefix(dir, "internal/") && !strings.HasPrefix(dir, "adk/internal/") {
			return
		}
		for _, d := range syntax.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				continue
			}
			for _, spec := range decl.Specs {
				spec := spec.(*ast.TypeSpec)
				s, isStruct := spec.Type.(*ast.StructType)
				if !isStruct || len(s.Fields.List) > 0 || !key.MatchString(spec.Name.Name) {
					continue
				}
				if name := dir + "." + spec.Name.Name; listed[name] {
					delete(listed, name)
				} else {
					t.Errorf("the table of keys of ARCHITECTURE.md lacks %s of %s", spec.Name.Name, dir)
				}
			}
		}
	})
	for name := range listed {
		t.Errorf("the table of keys of ARCHITECTURE.md has %s, which is no type of an empty struct", name)
	}
}
