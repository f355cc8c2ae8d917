package main

import (
	"archive/zip"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCheckVersion_FollowsTheTagsOfAllModules(t *testing.T) {
	tags := []string{"v0.1.0", "ext/model/openai/v0.1.0", "v0.2.0-rc.1", "examples/v0.2.0-rc.1", "not-a-version"}
	for version, want := range map[string]string{
		"v0.1.1":      "comes before v0.2.0-rc.1",
		"v0.2.0-rc.1": "exists already",
		"v0.2.0-rc.2": "",
		"v0.2.0":      "",
		"v0.10.0":     "",
		"v1.0.0":      "",
		"0.2.0":       "no version",
		"v0.2":        "no version",
		"v0.2.0+meta": "no version",
		"v02.0.0":     "no version",
		"":            "no version",
		"v2.0.0":      "needs /v2 in the paths",
	} {
		err := checkVersion(version, tags)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", version, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: want an error with %q, have %v", version, want, err)
		}
	}
}

func TestAfterAll_ComesAfterEveryTag(t *testing.T) {
	for last, want := range map[string]string{
		"": "v0.0.1-check", "v0.1.9": "v0.1.10-check", "v0.2.0-rc.1": "v0.2.1-check", "v1.4.2": "v1.4.3-check",
	} {
		tags := strings.Fields(last)
		have, err := afterAll(tags)
		if err != nil || have != want {
			t.Errorf("after %q: want %s, have %s %v", last, want, have, err)
		}
		if err := checkVersion(have, tags); err != nil {
			t.Error(err)
		}
	}
}

func TestTagOf_NamesTheDirectory(t *testing.T) {
	for dir, want := range map[string]string{".": "v0.1.0", "ext/model/openai": "ext/model/openai/v0.1.0"} {
		if have := tagOf(dir, "v0.1.0"); have != want {
			t.Errorf("%s: want %s, have %s", dir, want, have)
		}
	}
}

func ownForTest(path string) bool {
	return path == "example.com/a" || strings.HasPrefix(path, "example.com/a/")
}

const goModForTest = `// A comment.
module example.com/a/ext/b

go 1.26.0

require (
	example.com/a v0.0.0
	example.com/other v1.2.3 // kept
)

require example.com/a/kit v0.0.0 // indirect

replace (
	example.com/a => ../..
	example.com/a/kit => ../kit
)
`

func TestReleasedMod_RequiresTheVersionAndReplacesNothing(t *testing.T) {
	have, err := releasedMod("go.mod", []byte(goModForTest), ownForTest, "v0.3.0")
	if err != nil {
		t.Fatal(err)
	}
	want := `// A comment.
module example.com/a/ext/b

go 1.26.0

require (
	example.com/a v0.3.0
	example.com/other v1.2.3 // kept
)

require example.com/a/kit v0.3.0 // indirect
`
	if string(have) != want {
		t.Errorf("want:\n%s\nhave:\n%s", want, have)
	}
	for _, line := range []string{"replace example.com/other => ../x", "exclude example.com/other v1.0.0"} {
		if _, err := releasedMod("go.mod", []byte(goModForTest+line+"\n"), ownForTest, "v0.3.0"); err == nil {
			t.Errorf("a go.mod with %q was accepted", line)
		}
	}
}

func TestDevelopmentMod_KeepsTheReplaceLines(t *testing.T) {
	have, err := developmentMod("go.mod", []byte(goModForTest), ownForTest, "v0.3.0")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(goModForTest, " v0.0.0", " v0.3.0"); string(have) != want {
		t.Errorf("want:\n%s\nhave:\n%s", want, have)
	}
}

func TestReleasedSum_HasTheHashesOfThisReleaseOnly(t *testing.T) {
	before := "example.com/a v0.2.0 h1:old=\nexample.com/a v0.2.0/go.mod h1:old=\nexample.com/z v1.0.0/go.mod h1:z=\n"
	have := releasedSum([]byte(before), ownForTest, "v0.3.0", map[string]sums{"example.com/a": {zip: "h1:zip=", mod: "h1:mod="}})
	want := "example.com/a v0.3.0 h1:zip=\nexample.com/a v0.3.0/go.mod h1:mod=\nexample.com/z v1.0.0/go.mod h1:z=\n"
	if string(have) != want {
		t.Errorf("want:\n%s\nhave:\n%s", want, have)
	}
}

func TestChangelog_TheUnreleasedSectionGetsVersionAndDate(t *testing.T) {
	on := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
	before := "# Changelog\n\n## Unreleased\n\n- New.\n\n## v0.1.0 (2026-01-02)\n\n- Old.\n"
	released, err := releaseChangelog(before, "v0.2.0", on)
	if err != nil {
		t.Fatal(err)
	}
	want := "# Changelog\n\n## v0.2.0 (2026-11-30)\n\n- New.\n\n## v0.1.0 (2026-01-02)\n\n- Old.\n"
	if released != want {
		t.Errorf("want:\n%s\nhave:\n%s", want, released)
	}
	reopened := reopenChangelog(released)
	if want := strings.Replace(want, "## v0.2.0", "## Unreleased\n\n## v0.2.0", 1); reopened != want {
		t.Errorf("want:\n%s\nhave:\n%s", want, reopened)
	}
	for _, text := range []string{reopened, "# Changelog\n", "# Changelog\n\n## Unreleased\n"} {
		if _, err := releaseChangelog(text, "v0.3.0", on); err == nil {
			t.Errorf("a changelog without anything new was accepted:\n%s", text)
		}
	}
}

func TestFirstProgram_IsWhatAReaderCopies(t *testing.T) {
	get, program, err := firstProgram("# A\n\n    go get example.com/a example.com/b@latest\n\n```go\npackage main\n```\n\n" +
		"```go\npackage other\n```\n")
	if err != nil || program != "package main\n" || !slices.Equal(get, []string{"example.com/a", "example.com/b"}) {
		t.Errorf("have %q %q %v", get, program, err)
	}
}

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

// TestScriptedModel_TakesThePlaceOfEveryHost: a program that knows nothing of the model reaches it by its proxy.
func TestScriptedModel_TakesThePlaceOfEveryHost(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	dir := t.TempDir()
	m, err := startModel(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	env := append(os.Environ(), m.environment()...)
	for stream, want := range map[string]string{"false": `"message":`, "true": "data: [DONE]"} {
		out, err := command(context.Background(), dir, env, curl, "--silent", "--fail", "--cacert", m.authorityFile(),
			"--data", `{"stream":`+stream+`}`, "https://api.example.com/v1/chat/completions")
		if err != nil || !strings.Contains(out, want) || !strings.Contains(out, modelAnswer) {
			t.Errorf("have %s %v", out, err)
		}
	}
}
