// Command rename renames exported things over all modules of a checkout, with the types of the compiler: things of one package
// become things of another one, or have another name.
//
//	go run ./rename table.txt      (in tools)
//
// A line of the table has the old name and the new one, with their packages:
//
//	flow.Old flow/next.New
//	flow.Reader.Get flow.Reader.Read
//
// Packages are below the module of Weft. The second form is of a method or a field, which stays in its type: only its last part
// counts. A line of three selects methods: those of a name whose parameters or results have a type get the third as their name.
//
//	Get flow.Item Read
//
// What is renamed has to exist still, so that programs compile before and, once it is gone, after. Comments and Markdown
// that name it with its package are changed, too.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
)

const module = "github.com/weftgo/weft"

// target is a new name: of a package, or of a member for "".
type target struct{ pkg, name string }

type edit struct {
	from, to int
	text     string
}

type renamer struct {
	table map[string]target // by "package.Name" or "package.Type.Member"
	edits map[string][]edit
	needs map[string]map[string]bool // the imports that files need
	texts []textRule
	calls []signature
}

// signature selects methods by their name and a type that one of their parameters or results has.
type signature struct{ name, has, to string }

// textRule is a rename in comments and Markdown.
type textRule struct {
	old *regexp.Regexp
	new string
}

func main() {
	log.SetFlags(0)
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		log.Fatal(err)
	}
	if err := os.Chdir(strings.TrimSpace(string(root))); err != nil {
		log.Fatal(err)
	}
	r := &renamer{table: map[string]target{}, edits: map[string][]edit{}, needs: map[string]map[string]bool{}}
	if err := r.read(os.Args[1]); err != nil {
		log.Fatal(err)
	}
	work, err := os.ReadFile("go.work")
	if err != nil {
		log.Fatal(err)
	}
	for _, dir := range modules() {
		if dir != "." && inWork(work, dir) {
			continue // with "."
		}
		if err := r.load(dir, work); err != nil {
			log.Fatal(err)
		}
	}
	if err := r.write(); err != nil {
		log.Fatal(err)
	}
	if err := r.prose(); err != nil {
		log.Fatal(err)
	}
}

func (r *renamer) read(table string) error {
	data, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) == 3 {
			r.calls = append(r.calls, signature{f[0], path.Join(module, f[1]), f[2]})
		}
		if len(f) != 2 || strings.HasPrefix(f[0], "#") {
			continue
		}
		oldPkg, oldName := split(f[0])
		newPkg, newName := split(f[1])
		if strings.Contains(oldName, ".") {
			to := newName[strings.LastIndex(newName, ".")+1:]
			r.table[path.Join(module, oldPkg)+"."+oldName] = target{"", to}
			typ, _, _ := strings.Cut(strings.TrimPrefix(oldName, "Typed"), ".")
			r.texts = append(r.texts, textRule{regexp.MustCompile(`\b(Typed|)` + strings.TrimPrefix(oldName, "Typed") + `\b`), "${1}" + typ + "." + to})
			continue
		}
		r.table[path.Join(module, oldPkg)+"."+oldName] = target{path.Join(module, newPkg), newName}
		r.texts = append(r.texts, textRule{regexp.MustCompile(`\b` + path.Base(oldPkg) + `\.` + oldName + `\b`), path.Base(newPkg) + "." + newName})
	}
	return nil
}

// split splits a name behind its package, whose last element has no dot.
func split(name string) (pkg, rest string) {
	slash := strings.LastIndex(name, "/")
	dot := slash + 1 + strings.Index(name[slash+1:], ".")
	return name[:dot], name[dot+1:]
}

// modules are the folders of all modules.
func modules() (dirs []string) {
	_ = filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if err == nil && d.Name() == "go.mod" {
			dirs = append(dirs, filepath.Dir(p))
		}
		return nil
	})
	return dirs
}

