package rewrite

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestGo_MovesImports(t *testing.T) {
	cases := map[string]struct{ before, after string }{
		"of a block, which stays sorted": {
			"package p\n\nimport (\n\t\"context\"\n\n\t\"github.com/acme/tools\"\n\t\"github.com/cloudwego/eino/schema\"\n" +
				"\t\"github.com/cloudwego/eino/adk\" // agents\n\t\"github.com/zeta/z\"\n)\n",
			"package p\n\nimport (\n\t\"context\"\n\n\t\"github.com/acme/tools\"\n\t\"github.com/weftgo/weft/adk\" // agents\n" +
				"\t\"github.com/weftgo/weft/schema\"\n\t\"github.com/zeta/z\"\n)\n",
		},
		"without a block, and nothing else": {
			"package p\n\nimport   \"github.com/cloudwego/eino/adk\"\n\nfunc  f( ) { adk . X( ) }\n",
			"package p\n\nimport \"github.com/weftgo/weft/adk\"\n\nfunc  f( ) { adk . X( ) }\n",
		},
		"with names": {
			"package p\n\nimport (\n\tucb \"github.com/cloudwego/eino/utils/callbacks\"\n" +
				"\t_ \"github.com/cloudwego/eino/adk\"\n)\n",
			"package p\n\nimport (\n\t_ \"github.com/weftgo/weft/adk\"\n\tucb \"github.com/weftgo/weft/utils/callbacks\"\n)\n",
		},
		"as raw strings": {
			"package p\n\nimport `github.com/cloudwego/eino/adk`\n",
			"package p\n\nimport \"github.com/weftgo/weft/adk\"\n",
		},
		"of extension modules, which keep the name of their package": {
			"package p\n\nimport (\n\t\"github.com/cloudwego/eino-ext/components/model/claude\"\n" +
				"\t\"github.com/cloudwego/eino-ext/components/model/openai\"\n" +
				"\tds \"github.com/cloudwego/eino-ext/components/model/deepseek\"\n)\n",
			"package p\n\nimport (\n\tclaude \"github.com/weftgo/weft/ext/model/anthropic\"\n" +
				"\t\"github.com/weftgo/weft/ext/model/openai\"\n\tds \"github.com/weftgo/weft/ext/model/openai\"\n)\n",
		},
		"in front of code that does not parse": {
			"package p\n\nimport \"github.com/cloudwego/eino/adk\"\n\nfunc f( { := adk.\n",
			"package p\n\nimport \"github.com/weftgo/weft/adk\"\n\nfunc f( { := adk.\n",
		},
		"of a file of Windows": {
			"package p\r\n\r\nimport (\r\n\t\"github.com/cloudwego/eino/schema\"\r\n" +
				"\t\"github.com/cloudwego/eino/adk\"\r\n)\r\n" +
				"\r\nvar x = 1\r\n",
			"package p\r\n\r\nimport (\r\n\t\"github.com/weftgo/weft/adk\"\r\n\t\"github.com/weftgo/weft/schema\"\r\n)\r\n" +
				"\r\nvar x = 1\r\n",
		},
		"of files with Jinja2 templates, which get the engine": {
			"package p\n\nimport (\n\t\"context\"\n\n\t\"github.com/cloudwego/eino/adk\"\n" +
				"\t// data\n\ts \"github.com/cloudwego/eino/schema\" // of it\n)\n\nvar f = s.\n\tJinja2\n",
			"package p\n\nimport (\n\t\"context\"\n\n\t\"github.com/weftgo/weft/adk\"\n\t_ \"github.com/weftgo/weft/ext/jinja\"\n" +
				"\t// data\n\ts \"github.com/weftgo/weft/schema\" // of it\n)\n\nvar f = s.\n\tJinja2\n",
		},
		"of such files without a block": {
			"package p\n\nimport \"github.com/cloudwego/eino/schema\" // data\n\nfunc f( { g(schema.Jinja2)\n",
			"package p\n\nimport (\n\t_ \"github.com/weftgo/weft/ext/jinja\"\n\t\"github.com/weftgo/weft/schema\"\n) // data\n\n" +
				"func f( { g(schema.Jinja2)\n",
		},
		"of such files of Windows": {
			"package p\r\n\r\nimport . \"github.com/cloudwego/eino/schema\"\r\n\r\nvar x = Jinja2\r\n",
			"package p\r\n\r\nimport (\r\n\t_ \"github.com/weftgo/weft/ext/jinja\"\r\n\t. \"github.com/weftgo/weft/schema\"\r\n)\r\n" +
				"\r\nvar x = Jinja2\r\n",
		},
		"of such files that have it": {
			"package p\n\nimport _ \"github.com/weftgo/weft/ext/jinja\"\nimport \"github.com/cloudwego/eino/schema\"\n\n" +
				"var x = schema.Jinja2\n",
			"package p\n\nimport _ \"github.com/weftgo/weft/ext/jinja\"\nimport \"github.com/weftgo/weft/schema\"\n\n" +
				"var x = schema.Jinja2\n",
		},
		"of files that have another Jinja2, and no other line": {
			"package p\n\nimport \"github.com/cloudwego/eino/schema\"\n\n// schema.Jinja2\n" +
				"var x, Jinja2 = \"schema.Jinja2\", mine.Jinja2\n",
			"package p\n\nimport \"github.com/weftgo/weft/schema\"\n\n// schema.Jinja2\n" +
				"var x, Jinja2 = \"schema.Jinja2\", mine.Jinja2\n",
		},
		"of cgo files": {
			"package p\n\n// #include <stdio.h>\nimport \"C\"\nimport \"github.com/cloudwego/eino/adk\"\n",
			"package p\n\n// #include <stdio.h>\nimport \"C\"\nimport \"github.com/weftgo/weft/adk\"\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := rewriteGo("p.go", []byte(c.before), false)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.text) != c.after {
				t.Errorf("it became\n%s\nnot\n%s", got.text, c.after)
			}
			again, err := rewriteGo("p.go", got.text, false)
			if err != nil || again.moved != 0 || !bytes.Equal(again.text, got.text) {
				t.Errorf("a second time changes it: %v\n%s", err, again.text)
			}
		})
	}
}

