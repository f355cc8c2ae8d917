package examples

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

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
		if filepath.Ext(path) != ".md" {
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