// load finds what is renamed in the packages of a module, or of all modules of the workspace for ".". Dependencies are read
// without the bodies of their functions.
func (r *renamer) load(dir string, work []byte) error {
	patterns, env := []string{"./..."}, os.Environ()
	if dir != "." {
		env = append(env, "GOWORK=off")
	} else {
		for _, m := range modules() {
			if m != "." && inWork(work, m) {
				patterns = append(patterns, "./"+m+"/...")
			}
		}
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	all, err := packages.Load(&packages.Config{Dir: dir, Tests: true, Env: env,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			if strings.HasPrefix(name, root) {
				return parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
			}
			f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
			if f != nil {
				for _, d := range f.Decls {
					if d, ok := d.(*ast.FuncDecl); ok {
						d.Body = nil
					}
				}
			}
			return f, err
		}}, patterns...)
	if err != nil {
		return err
	}
	for _, p := range all {
		for _, e := range p.Errors {
			log.Printf("%s: %v", p.PkgPath, e)
		}
		for _, f := range p.Syntax {
			r.file(p, f)
		}
	}
	return nil
}

func inWork(work []byte, dir string) bool { return bytes.Contains(work, []byte("./"+dir+"\n")) }

// target finds the new name of an object.
func (r *renamer) target(o types.Object) (target, bool) {
	if o == nil || o.Pkg() == nil {
		return target{}, false
	}
	if t, ok := r.table[o.Pkg().Path()+"."+o.Name()]; ok && o.Parent() == o.Pkg().Scope() {
		return t, true
	}
	return target{}, false
}

func (r *renamer) file(p *packages.Package, f *ast.File) {
	name := p.Fset.Position(f.Pos()).Filename
	if !strings.HasSuffix(name, ".go") || ast.IsGenerated(f) && strings.Contains(name, "/compat/") {
		return
	}
	at := func(pos token.Pos) int { return p.Fset.Position(pos).Offset }
	add := func(from, to token.Pos, text string) {
		e := edit{at(from), at(to), text}
		if !slices.Contains(r.edits[name], e) {
			r.edits[name] = append(r.edits[name], e)
		}
	}
	qualified := map[*ast.Ident]bool{}
	needs := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			qualified[n.Sel] = true
			if t, ok := r.target(p.TypesInfo.Uses[n.Sel]); ok {
				if t.pkg == p.Types.Path() {
					add(n.Pos(), n.End(), t.name)
				} else {
					add(n.Pos(), n.End(), path.Base(t.pkg)+"."+t.name)
					r.need(name, t.pkg)
					needs = true
				}
			} else if to, ok := r.member(p.TypesInfo.Uses[n.Sel]); ok {
				add(n.Sel.Pos(), n.Sel.End(), to)
			}
		case *ast.Ident:
			if qualified[n] {
				break
			}
			o := p.TypesInfo.Defs[n]
			if o == nil {
				o = p.TypesInfo.Uses[n]
			}
			if to, ok := r.member(o); ok {
				add(n.Pos(), n.End(), to)
			} else if t, ok := r.target(o); ok && t.pkg == p.Types.Path() && t.pkg == o.Pkg().Path() {
				add(n.Pos(), n.End(), t.name)
			} else if t, ok := r.target(p.TypesInfo.Uses[n]); ok && t.pkg != p.Types.Path() {
				add(n.Pos(), n.End(), path.Base(t.pkg)+"."+t.name)
				r.need(name, t.pkg)
				needs = true
			}
		}
		return true
	})
	if !needs {
		return
	}
	// Local names that hide the new package.
	hides, hidden := map[string]bool{}, map[types.Object]string{}
	for pkg := range r.needs[name] {
		hides[path.Base(pkg)] = true
	}
	for id, o := range p.TypesInfo.Defs {
		if o == nil || !hides[id.Name] || p.Fset.Position(id.Pos()).Filename != name {
			continue
		}
		if v, ok := o.(*types.Var); ok && !v.IsField() {
			hidden[o] = free(f, id, v.Type())
		}
	}
	for _, of := range []map[*ast.Ident]types.Object{p.TypesInfo.Defs, p.TypesInfo.Uses} {
		for id, o := range of {
			if to, ok := hidden[o]; ok && p.Fset.Position(id.Pos()).Filename == name {
				add(id.Pos(), id.End(), to)
			}
		}
	}
}