func TestGo_LeavesAloneWhatItDoesNotKnow(t *testing.T) {
	for _, text := range []string{
		"package p\n\nimport (\n   \"fmt\"\n  \"github.com/weftgo/weft/adk\"\n)\n",
		"package p\n\nimport \"github.com/cloudwego/eino-examples/x\"\n",
		"package p\n\nimport \"github.com/cloudwego/einorm\"\n",
		"package p\n\nimport (\n  \"github.com/cloudwego/eino-ext/callbacks/langfuse\"\n)\n",
	} {
		got, err := rewriteGo("p.go", []byte(text), false)
		if err != nil || string(got.text) != text {
			t.Errorf("%v\n%s\nbecame\n%s", err, text, got.text)
		}
	}
}

func TestGo_NotesWhatAPersonHasToDo(t *testing.T) {
	got, err := rewriteGo("p.go", []byte("package p\n\nimport (\n\t\"github.com/cloudwego/eino/adk\"\n"+
		"\t\"github.com/cloudwego/eino/adk/automemory\"\n)\n\n"+
		"//go:generate mockgen -destination m.go github.com/cloudwego/eino/components/model ChatModel\n"), false)
	if err != nil {
		t.Fatal(err)
	}
	want := []note{
		{5, "Weft has no package github.com/cloudwego/eino/adk/automemory; the import stays"},
		{8, "a path of Eino outside of the imports stays: " +
			"//go:generate mockgen -destination m.go github.com/cloudwego/eino/components/model ChatModel"},
	}
	if !slices.Equal(got.notes, want) {
		t.Errorf("the notes are %v", got.notes)
	}
}

func TestPackages_AreThoseOfTheList(t *testing.T) {
	text, err := os.ReadFile("../../../../api/eino.txt")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^pkg (\S+),`).FindAllSubmatch(text, -1) {
		listed = append(listed, string(m[1]))
	}
	slices.Sort(listed)
	own := slices.Sorted(slices.Values(einoPackages))
	if listed = slices.Compact(listed); !slices.Equal(own, listed) {
		t.Errorf("the packages are\n%q\nand those of api/eino.txt\n%q", own, listed)
	}
}

// Whatever a file is: what is behind its imports stays byte for byte, it parses as far as before, and a second time
// changes nothing.
func FuzzGo(f *testing.F) {
	f.Add("import \"github.com/cloudwego/eino/adk\"", "func f() {}")
	f.Add("import (\n/* a */ x \"github.com/cloudwego/eino/schema\" // b\n\n`github.com/cloudwego/eino/adk`; \"fmt\"\n)",
		"var x = `\r\n`")
	f.Add("import (\n\t\"github.com/cloudwego/eino-ext/components/model/claude\"\n)\n"+
		"import . \"github.com/cloudwego/eino/adk\";", "}")
	f.Add("import /* a */ \"github.com/cloudwego/eino/schema\" // b", "var x = schema.Jinja2")
	f.Add("import (\n\t\"fmt\"; /* a */ x \"github.com/cloudwego/eino/schema\")\nimport \"github.com/cloudwego/eino/schema\"", "x.Jinja2")
	f.Fuzz(func(t *testing.T, imports, body string) {
		const mark = "\nvar mark int\n"
		text := "package p\n" + imports + mark + body
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.ImportsOnly)
		if err != nil || strings.Contains(imports, mark) {
			return
		}
		got, err := rewriteGo("p.go", []byte(text), false)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(got.text, []byte(mark+body)) {
			t.Fatalf("what follows the imports changed:\n%q", got.text)
		}
		moved, err := parser.ParseFile(token.NewFileSet(), "p.go", got.text, parser.ImportsOnly)
		want := len(file.Imports)
		if got.added {
			want++
		}
		if err != nil || len(moved.Imports) != want {
			t.Fatalf("imports were lost: %v\n%q", err, got.text)
		}
		again, err := rewriteGo("p.go", got.text, false)
		if err != nil || !bytes.Equal(again.text, got.text) {
			t.Fatalf("a second time changes it: %v\n%q\n%q", err, got.text, again.text)
		}
	})
}
