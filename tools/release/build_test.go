package main

import (
	"archive/zip"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func buildForTest(t *testing.T, r *repository, o options) *built {
	t.Helper()
	o.modCache = t.TempDir()
	b, err := build(context.Background(), r, t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBuild_PublishesModulesInTheOrderOfTheirRequirements(t *testing.T) {
	r := newRepository(t)
	b := buildForTest(t, r, options{version: "v0.1.0", now: time.Now()})
	var dirs []string
	for _, m := range b.modules {
		dirs = append(dirs, m.dir)
	}
	if !slices.Equal(dirs, []string{".", "ext/b", "cmd/c"}) {
		t.Errorf("have %v", dirs)
	}
	if changed := r.mustGit(t, "status", "--porcelain"); changed != "" {
		t.Errorf("the tree changed: %s", changed)
	}
	for dir, want := range map[string]string{
		"":       ".gitignore CHANGELOG.md LICENSE a.go go.mod",
		"/ext/b": "LICENSE b.go go.mod go.sum testdata/go.mod",
		"/cmd/c": "LICENSE go.mod go.sum main.go",
	} {
		files := zipped(t, filepath.Join(b.proxy, "example.com/a"+dir, "@v/v0.1.0.zip"), "example.com/a"+dir+"@v0.1.0/")
		if have := strings.Join(namesOf(files), " "); dir != "/ext/b" && have != want {
			t.Errorf("%s: want %s\nhave %s", dir, want, have)
		}
		if license := files["LICENSE"]; dir == "/ext/b" && license != "The license.\n" ||
			dir == "/cmd/c" && license != "Another license.\n" {
			t.Errorf("%s: the license is %q", dir, license)
		}
		if strings.Contains(files["go.mod"], "replace") || strings.Contains(files["go.mod"], "v0.0.0") {
			t.Errorf("%s: %s", dir, files["go.mod"])
		}
	}
}

func namesOf(files map[string]string) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// zipped returns the files of a zip by their names behind a prefix.
func zipped(t *testing.T, file, prefix string) map[string]string {
	t.Helper()
	archive, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := map[string]string{}
	for _, f := range archive.File {
		opened, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(opened)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(f.Name, prefix)] = string(data)
	}
	return files
}

// TestBuild_TheGoCommandAcceptsTheHashes: go.sum is right as written, and the modules work without their directories.
func TestBuild_TheGoCommandAcceptsTheHashes(t *testing.T) {
	r := newRepository(t)
	b := buildForTest(t, r, options{version: "v0.1.0", now: time.Now()})
	env, err := b.environment(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "GOPROXY="+fileURL(b.proxy), "GOSUMDB=sum.golang.org")
	for _, m := range b.modules {
		if _, err := command(context.Background(), filepath.Join(b.copy.dir, m.dir), env, "go", "build", "./..."); err != nil {
			t.Errorf("%s: %v", m.dir, err)
		}
	}
	if err := b.install(context.Background(), env, b.modules[2]); err != nil {
		t.Error(err)
	}
}

func TestBuild_RefusesModulesThatAreNotTidy(t *testing.T) {
	r := newRepository(t)
	text := []byte("module example.com/a\n\ngo 1.26.0\n\nrequire example.com/other v1.2.3\n")
	if err := os.WriteFile(filepath.Join(r.dir, "go.mod"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := build(context.Background(), r, t.TempDir(), options{version: "v0.1.0", check: true})
	if err == nil || !strings.Contains(err.Error(), "-require example.com/other v1.2.3") {
		t.Errorf("the difference is not shown: %v", err)
	}
}
