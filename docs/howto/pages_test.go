package howto

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pages")

// page is one page: its name, the question that it answers, and its text.
type page struct{ name, question, text string }

// TestPages holds the pages in docs/how-to against the examples that they are made of. With -update it writes them.
func TestPages(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var pages []page
	for _, file := range files {
		if file == "main_test.go" || file == "pages_test.go" {
			continue
		}
		pages = append(pages, pageOf(t, file))
	}
	slices.SortFunc(pages, func(a, b page) int { return strings.Compare(a.name, b.name) })
	if len(pages) < 30 {
		t.Errorf("there are %d pages only", len(pages))
	}
	index := "# How do I …\n\nEach page answers one question with a program that is compiled and run by a test.\n\n"
	for _, p := range pages {
		check(t, p.name+".md", p.text)
		index += fmt.Sprintf("- [%s](%s.md)\n", p.question, p.name)
	}
	check(t, "README.md", index)
}

func check(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join("..", "how-to", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what its example says (%v): run go test ./docs/howto -update", path, err)
	}
}

// pageOf makes the page of a file with one example: its comment is the text, and the file the program, with main
// instead of the example.
func pageOf(t *testing.T, file string) page {
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "Example") {
			continue
		}
		question, text, ok := strings.Cut(f.Doc.Text(), "\n\n")
		if !ok {
			t.Fatalf("%s: the comment has no text behind the question", file)
		}
		start, end := fset.Position(f.Doc.Pos()).Offset, fset.Position(f.Doc.End()).Offset
		program := string(source[:start]) + strings.TrimLeft(string(source[end:]), "\n")
		program = strings.Replace(program, "package howto", "package main", 1)
		program = strings.Replace(program, f.Name.Name+"(", "main(", 1)
		program, output, _ := strings.Cut(strings.TrimSpace(program), "\t// Output:")
		output = strings.NewReplacer("\t// ", "", "\t//", "", "\n}", "").Replace(output)
		var b bytes.Buffer
		fmt.Fprintf(&b, "# %s\n\n%s\n```go\n%s}\n```\n\nIt prints\n\n```\n%s\n```\n", strings.TrimSpace(question), text, program, strings.TrimSpace(output))
		b.WriteString(notes(program))
		name := strings.ReplaceAll(strings.TrimSuffix(file, "_test.go"), "_", "-")
		return page{name, strings.TrimSpace(question), linked(b.String())}
	}
	t.Fatalf("%s has no example", file)
	return page{}
}

// notes says what the stand-ins in a program are.
func notes(program string) string {
	notes := ""
	if strings.Contains(program, "answers(") {
		notes = "`answers` stands for [a model of a provider](../providers.md): it gives these answers one after the other, and `call` is the call of a tool."
	}
	if strings.Contains(program, "must(") {
		notes = strings.TrimSpace(notes + " `must` ends the program with an error.")
	}
	if notes == "" {
		return ""
	}
	return "\n" + notes + "\n"
}

// linked makes links of the names of pages.
func linked(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "docs/")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, rest, ok := strings.Cut(rest, ".md")
		if !ok {
			b.WriteString("docs/" + name)
			return b.String()
		}
		fmt.Fprintf(&b, "[%s](../%s.md)", name, name)
		text = rest
	}
}
