package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is written for Eino. Its service is broken, and what is in testdata belongs to no module.
var program = map[string]string{
	"go.mod": "module shop\n\ngo 1.22\n\nrequire (\n\tgithub.com/cloudwego/eino v0.7.36\n" +
		"\tgithub.com/cloudwego/eino-ext/components/model/claude v0.1.0\n)\n",
	"main.go": "package main\n\nimport (\n\t\"github.com/cloudwego/eino-ext/components/model/claude\"\n" +
		"\t\"github.com/cloudwego/eino/adk\"\n)\n\nvar _ = adk.NewRunner\nvar _ =   claude.NewChatModel\n",
	"service/service.go": "package service\n\nimport \"github.com/cloudwego/eino/schema\"\n\nfunc broken( {\n",
	"tools/go.mod":       "module shop/tools\n\ngo 1.25.0\n\nrequire github.com/cloudwego/eino v0.7.36\n",
	"tools/tool.go":      "package tools\n\nimport _ \"github.com/cloudwego/eino/components/tool\"\n",
	"testdata/x.go":      "package x\n\nimport \"github.com/cloudwego/eino/adk\"\n",
	"vendor/y/y.go":      "package y\n\nimport \"github.com/cloudwego/eino/adk\"\n",
	"_old/z.go":          "package z\n\nimport \"github.com/cloudwego/eino/adk\"\n",
}

// inTree writes files into a new directory, which becomes the working directory.
func inTree(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		files[filepath.ToSlash(file)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// weft runs the command and returns what it prints and its exit code.
func weft(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = exit(run(args, &out, &errs), &errs)
	return out.String(), errs.String(), code
}

func TestMigrate_MovesATreeOnce(t *testing.T) {
	inTree(t, program)
	out, errs, code := weft("migrate", "eino", "-version", "v0.3.0", "./...")
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	after := read(t)
	want := map[string]string{
		"go.mod": "module shop\n\ngo 1.25.0\n\nrequire (\n\tgithub.com/weftgo/weft v0.3.0\n" +
			"\tgithub.com/weftgo/weft/ext/model/anthropic v0.3.0\n)\n",
		"main.go": "package main\n\nimport (\n\t\"github.com/weftgo/weft/adk\"\n" +
			"\tclaude \"github.com/weftgo/weft/ext/model/anthropic\"\n)\n\n" +
			"var _ = adk.NewRunner\nvar _ =   claude.NewChatModel\n",
		"service/service.go": "package service\n\nimport \"github.com/weftgo/weft/schema\"\n\nfunc broken( {\n",
		"tools/go.mod":       "module shop/tools\n\ngo 1.25.0\n\nrequire github.com/weftgo/weft v0.3.0\n",
		"tools/tool.go":      "package tools\n\nimport _ \"github.com/weftgo/weft/components/tool\"\n",
	}
	for name, text := range program {
		if want[name] == "" {
			want[name] = text
		}
		if after[name] != want[name] {
			t.Errorf("%s became\n%s", name, after[name])
		}
	}
	for _, line := range []string{"main.go: 2 imports", "model/claude is github.com/weftgo/weft/ext/model/anthropic now: ",
		"go.mod: raised: go 1.25.0, from 1.22", "5 files changed; next: go mod tidy && weft vet ./..."} {
		if !strings.Contains(out, line) {
			t.Errorf("the output has no %q:\n%s", line, out)
		}
	}
	if info, err := os.Stat("main.go"); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode of main.go is %v, %v", info.Mode(), err)
	}
	if out, _, code := weft("migrate", "eino", "-version", "v0.3.0", "./..."); code != 0 || out != "nothing to change\n" {
		t.Errorf("a second time: exit code %d\n%s", code, out)
	}
}

func TestMigrate_DiffIsAPatchAndChangesNothing(t *testing.T) {
	inTree(t, program)
	before := read(t)
	patch, notes, code := weft("migrate", "eino", "-diff", "-version", "v0.3.0", "./...")
	if code != 0 || !strings.Contains(notes, "5 files would change") {
		t.Fatalf("exit code %d: %s", code, notes)
	}
	for name, text := range read(t) {
		if before[name] != text {
			t.Errorf("%s changed", name)
		}
	}
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("there is no patch command")
	}
	apply := exec.Command("patch", "-p0", "-s")
	apply.Stdin = strings.NewReader(patch)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("patch: %v\n%s\n%s", err, out, patch)
	}
	if out, _, _ := weft("migrate", "eino", "-version", "v0.3.0", "./..."); out != "nothing to change\n" {
		t.Errorf("something is left after the patch:\n%s", out)
	}
}

func TestMigrate_OfOneFileLeavesTheModule(t *testing.T) {
	inTree(t, program)
	out, _, code := weft("migrate", "eino", "tools/tool.go")
	if code != 0 || !strings.Contains(out, "no go.mod is among the patterns") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if after := read(t); after["main.go"] != program["main.go"] || after["tools/go.mod"] != program["tools/go.mod"] {
		t.Error("other files changed")
	}
}

func TestMigrate_LeavesExtensionModulesOnRequest(t *testing.T) {
	inTree(t, program)
	flags := []string{"migrate", "eino", "-keep-ext", "-version", "v0.3.0", "./..."}
	if out, errs, code := weft(flags...); code != 0 || strings.Contains(out, "is github.com") {
		t.Fatal(out, errs)
	}
	after := read(t)
	if !strings.Contains(after["main.go"], `"github.com/cloudwego/eino-ext/components/model/claude"`) ||
		!strings.Contains(after["main.go"], `"github.com/weftgo/weft/adk"`) ||
		!strings.Contains(after["go.mod"], "eino-ext/components/model/claude v0.1.0") ||
		!strings.Contains(after["go.mod"], "=> github.com/weftgo/weft/compat/eino v0.3.0") {
		t.Errorf("the files are %q", after)
	}
	if out, _, _ := weft(flags...); !strings.HasSuffix(out, "nothing to change\n") {
		t.Errorf("a second time:\n%s", out)
	}
}

