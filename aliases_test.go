package weft_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// source is the exported types of a package, as its files declare them.
type source struct {
	types   map[string]*ast.TypeSpec
	docs    map[string]string
	methods map[string][]string
	imports map[string]string // by the name that files use
}

func readSource(t *testing.T, dir string) *source {
	t.Helper()
	s := &source{map[string]*ast.TypeSpec{}, map[string]string{}, map[string][]string{}, map[string]string{}}
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			as := path[strings.LastIndex(path, "/")+1:]
			if i.Name != nil {
				as = i.Name.Name
			}
			s.imports[as] = path
		}
		for _, d := range file.Decls {
			s.declare(d)
		}
	}
	return s
}

func (s *source) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok {
				s.types[spec.Name.Name] = spec
				s.docs[spec.Name.Name] = d.Doc.Text() + spec.Doc.Text()
			}
		}
	case *ast.FuncDecl:
		if d.Recv != nil && d.Name.IsExported() {
			name, _ := named(d.Recv.List[0].Type)
			s.methods[name] = append(s.methods[name], d.Name.Name)
		}
	}
}

// named returns the name of a type, and the name of its package if it is of another one.
func named(e ast.Expr) (name, pkg string) {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name, ""
	case *ast.StarExpr:
		return named(e.X)
	case *ast.IndexExpr:
		return named(e.X)
	case *ast.SelectorExpr:
		_, in := named(e.X)
		if in == "" {
			in, _ = named(e.X)
		}
		return e.Sel.Name, in
	}
	return "", ""
}

// members are the exported fields and methods of a type.
func (s *source) members(name string) (all []string) {
	all = slices.Clone(s.methods[name])
	spec := s.types[name]
	if spec == nil {
		return nil
	}
	var fields *ast.FieldList
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		fields = typ.Fields
	case *ast.InterfaceType:
		fields = typ.Methods
	default:
		return all
	}
	for _, f := range fields.List {
		for _, n := range f.Names {
			if n.IsExported() {
				all = append(all, n.Name)
			}
		}
		if len(f.Names) > 0 {
			continue
		}
		embedded, pkg := named(f.Type)
		if _, isInterface := spec.Type.(*ast.InterfaceType); isInterface && pkg == "" {
			all = append(all, s.members(embedded)...)
		} else if ast.IsExported(embedded) {
			all = append(all, embedded)
		}
	}
	return all
}

// listed is an item of a list in a comment, with the members that it is about, or a method as code.
var listed = regexp.MustCompile(`(?m)^\s*- ((?:[A-Z]\w*)(?:, [A-Z]\w*)*):|^\t([A-Z]\w*)\(`)

// unlisted are aliases of which users are to know what their comments name, and nothing else.
var unlisted = []string{"adk.State", "adk.TypedState"}

// another is the comment of an alias that says which one, of another package, lists what it is.
var another = regexp.MustCompile(`(?m)^(\w+) is \w+\.(\w+)\.$`)

// TestAliases_ListWhatTheyAre: go doc shows neither the fields nor the methods of an alias, so that its comment has to
// list them.
func TestAliases_ListWhatTheyAre(t *testing.T) {
	checked, internal := 0, []string{}
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); dir != "." && (strings.HasPrefix(name, ".") || slices.Contains(
			[]string{"internal", "testdata", "tools", "examples", "ext", "bin", "docs", "compat", "cmd"}, name)) {
			return fs.SkipDir
		}
		s := readSource(t, dir)
		for name, spec := range s.types {
			if !spec.Assign.IsValid() || !spec.Name.IsExported() || slices.Contains(unlisted, dir+"."+name) {
				continue
			}
			target, in := s, dir
			original, pkg := named(spec.Type)
			if pkg != "" {
				var inside bool
				if in, inside = strings.CutPrefix(s.imports[pkg], module); !inside || isPointer(spec) {
					continue
				}
				target = readSource(t, in)
			}
			if ast.IsExported(original) && !isInstance(spec) && !strings.Contains("/"+in+"/", "/internal/") {
				continue // go doc shows all of the type, where it is declared
			}
			if strings.Contains("/"+in+"/", "/internal/") {
				internal = append(internal, dir+"."+name)
			}
			if m := another.FindStringSubmatch(s.docs[name]); m != nil && m[1] == name && m[2] == name {
				continue
			}
			if want := target.members(original); len(want) > 0 {
				checked++
				checkListed(t, dir+"."+name, s.docs[name], want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 30 {
		t.Errorf("only %d aliases were found", checked)
	}
	// Most of these have the names and packages that users of Eino know.
	if most := 22; len(internal) != most {
		t.Errorf("%d exported types are aliases of internal ones, and %d were: declare a new one where users find it\n%s", len(internal), most,
			strings.Join(internal, "\n"))
	}
}

// isPointer reports whether an alias is another name of a pointer: of a message, or a stream of them.
func isPointer(spec *ast.TypeSpec) bool {
	_, pointer := spec.Type.(*ast.StarExpr)
	return pointer
}

// isInstance reports whether an alias is a generic type for one kind of message.
func isInstance(spec *ast.TypeSpec) bool {
	_, instance := spec.Type.(*ast.IndexExpr)
	return instance
}

func checkListed(t *testing.T, name, doc string, want []string) {
	t.Helper()
	var got []string
	for _, item := range listed.FindAllStringSubmatch(doc, -1) {
		got = append(got, strings.Split(item[1]+item[2], ", ")...)
	}
	slices.Sort(got)
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(got, want) {
		t.Errorf("the comment of alias %s lists %q, and the type has %q", name, got, want)
	}
}
