package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// generate returns the files of the shim by their path below outDir.
func generate(dir string) (map[string][]byte, error) {
	wanted, err := readWanted(dir)
	if err != nil {
		return nil, err
	}
	pkgs, err := load(dir)
	if err != nil {
		return nil, err
	}
	names := publicNames(pkgs, wanted)
	files := map[string][]byte{}
	var problems []error
	for _, rel := range slices.Sorted(maps.Keys(wanted)) {
		pkg := pkgs[weftModule+"/"+rel]
		if pkg == nil {
			problems = append(problems, fmt.Errorf("package %s: there is none in Weft", rel))
			continue
		}
		s := newShim(pkg, rel, wanted, names)
		text, err := s.file()
		if err != nil {
			problems = append(problems, fmt.Errorf("package %s: %w", rel, err))
			continue
		}
		files[rel+"/"+path.Base(rel)+".go"] = text
	}
	return files, errors.Join(problems...)
}

// publicNames returns the wanted aliases of types that are declared in an internal package.
func publicNames(pkgs map[string]*packages.Package, wanted listing) map[types.Object]types.Object {
	names := map[types.Object]types.Object{}
	for _, rel := range slices.Sorted(maps.Keys(wanted)) {
		pkg := pkgs[weftModule+"/"+rel]
		if pkg == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(wanted[rel])) {
			alias, ok := pkg.Types.Scope().Lookup(name).(*types.TypeName)
			if !ok || !alias.IsAlias() {
				continue
			}
			if t, named := types.Unalias(alias.Type()).(*types.Named); named && names[t.Obj()] == nil {
				names[t.Obj()] = alias
			}
		}
	}
	return names
}

func load(dir string) (map[string]*packages.Package, error) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
		Dir: dir,
		Env: append(os.Environ(), "GOWORK=off"),
	}, "./...")
	if err != nil {
		return nil, err
	}
	pkgs := map[string]*packages.Package{}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("package %s: %w", p.PkgPath, p.Errors[0])
		}
		pkgs[p.PkgPath] = p
	}
	return pkgs, nil
}

// effects has packages that the shim imports for their effect, by the name that does nothing without them: programs that
// were written for Eino do not import them.
var effects = map[string]string{"schema/Jinja2": weftModule + "/ext/jinja"}

// A shim writes one package of aliases.
type shim struct {
	pkg    *packages.Package
	rel    string // path of the package in both modules
	wanted listing
	public map[types.Object]types.Object
	decls  map[string]declaration

	imports map[string]string // name in the file by import path
	consts  map[string][]string
	vars    []string
	types   []string
	funcs   []string
}

func newShim(pkg *packages.Package, rel string, wanted listing, public map[types.Object]types.Object) *shim {
	return &shim{
		pkg: pkg, rel: rel, wanted: wanted, public: public, decls: declarations(pkg),
		imports: map[string]string{}, consts: map[string][]string{},
	}
}

// file returns the text of the package.
func (s *shim) file() ([]byte, error) {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(s.wanted[s.rel])) {
		obj := s.pkg.Types.Scope().Lookup(name)
		if obj == nil {
			problems = append(problems, fmt.Errorf("there is no %s in Weft", name))
			continue
		}
		if err := s.declare(obj); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n//lint:file-ignore SA1019 what is deprecated has its name here, too\n\n", header)
	fmt.Fprintf(&b, "%s//\n", s.packageDoc())
	fmt.Fprintf(&b, "// It is another name of package %s:\n// all types are the same types.\n", s.pkg.PkgPath)
	fmt.Fprintf(&b, "package %s\n\n", s.pkg.Name)
	for name, importPath := range effects {
		if rel, constant := path.Split(name); strings.TrimSuffix(rel, "/") == s.rel && s.wanted[s.rel][constant] {
			s.imports[importPath] = "_"
		}
	}
	s.writeImports(&b)
	for _, typ := range slices.Sorted(maps.Keys(s.consts)) {
		fmt.Fprintf(&b, "const (\n%s\n)\n\n", strings.Join(s.consts[typ], "\n"))
	}
	if len(s.vars) > 0 {
		fmt.Fprintf(&b, "var (\n%s\n)\n\n", strings.Join(s.vars, "\n"))
	}
	b.WriteString(strings.Join(s.types, "\n\n") + "\n\n" + strings.Join(s.funcs, "\n\n") + "\n")
	return format.Source([]byte(b.String()))
}

func (s *shim) packageDoc() string {
	for _, f := range s.pkg.Syntax {
		if f.Doc != nil {
			return comment(f.Doc)
		}
	}
	return fmt.Sprintf("// Package %s is a package of Weft.\n", s.pkg.Name)
}

