package examples

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// prints is a part of what each program prints that is run as it is: those without a driver in testdata/docs.
var prints = map[string]string{
	"README.0":                    "The tool says: ",
	"callbacks.1":                 "",
	"costs.1":                     "",
	"filesystem.0":                "no go.mod here",
	"filesystem.1":                "exit code: 0",
	"getting-started.0":           "order 7 left the house on Monday",
	"mcp.1":                       "",
	"middleware-patchtoolcalls.0": "",
	"middleware-reduction.0":      "",
	"middleware-validhistory.0":   "",
	"providers-anthropic.0":       "7  {",
	"providers-compatible.0":      "deepseek",
	"providers-compatible.1":      "",
	"providers-gemini.0":          "Ada Lovelace",
	"providers-ollama.0":          "Ada Lovelace",
	"providers-openai.0":          "Ada Lovelace",
	"providers-openai.1":          "Ada Lovelace",
	"telemetry.0":                 "",
}

var (
	packageClause = regexp.MustCompile(`(?m)^package main$`)
	mainFunc      = regexp.MustCompile(`(?m)^func main\(\)`)
	driverFunc    = regexp.MustCompile(`(?m)^func driver\(\)`)
	// doesNothing is a main function that only names what the program has.
	doesNothing = regexp.MustCompile(`(?m)^func main\(\) \{( (_, )*_ = .*)?\}$`)
)

// documented is a program of a page.
type documented struct {
	name, code string // the name is the page's with a number
	isTest     bool
}

// documentedPrograms returns every program of the pages of the project, with -short of the first pages alone.
func documentedPrograms(t *testing.T) (all []documented) {
	t.Helper()
	pattern := "../docs/*.md"
	if testing.Short() {
		pattern = "../docs/getting-started.md"
	}
	pages, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../README.md") {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		if name == "temporal" { // its module is outside of the workspace, and holds it
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range goBlock.FindAllStringSubmatch(string(text), -1) {
			all = append(all, documented{fmt.Sprint(name, ".", i), block[1], strings.Contains(block[1], "(t *testing.T)")})
		}
	}
	return all
}

// TestDocs_EveryProgramRuns runs every program of README.md and docs, in a process and a directory of its own: as it is where it
// does something by itself, else from a driver in testdata/docs, which calls what it has. Providers, which are servers of the
// test behind a proxy, are asked under their own addresses.
func TestDocs_EveryProgramRuns(t *testing.T) {
	root, err := os.MkdirTemp(".", "snippet")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)
	servers := providers(t)
	programs := documentedPrograms(t)
	drivers := map[string]bool{}
	files, err := filepath.Glob("testdata/docs/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		drivers[strings.TrimSuffix(filepath.Base(file), ".go")] = true
	}
	var index, imports strings.Builder
	var tests []string // the directories of programs that are tests
	for i, p := range programs {
		dir := fmt.Sprint("p", i)
		if p.isTest {
			writeFile(t, filepath.Join(root, dir), "program_test.go", p.code)
			tests = append(tests, "./"+filepath.Join(root, dir))
			continue
		}
		// Addresses and directories that programs name are others here.
		here := strings.NewReplacer("127.0.0.1:8080", freeAddress(t), "localhost:8080", freeAddress(t),
			"localhost:11434", servers.plain, "/var/lib/shop/", "").Replace
		writeFile(t, filepath.Join(root, dir), "program.go", here(mainFunc.ReplaceAllString(
			packageClause.ReplaceAllString(p.code, "package program"), "func main_()")))
		driver := "package main\n\nfunc driver() { main_() }\n"
		_, isRunAsItIs := prints[p.name]
		switch {
		case drivers[p.name]:
			text, err := os.ReadFile(filepath.Join("testdata/docs", p.name+".go"))
			if err != nil {
				t.Fatal(err)
			}
			driver = string(text)
			delete(drivers, p.name)
		case !strings.HasPrefix(p.code, "package main\n"):
			t.Errorf("%s is no whole file: readers could not run it", p.name)
			continue
		case !isRunAsItIs, doesNothing.MatchString(p.code):
			t.Errorf("%s does nothing by itself: testdata/docs/%[1]s.go is to call what it has", p.name)
			continue
		}
		driver = driverFunc.ReplaceAllString(driver, "func Driver()")
		writeFile(t, filepath.Join(root, dir), "driver.go", here(packageClause.ReplaceAllString(driver, "package program")))
		fmt.Fprintf(&imports, "\t%s %q\n", dir, "github.com/weftgo/weft/examples/"+filepath.Base(root)+"/"+dir)
		fmt.Fprintf(&index, "\t\tcase %q:\n\t\t\t%s.Driver()\n", p.name, dir)
	}
	for name := range drivers {
		if testing.Short() {
			break
		}
		t.Errorf("testdata/docs/%s.go drives a program that is not there", name)
	}
	writeFile(t, root, "main.go", "package main\n\nimport (\n\t\"os\"\n\n\t\"github.com/weftgo/weft/examples/internal/drive\"\n"+imports.String()+
		")\n\nfunc main() {\n\tswitch os.Args[1] {\n\tcase \"-y\":\n\t\tdrive.ServeFiles()\n"+index.String()+"\t\tdefault:\n\t\t\tpanic(os.Args[1])\n\t}\n}\n")
	if len(tests) > 0 {
		if out, err := exec.Command("go", append([]string{"test", "-ldflags=-w"}, tests...)...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if !testing.Short() {
		if out, err := exec.Command("go", "vet", "./"+root+"/...").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	tools := t.TempDir()
	program := filepath.Join(tools, "npx") // which finds a server of its own
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", program, "./"+root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env := append(os.Environ(), "HTTPS_PROXY="+servers.proxy, "SSL_CERT_FILE="+servers.authority, "PATH="+tools+":"+os.Getenv("PATH"),
		"OPENAI_API_KEY=key", "ANTHROPIC_API_KEY=key", "GEMINI_API_KEY=key", "DEEPSEEK_API_KEY=key")
	for _, p := range programs {
		if p.isTest {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, program, p.name)
			cmd.Dir, cmd.Env = t.TempDir(), env
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), prints[p.name]) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
