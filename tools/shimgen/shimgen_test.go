package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTree_IsUpToDate(t *testing.T) {
	if err := run("../..", true); err != nil {
		t.Fatal(err)
	}
}

// little is a module with one of each thing that the generator has to deal with.
var little = map[string]string{
	"go.mod": "module github.com/weftgo/weft\n\ngo 1.25.0\n",
	"compat/eino/go.mod": "module github.com/cloudwego/eino\n\ngo 1.25.0\n\n" +
		"require github.com/weftgo/weft v0.0.0\n\nreplace github.com/weftgo/weft => ../..\n",
	"internal/core/core.go": `package core

type Hidden struct{ N int }
`,
	"schema/schema.go": `// Package schema has data.
//
// This paragraph is left out.
package schema

// Message is what is said.
type Message struct{ Text string }
`,
	"adk/adk.go": `package adk

import (
	"context"
	"io"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

type (
	// Hidden has a public name.
	Hidden = core.Hidden
	Mode  int
	Extra struct{}
)

// Fast is quick.
const Fast Mode = 1

type limit interface{ ~int | ~string }

type List[T limit] []T

var ErrGone = io.EOF

// Ask asks.
//
// More about asking.
//
// Deprecated: use [Join].
func Ask(context.Context, ...*schema.Message) (answer *schema.Message, err error) { return nil, io.EOF }

func Join[T limit, S any](list List[T], _ func(S) Extra, h *core.Hidden) {}
`,
	"api/eino.txt": `# a list
pkg adk, const Fast Mode = 1
pkg adk, func Ask(Context, ...*Message) (*Message, error)
pkg adk, func Join[T0 limit, T1 any](List[T0], func(T1) Extra, *Hidden)
pkg adk, method (List) Len() int
pkg adk, type Hidden
pkg adk, type List
pkg adk, type Mode
pkg adk, type Mode int
pkg adk, var ErrGone error
pkg schema, type Message
pkg schema, type Message struct, field Text string
`,
}

func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestGenerate_DeclaresEachKindOfName(t *testing.T) {
	dir := write(t, little)
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "compat/eino/adk/adk.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		header + "\n",
		"\t\"github.com/cloudwego/eino/schema\"\n",
		"\tweft \"github.com/weftgo/weft/adk\"\n",
		"// Fast is quick.\n\tFast Mode = weft.Fast\n",
		"\tErrGone = weft.ErrGone\n",
		"// Hidden has a public name.\ntype Hidden = weft.Hidden\n",
		"type List[T interface{ ~int | ~string }] = weft.List[T]\n",
		"// Ask asks.\n//\n// Deprecated: use [Join].\nfunc Ask(ctx context.Context, p1 ...*schema.Message) " +
			"(answer *schema.Message, err error) {\n\treturn weft.Ask(ctx, p1...)\n}\n",
		"func Join[T interface{ ~int | ~string }, S any](list List[T], p1 func(S) weft.Extra, h *Hidden) {\n" +
			"\tweft.Join[T, S](list, p1, h)\n}\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the package lacks\n%s\nit is\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "More about asking") {
		t.Error("comments have more than their first paragraph")
	}
}

func TestGenerate_WritesWhatCompiles(t *testing.T) {
	dir := write(t, little)
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	vet := exec.Command("go", "vet", "./...")
	vet.Dir, vet.Env = filepath.Join(dir, outDir), append(os.Environ(), "GOWORK=off")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Fatalf("go vet: %v\n%s", err, out)
	}
}

func TestGenerate_NamesWhatWeftLacks(t *testing.T) {
	files := map[string]string{}
	for name, text := range little {
		files[name] = text
	}
	files["api/eino.txt"] += "pkg adk, func Forgotten()\npkg flow/lost, type X\n"
	files["adk/more.go"] = "package adk\n\ntype secret struct{}\n\nfunc Leak(secret) {}\n"
	files["api/eino.txt"] += "pkg adk, func Leak(secret)\n"
	err := run(write(t, files), false)
	if err == nil {
		t.Fatal("a list with names that Weft lacks was accepted")
	}
	for _, want := range []string{"package adk: there is no Forgotten in Weft", "package flow/lost: there is none",
		"Leak: the signature has github.com/weftgo/weft/adk.secret, which others cannot name"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

func TestCheck_NamesStaleMissingAndSurplusFiles(t *testing.T) {
	dir := write(t, little)
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, true); err != nil {
		t.Fatalf("right after it was written: %v", err)
	}
	out := filepath.Join(dir, outDir)
	surplus := filepath.Join(out, "gone/gone.go")
	err := os.WriteFile(filepath.Join(out, "adk/adk.go"), []byte(header+"\n\npackage adk\n"), 0o644)
	if err == nil {
		err = os.Remove(filepath.Join(out, "schema/schema.go"))
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(surplus), 0o755)
	}
	if err == nil {
		err = os.WriteFile(surplus, []byte(header+"\n\npackage gone\n"), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(out, "by_hand.go"), []byte("package eino\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	err = run(dir, true)
	if err == nil || !strings.Contains(err.Error(), "adk/adk.go\ngone/gone.go\nschema/schema.go") ||
		strings.Contains(err.Error(), "by_hand.go") {
		t.Fatalf("the error is %v", err)
	}
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(surplus); err == nil {
		t.Error("a file that nobody wants any more is still there")
	}
	if err := run(dir, true); err != nil {
		t.Error(err)
	}
}
