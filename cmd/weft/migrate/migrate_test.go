package migrate

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// The programs under testdata are each written as a user of Eino writes it. All checks look at all of them, so that a
// finding that no comment announces is noise. Loading them takes long, so they are loaded once, and not with the race
// detector: make shim-check runs this without.
func TestChecks_FindWhatDiffersAndNothingElse(t *testing.T) {
	if testing.Short() {
		t.Skip("loading the programs takes a minute: left out with -short")
	}
	info, _ := debug.ReadBuildInfo()
	if slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("loading the programs takes a minute with the race detector")
	}
	list := exec.Command("go", "list", "-deps", "./...") // downloads what the loader must not
	list.Dir, list.Env = analysistest.TestData(), append(os.Environ(), "GOWORK=off")
	if out, err := list.CombinedOutput(); err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	all := &analysis.Analyzer{
		Name: "all",
		Doc:  "all checks",
		Run: func(pass *analysis.Pass) (any, error) {
			var failed error
			for _, a := range Analyzers() {
				_, err := a.Run(pass)
				failed = errors.Join(failed, err)
			}
			return nil, failed
		},
	}
	analysistest.Run(t, analysistest.TestData(), all, "./...")
}

func TestAnalyzers_AreValid(t *testing.T) {
	if err := analysis.Validate(Analyzers()); err != nil {
		t.Fatal(err)
	}
}

// Every check has a section of the guide, and the anchor that is printed leads to it.
func TestAnalyzers_HaveASectionOfTheGuide(t *testing.T) {
	text, err := os.ReadFile("../../../" + guide)
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		anchor := strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")
		anchors[regexp.MustCompile(`[^\w-]`).ReplaceAllString(anchor, "")] = true
	}
	for _, a := range Analyzers() {
		if _, anchor, _ := strings.Cut(a.URL, "#"); !anchors[anchor] {
			t.Errorf("%s: the guide has no section %q", a.Name, anchor)
		}
		if !strings.Contains(string(text), "`"+a.Name+"`") {
			t.Errorf("%s: the guide does not name the check", a.Name)
		}
	}
}

// The words of tags are those that the runtime accepts.
func TestToolTags_KnowTheWordsOfTheRuntime(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../../components/tool/utils/schema_tags.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var runtime []string
	for _, decl := range file.Decls {
		if vars, ok := decl.(*ast.GenDecl); ok && vars.Tok == token.VAR {
			ast.Inspect(vars, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					word, _ := strconv.Unquote(lit.Value)
					runtime = append(runtime, word)
				}
				return true
			})
			break
		}
	}
	own := slices.Concat(tagKeys, tagFlags)
	slices.Sort(own)
	slices.Sort(runtime)
	if !slices.Equal(own, runtime) {
		t.Errorf("the words are\n%q\nand the runtime's are\n%q", own, runtime)
	}
}
