package examples

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

var (
	goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")
	// pictured is a program with the picture that it prints.
	pictured = regexp.MustCompile("(?s)```go\n([^`]*?)```\n\n```mermaid\n(.*?)```")
	update   = flag.Bool("update", false, "write the pictures of the documentation")
)

// TestDocs_PicturesAreWhatTheProgramsPrint runs the programs that have a picture below them.
func TestDocs_PicturesAreWhatTheProgramsPrint(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles and links each program: left out with -short")
	}
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

// output returns what a program prints.
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