func (s *shim) writeImports(b *strings.Builder) {
	b.WriteString("import (\n")
	paths := slices.Sorted(maps.Keys(s.imports))
	for _, std := range []bool{true, false} {
		for _, p := range paths {
			if std != !strings.Contains(p, ".") {
				continue
			}
			if name := s.imports[p]; name == path.Base(p) {
				fmt.Fprintf(b, "%q\n", p)
			} else {
				fmt.Fprintf(b, "%s %q\n", name, p)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString(")\n\n")
}

// declare adds the declaration of an object of Weft.
func (s *shim) declare(obj types.Object) error {
	name, d := obj.Name(), s.decls[obj.Name()]
	own := s.importName(weftModule+"/"+s.rel, s.pkg.Name) + "." + name
	switch x := obj.(type) {
	case *types.Const:
		typ := ""
		if t, named := types.Unalias(x.Type()).(*types.Named); named && t.Obj().Pkg() == s.pkg.Types &&
			s.wanted[s.rel][t.Obj().Name()] {
			typ = t.Obj().Name()
		}
		s.consts[typ] = append(s.consts[typ], fmt.Sprintf("%s%s %s = %s", d.doc, name, typ, own))
	case *types.Var:
		s.vars = append(s.vars, fmt.Sprintf("%s%s = %s", d.doc, name, own))
	case *types.TypeName:
		decl, use, err := s.typeParams(d.typeParams)
		if err != nil {
			return err
		}
		s.types = append(s.types, fmt.Sprintf("%stype %s%s = %s%s", d.doc, name, decl, own, use))
	case *types.Func:
		text, err := s.wrapper(name, own, d)
		if err != nil {
			return err
		}
		s.funcs = append(s.funcs, d.doc+text)
	}
	return nil
}

// wrapper declares a function that calls the one of Weft. It is small enough to be inlined.
func (s *shim) wrapper(name, own string, d declaration) (string, error) {
	decl, use, err := s.typeParams(d.signature.TypeParams)
	if err != nil {
		return "", err
	}
	var params, args []string
	for _, field := range d.signature.Params.List {
		typ, err := s.expr(field.Type)
		if err != nil {
			return "", err
		}
		names := field.Names
		if len(names) == 0 {
			names = []*ast.Ident{{Name: "_"}}
		}
		for _, n := range names {
			arg := n.Name
			switch {
			case arg == "_" && typ == "context.Context":
				arg = "ctx"
			case arg == "_":
				arg = fmt.Sprintf("p%d", len(params))
			}
			params = append(params, arg+" "+typ)
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				arg += "..."
			}
			args = append(args, arg)
		}
	}
	results, returns := "", ""
	if r := d.signature.Results; r != nil {
		returns = "return "
		var parts []string
		for _, field := range r.List {
			typ, err := s.expr(field.Type)
			if err != nil {
				return "", err
			}
			var names []string
			for _, n := range field.Names {
				names = append(names, n.Name)
			}
			parts = append(parts, strings.Join(names, ", ")+" "+typ)
		}
		results = "(" + strings.Join(parts, ", ") + ")"
		if len(r.List) == 1 && len(r.List[0].Names) == 0 {
			results = parts[0]
		}
	}
	return fmt.Sprintf("func %s%s(%s) %s {\n%s%s%s(%s)\n}", name, decl, strings.Join(params, ", "), results,
		returns, own, use, strings.Join(args, ", ")), nil
}

// typeParams returns a list of type parameters as a declaration has it, and as a use has it.
func (s *shim) typeParams(list *ast.FieldList) (decl, use string, err error) {
	if list == nil || len(list.List) == 0 {
		return "", "", nil
	}
	var decls, uses []string
	for _, field := range list.List {
		constraint, err := s.expr(field.Type)
		if err != nil {
			return "", "", err
		}
		for _, n := range field.Names {
			decls, uses = append(decls, n.Name+" "+constraint), append(uses, n.Name)
		}
	}
	return "[" + strings.Join(decls, ", ") + "]", "[" + strings.Join(uses, ", ") + "]", nil
}

// A declaration is what the source says of a name.
type declaration struct {
	doc        string
	typeParams *ast.FieldList // of a type
	typ        ast.Expr       // of a type
	signature  *ast.FuncType  // of a function
}

func declarations(pkg *packages.Package) map[string]declaration {
	all := map[string]declaration{}
	for _, file := range pkg.Syntax {
		for _, decl := range file.Decls {
			switch x := decl.(type) {
			case *ast.FuncDecl:
				if x.Recv == nil {
					all[x.Name.Name] = declaration{doc: comment(x.Doc), signature: x.Type}
				}
			case *ast.GenDecl:
				declared(x, all)
			}
		}
	}
	return all
}

// declared adds what a const, var or type declaration has.
func declared(decl *ast.GenDecl, all map[string]declaration) {
	for _, spec := range decl.Specs {
		switch x := spec.(type) {
		case *ast.TypeSpec:
			doc := x.Doc
			if doc == nil && !decl.Lparen.IsValid() {
				doc = decl.Doc
			}
			all[x.Name.Name] = declaration{doc: comment(doc), typeParams: x.TypeParams, typ: x.Type}
		case *ast.ValueSpec:
			doc := x.Doc
			if doc == nil {
				doc = x.Comment
			}
			if doc == nil && decl.Tok != token.IMPORT && len(decl.Specs) == 1 {
				doc = decl.Doc
			}
			for _, n := range x.Names {
				all[n.Name] = declaration{doc: comment(doc)}
			}
		}
	}
}

// comment returns the first paragraph of a doc comment, and those that say what is deprecated, as a comment.
func comment(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	var b strings.Builder
	for i, paragraph := range strings.Split(strings.TrimSpace(doc.Text()), "\n\n") {
		if i > 0 && !strings.HasPrefix(paragraph, "Deprecated:") {
			continue
		}
		if i > 0 {
			b.WriteString("//\n")
		}
		b.WriteString("// " + strings.ReplaceAll(paragraph, "\n", "\n// ") + "\n")
	}
	return b.String()
}
