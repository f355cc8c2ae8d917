package rewrite

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// schemaPackage is the package of Eino that names the formats of templates.
const schemaPackage = einoModule + "/schema"

// A goFile is what the imports of a Go file become.
type goFile struct {
	keepExt bool
	text    []byte // the new text
	moved   int    // imports with a new path
	jinja   bool   // whether the file needs an import of the engine of Jinja2 templates
	added   bool   // whether it got that
	imports []string
	notes   []note
}

// A note is something that a person has to look at.
type note struct {
	line int
	text string
}

// rewriteGo moves the imports of a file, and has one that names schema.Jinja2 import the engine of such templates. Only
// import declarations with such an import are formatted again; the rest of the text stays as it is, and need not even parse.
func rewriteGo(name string, text []byte, keepExt bool) (*goFile, error) {
	out := &goFile{text: text, keepExt: keepExt}
	if !bytes.Contains(text, []byte(einoModule)) && !bytes.Contains(text, []byte(weftModule)) {
		return out, nil
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	out.jinja = needsJinja(file, text)
	inImports := make([]bool, bytes.Count(text, []byte("\n"))+2)
	var b bytes.Buffer
	done := 0
	for _, decl := range file.Decls {
		from, to := offset(decl.Pos()), offset(decl.End())
		for line := fset.Position(decl.Pos()).Line; line <= fset.Position(decl.End()).Line; line++ {
			inImports[line] = true
		}
		block, changed := out.declaration(fset, decl.(*ast.GenDecl), text)
		if !changed {
			continue
		}
		b.Write(text[done:from])
		b.Write(formatted(block, isCRLF(text, from, to)))
		done = to
	}
	b.Write(text[done:])
	out.text = b.Bytes()
	out.mentions(text, inImports)
	return out, nil
}

// declaration returns the text of an import declaration with its new paths.
func (f *goFile) declaration(fset *token.FileSet, decl *ast.GenDecl, text []byte) (block []byte, changed bool) {
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	done := offset(decl.Pos())
	added := false // here
	for _, spec := range decl.Specs {
		imp := spec.(*ast.ImportSpec)
		old, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			continue
		}
		to, name, what := target(old, f.keepExt)
		f.imports = append(f.imports, to)
		if what == unknown {
			f.notes = append(f.notes, note{fset.Position(imp.Pos()).Line,
				"Weft has no package " + old + "; the import stays"})
		}
		if to == old {
			continue
		}
		changed = true
		f.moved++
		if f.jinja && !f.added && old == schemaPackage {
			first := offset(imp.Pos())
			if imp.Doc != nil {
				first = offset(imp.Doc.Pos())
			}
			block = append(block, text[done:first]...)
			block = append(block, "_ \""+jinjaModule+"\"\n"...)
			done, added, f.added = first, true, true
			f.imports = append(f.imports, jinjaModule)
		}
		block = append(block, text[done:offset(imp.Path.Pos())]...)
		if name != "" && imp.Name == nil {
			block = append(block, name+" "...)
		}
		block = strconv.AppendQuote(block, to)
		done = offset(imp.Path.End())
	}
	block = append(block, text[done:offset(decl.End())]...)
	if added && !decl.Lparen.IsValid() {
		block = fmt.Appendf(nil, "import (\n%s\n)", block[len("import"):])
	}
	return block, changed
}

// needsJinja reports whether a file names the format of Jinja2 templates by Eino's package, and has no engine for it.
func needsJinja(file *ast.File, text []byte) bool {
	names := map[string]bool{}
	for _, imp := range file.Imports {
		switch path, _ := strconv.Unquote(imp.Path.Value); {
		case path == jinjaModule:
			return false
		case path == schemaPackage && imp.Name != nil:
			names[imp.Name.Name] = true
		case path == schemaPackage:
			names["schema"] = true
		}
	}
	if len(names) == 0 {
		return false
	}
	var s scanner.Scanner // as what is behind the imports need not parse
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, 0)
	var before [2]string // the two tokens before this one
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return false
		case tok == token.IDENT && lit == "Jinja2":
			if qualified := before[1] == "."; qualified && names[before[0]] || !qualified && names["."] {
				return true
			}
		case tok == token.PERIOD:
			lit = "."
		}
		before = [2]string{before[1], lit}
	}
}

// isCRLF reports whether the lines of a declaration, or the one that it ends in, end in CR LF, as on Windows.
func isCRLF(text []byte, from, to int) bool {
	end := bytes.IndexByte(text[to:], '\n')
	return bytes.Contains(text[from:to], []byte("\r\n")) || end > 0 && text[to+end-1] == '\r'
}

// formatted sorts the imports of a declaration as gofmt does.
func formatted(block []byte, crlf bool) []byte {
	const head = "package p\n\n"
	whole, err := format.Source(append([]byte(head), block...))
	if err != nil {
		return block
	}
	whole = bytes.TrimSuffix(whole[len(head):], []byte("\n"))
	if crlf {
		whole = bytes.ReplaceAll(whole, []byte("\n"), []byte("\r\n"))
	}
	return whole
}

// mentions notes the lines behind the imports that have a path of Eino's: directives, mocks, texts.
func (f *goFile) mentions(text []byte, inImports []bool) {
	line := 0
	for l := range bytes.Lines(text) {
		line++
		if inImports[line] || !bytes.Contains(l, []byte(einoModule)) {
			continue
		}
		shown := strings.TrimSpace(string(l))
		if len(shown) > 100 {
			shown = shown[:100] + "…"
		}
		f.notes = append(f.notes, note{line, fmt.Sprintf("a path of Eino outside of the imports stays: %s", shown)})
	}
	slices.SortFunc(f.notes, func(a, b note) int { return a.line - b.line })
}
