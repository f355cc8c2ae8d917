package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newRepository makes a repository of a core, a module that needs it, one that needs both, and a test-only one.
func newRepository(t *testing.T) *repository {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                "module example.com/a\n\ngo 1.26.0\n",
		"a.go":                  "package a\n\nfunc Version() string { return \"a\" }\n",
		"LICENSE":               "The license.\n",
		"CHANGELOG.md":          "# Changelog\n\n## Unreleased\n\n- New.\n",
		"ignored.txt":           "not part of it",
		".gitignore":            "ignored.txt\n",
		"ext/b/go.mod":          "module example.com/a/ext/b\n\ngo 1.26.0\n\nrequire example.com/a v0.0.0\n\nreplace example.com/a => ../..\n",
		"ext/b/go.sum":          "",
		"ext/b/b.go":            "package b\n\nimport _ \"example.com/a\"\n",
		"ext/b/testdata/go.mod": "this is no module",
		"cmd/c/go.mod": "module example.com/a/cmd/c\n\ngo 1.26.0\n\nrequire example.com/a/ext/b v0.0.0\n\n" +
			"require example.com/a v0.0.0 // indirect\n\nreplace (\n\texample.com/a => ../..\n\texample.com/a/ext/b => ../../ext/b\n)\n",
		"cmd/c/go.sum":       "",
		"cmd/c/main.go":      "package main\n\nimport _ \"example.com/a/ext/b\"\n\nfunc main() {}\n",
		"cmd/c/LICENSE":      "Another license.\n",
		"ext/interop/go.mod": "module example.com/a/ext/interop\n\nrequire example.com/a v0.0.0\n\nreplace example.com/a => ../..\n",
		"tools/go.mod":       "module example.com/a/tools\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A",
		"GIT_COMMITTER_EMAIL": "a@example.com", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	r := &repository{dir: dir}
	r.mustGit(t, "init", "--quiet")
	r.mustGit(t, "add", ".")
	r.mustGit(t, "commit", "--quiet", "--message", "begin")
	return r
}

func (r *repository) mustGit(t *testing.T, args ...string) string {
	t.Helper()
	out, err := r.git(context.Background(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCommit_TagsTheTreeThatWasCheckedAndContinuesDevelopment(t *testing.T) {
	r := newRepository(t)
	for _, version := range []string{"v0.1.0", "v0.2.0"} {
		if version == "v0.2.0" { // there must be something new
			file := filepath.Join(r.dir, "CHANGELOG.md")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = []byte(strings.Replace(string(text), unreleased, unreleased+"\n- Newer.\n", 1))
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
			r.mustGit(t, "commit", "--quiet", "--all", "--message", "more")
		}
		b := buildForTest(t, r, options{version: version, now: time.Now()})
		if err := r.commit(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		for _, m := range b.modules {
			tag := tagOf(m.dir, version)
			if tree := r.mustGit(t, "rev-parse", tag+"^{tree}"); tree != b.tree {
				t.Errorf("%s has tree %s, want %s", tag, tree, b.tree)
			}
		}
		if goMod := r.mustGit(t, "show", "cmd/c/"+version+":cmd/c/go.mod"); strings.Contains(goMod, "replace") {
			t.Errorf("the release replaces modules:\n%s", goMod)
		}
		goMod := r.mustGit(t, "show", "HEAD:cmd/c/go.mod")
		if !strings.Contains(goMod, "example.com/a => ../..") || !strings.Contains(goMod, "example.com/a/ext/b "+version) {
			t.Errorf("development continues without replace lines or with another version:\n%s", goMod)
		}
	}
	if tags := r.mustGit(t, "tag", "--list", "*interop*", "*tools*"); tags != "" {
		t.Errorf("modules that are not published have tags: %s", tags)
	}
}

func TestReadyFor_RefusesATreeWithChanges(t *testing.T) {
	r := newRepository(t)
	ctx := context.Background()
	if err := r.readyFor(ctx, "v0.1.0", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "new.go"), []byte("package a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.readyFor(ctx, "v0.1.0", nil); err == nil || !strings.Contains(err.Error(), "new.go") {
		t.Errorf("have %v", err)
	}
}

func TestFindModules_RefusesWhatCannotBePublished(t *testing.T) {
	for what, change := range map[string][2]string{
		"which is not published": {"ext/b/go.mod", "module example.com/a/ext/b\n\nrequire example.com/a/ext/interop v0.0.0\n"},
		"requires itself":        {"go.mod", "module example.com/a\n\nrequire example.com/a/ext/b v0.0.0\n"},
	} {
		r := newRepository(t)
		if err := os.WriteFile(filepath.Join(r.dir, change[0]), []byte(change[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		files, err := r.files(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := findModules(r.dir, files); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want an error with %q, have %v", what, err)
		}
	}
}