func TestMigrate_ShimChangesTheModuleOnly(t *testing.T) {
	inTree(t, program)
	if _, errs, code := weft("migrate", "eino", "-shim", "-version", "v0.3.0", "./..."); code != 0 {
		t.Fatal(errs)
	}
	after := read(t)
	if after["main.go"] != program["main.go"] || !strings.Contains(after["go.mod"],
		"replace github.com/cloudwego/eino => github.com/weftgo/weft/compat/eino v0.3.0") {
		t.Errorf("the files are %q", after)
	}
}

func TestMigrate_MovesTheOthersWhenAFileCannotBeRead(t *testing.T) {
	files := map[string]string{"a.go": "package a\n\nimport \"github.com/cloudwego/eino\n", "go.mod": program["go.mod"]}
	files["b.go"] = program["main.go"]
	inTree(t, files)
	_, errs, code := weft("migrate", "eino", "./...")
	want := "weft: a.go:3:8: string literal not terminated (its imports stay as they are)"
	if code != 1 || !strings.HasPrefix(errs, want) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if after := read(t); !strings.Contains(after["b.go"], "weftgo") || after["a.go"] != files["a.go"] {
		t.Errorf("the files are %q", after)
	}
}

func TestCommand_SaysInOneLineWhatIsWrong(t *testing.T) {
	inTree(t, nil)
	for _, c := range []struct {
		args string
		code int
		text string
	}{
		{"", 2, "which command? weft -h lists them"},
		{"migrat eino", 2, `there is no command "migrat"; weft -h lists them`},
		{"migrate", 2, "migrate from what? weft migrate eino ./..."},
		{"migrate langchain ./...", 2, "migrate from what? weft migrate eino ./..."},
		{"migrate eino", 2, "which files? weft migrate eino ./... for all below this directory"},
		{"migrate eino -dif ./...", 2, "flag provided but not defined: -dif; weft migrate eino -h lists the flags"},
		{"migrate eino ./... -diff", 2, "flags are before the patterns: -diff"},
		{"migrate eino -version 1.2 ./...", 2, "-version 1.2 is no version, such as v0.1.0"},
		{"migrate eino -version latest ./...", 2, "-version latest is no version, such as v0.1.0"},
		{"migrate eino github.com/acme/shop", 1, "github.com/acme/shop: there is no such file or directory " +
			"(patterns are paths, such as ./...)"},
		{"vet", 2, "which packages? weft vet ./... for all of this module"},
	} {
		out, errs, code := weft(strings.Fields(c.args)...)
		if code != c.code || errs != "weft: "+c.text+"\n" || out != "" {
			t.Errorf("weft %s: exit code %d\n%s%s", c.args, code, errs, out)
		}
	}
}

func TestCommand_Helps(t *testing.T) {
	for args, text := range map[string]string{
		"-h":              "usage: weft COMMAND",
		"help":            "usage: weft COMMAND",
		"migrate -h":      "usage: weft migrate eino",
		"migrate eino -h": "only have go.mod replace Eino by the shim",
		"vet --help":      "checkpoints  stores of checkpoints",
		"version":         "weft ",
	} {
		out, errs, code := weft(strings.Fields(args)...)
		if code != 0 || errs != "" || !strings.Contains(out, text) {
			t.Errorf("weft %s: exit code %d\n%s%s", args, code, errs, out)
		}
	}
}

// weft vet runs this very binary as the tool of go vet.
func TestVet_RunsAsTheToolOfGoVet(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the command and a program for Eino: left out with -short")
	}
	dir, err := filepath.Abs("migrate/testdata")
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(t.TempDir(), "weft")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	vet := exec.Command(tool, "vet", "./runnames", "./quiet")
	vet.Dir, vet.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := vet.CombinedOutput()
	if vet.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "runnames.go:14:64: nothing inside an agent is "+
		"called ReAct on Weft: its graph has the name of the agent (docs/moving-from-eino.md#callbacks-of-agents)") {
		t.Errorf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "quiet.go") {
		t.Errorf("there is noise:\n%s", out)
	}
}

// TestMigrate_VersionsAreTakenByEveryCommand: a command that is no release requires a version that go mod edit takes, and
// says how to get it.
func TestMigrate_VersionsAreTakenByEveryCommand(t *testing.T) {
	dir := t.TempDir()
	mod := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(mod, []byte("module m\n\ngo 1.25.0\n\nrequire github.com/cloudwego/eino v0.9.21\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := migrateCommand([]string{"eino", "-shim", dir + "/..."}, &out, &out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(mod)
	if err != nil || !strings.Contains(string(text), "replace github.com/cloudwego/eino => github.com/weftgo/weft/compat/eino v0.0.0\n") {
		t.Errorf("%v\n%s", err, text)
	}
	for _, want := range []string{"-replace github.com/weftgo/weft=../weft\n",
		"-replace github.com/weftgo/weft/ext/jinja=../weft/ext/jinja\n", "-replace github.com/cloudwego/eino=../weft/compat/eino\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	edit := exec.Command("go", "mod", "edit", "-replace", "github.com/weftgo/weft=../weft")
	edit.Dir = dir
	if said, err := edit.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
