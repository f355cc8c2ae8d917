package examples

import (
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")
	// pictured is a program with the picture that it prints.
	pictured = regexp.MustCompile("(?s)```go\n([^`]*?)```\n\n```mermaid\n(.*?)```")
	update   = flag.Bool("update", false, "write the pictures of the documentation")
)

// TestDocs_EverySnippetCompiles builds every Go block of every page of the project.
func TestDocs_EverySnippetCompiles(t *testing.T) {
	snippets := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "bin" || d.Name() == "ext" || d.Name() == "how-to") {
			return fs.SkipDir // these are held by tests beside them
		}
		if filepath.Ext(path) != ".md" || d.Name() == "temporal.md" { // its module is outside of the workspace, and holds it
			return nil
		}
		page, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, block := range goBlock.FindAllStringSubmatch(string(page), -1) {
			snippets++
			t.Run(path, func(t *testing.T) { build(t, block[1]) })
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if snippets == 0 {
		t.Fatal("no snippet was found")
	}
}

// TestDocs_PicturesAreWhatTheProgramsPrint runs the programs that have a picture below them.
func TestDocs_PicturesAreWhatTheProgramsPrint(t *testing.T) {
	pictures := 0
	for _, page := range []string{"../docs/graphs.md", "../docs/multi-agent.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		fresh := pictured.ReplaceAllStringFunc(string(text), func(both string) string {
			m := pictured.FindStringSubmatch(both)
			out := output(t, m[1])
			pictures++
			if out != m[2] && !*update {
				t.Errorf("%s has another picture than its program prints (go test ./examples -run Pictures -update):\n%s", page, out)
			}
			return "```go\n" + m[1] + "```\n\n```mermaid\n" + out + "```"
		})
		if !*update {
			continue
		}
		if err := os.WriteFile(page, []byte(fresh), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if pictures < 7 {
		t.Errorf("only %d pictures were found", pictures)
	}
}

// output is what a program prints.
func output(t *testing.T, code string) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "snippet")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", "-ldflags=-w", "./"+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, code)
	}
	return string(out)
}

func build(t *testing.T, code string) {
	if !strings.HasPrefix(code, "package ") {
		t.Fatalf("a snippet must be a whole file, so that a reader can run it:\n%s", code)
	}
	dir, err := os.MkdirTemp(".", "snippet")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "snippet.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "vet", "./"+dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, code)
	}
}