// member is the new name of a method or field.
func (r *renamer) member(o types.Object) (string, bool) {
	switch o := o.(type) {
	case *types.Func:
		recv := o.Signature().Recv()
		if recv == nil {
			return "", false
		}
		if named := namedOf(recv.Type()); named != nil && named.Pkg() != nil {
			if t, ok := r.table[named.Pkg().Path()+"."+named.Name()+"."+o.Name()]; ok {
				return t.name, true
			}
		}
		for _, c := range r.calls {
			if o.Name() == c.name && regexp.MustCompile(regexp.QuoteMeta(c.has)+`\b`).MatchString(o.Signature().String()) {
				return c.to, true
			}
		}
	case *types.Var:
		if !o.IsField() || o.Pkg() == nil {
			return "", false
		}
		scope := o.Pkg().Scope()
		for key, t := range r.table {
			of, ok := strings.CutPrefix(key, o.Pkg().Path()+".")
			typ, field, isMember := strings.Cut(of, ".")
			if !ok || !isMember || field != o.Name() {
				continue
			}
			if has, ok := scope.Lookup(typ).(*types.TypeName); ok {
				if s, ok := has.Type().Underlying().(*types.Struct); ok {
					for f := range s.Fields() {
						if f.Pos() == o.Pos() {
							return t.name, true
						}
					}
				}
			}
		}
	}
	return "", false
}

// namedOf is the type of a receiver.
func namedOf(t types.Type) *types.TypeName {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj()
	}
	return nil
}

// free is a name for a variable that nothing has in its function.
func free(f *ast.File, id *ast.Ident, t types.Type) string {
	names := []string{"all", "list", "theRuns"}
	switch types.Unalias(t).Underlying().(type) {
	case *types.Interface, *types.Pointer:
		names = []string{"store", "runStore", "theStore"}
	case *types.Basic:
		names = []string{"count", "many", "howMany"}
	}
	used := map[string]bool{}
	around, _ := astutil.PathEnclosingInterval(f, id.Pos(), id.End())
	var in ast.Node = f
	for _, n := range around {
		if d, ok := n.(*ast.FuncDecl); ok {
			in = d
		}
	}
	ast.Inspect(in, func(n ast.Node) bool {
		if i, ok := n.(*ast.Ident); ok {
			used[i.Name] = true
		}
		return true
	})
	for _, n := range names {
		if !used[n] {
			return n
		}
	}
	return names[len(names)-1] + "2"
}

func (r *renamer) need(file, pkg string) {
	if r.needs[file] == nil {
		r.needs[file] = map[string]bool{}
	}
	r.needs[file][pkg] = true
}

// write applies the edits.
func (r *renamer) write() error {
	for name, edits := range r.edits {
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
		for i, e := range edits {
			if i > 0 && edits[i-1].from < e.to {
				if edits[i-1] != e {
					log.Printf("%s: %v and %v overlap", name, edits[i-1], e)
				}
				continue
			}
			src = slices.Concat(src[:e.from], []byte(e.text), src[e.to:])
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
		if err != nil {
			return err
		}
		for pkg := range r.needs[name] {
			astutil.AddImport(fset, f, pkg)
		}
		for _, group := range astutil.Imports(fset, f) {
			for _, spec := range group {
				p := strings.Trim(spec.Path.Value, `"`)
				if spec.Name == nil && strings.HasPrefix(p, module) && !astutil.UsesImport(f, p) {
					astutil.DeleteImport(fset, f, p)
				}
			}
		}
		var out bytes.Buffer
		if err := format.Node(&out, fset, f); err != nil {
			return err
		}
		if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	fmt.Println(len(r.edits), "files")
	return nil
}

// prose renames in comments and Markdown.
func (r *renamer) prose() error {
	return filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		markdown := strings.HasSuffix(p, ".md") && p != "CHANGELOG.md" && !strings.HasPrefix(p, "docs/decisions")
		if d.IsDir() || !markdown && !strings.HasSuffix(p, ".go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		lines := strings.SplitAfter(string(src), "\n")
		changed := false
		for i, line := range lines {
			if !markdown && !strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			for _, t := range r.texts {
				line = t.old.ReplaceAllString(line, t.new)
			}
			changed = changed || line != lines[i]
			lines[i] = line
		}
		if !changed {
			return nil
		}
		return os.WriteFile(p, []byte(strings.Join(lines, "")), 0o644)
	})
}
