package eino_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadme_TheLinesForACheckoutWork: a module outside of the checkout, with the lines that README.md has for one, builds
// and runs, has Weft behind Eino's paths, and renders Jinja2. So it does with the lines from the command line.
func TestReadme_TheLinesForACheckoutWork(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(readme), "With a checkout of Weft")
	require.True(t, found, "README.md says nothing of checkouts any more")
	lines := regexp.MustCompile(`(?m)^replace (\S+) => (\.\./weft\S*)$`).FindAllStringSubmatch(after, -1)
	require.Len(t, lines, 3)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	goCommand := func(args ...string) string {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		var said strings.Builder // such as what is downloaded
		cmd.Stderr = &said
		out, err := cmd.Output()
		require.NoError(t, err, "go %v: %s", args, &said)
		return string(out)
	}
	write("main.go", `package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"
)

func main() {
	template := schema.UserMessage("{% if name %}hello, {{ name }}{% endif %}")
	got, err := template.Format(context.Background(), map[string]any{"name": "Ann"}, schema.Jinja2)
	fmt.Printf("%T %s %v\n", got[0], got[0].Content, err)
}
`)
	sums, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	write("go.sum", string(sums))
	mod := "module example.com/program\n\ngo 1.25\n\nrequire github.com/cloudwego/eino v0.9.21\n\n"
	for _, line := range lines {
		mod += "replace " + line[1] + " => " + root + strings.TrimPrefix(line[2], "../weft") + "\n"
	}
	write("go.mod", mod)
	require.Equal(t, "*schema.Message hello, Ann <nil>\n", goCommand("run", "."))
	require.Contains(t, goCommand("list", "-deps", "."), "github.com/weftgo/weft/schema")
	goCommand("mod", "edit", "-replace", "example.com/other=../other") // go.mod is one that every command takes
}
