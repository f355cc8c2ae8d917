package weft_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/weftgo/weft/"

// layers gives each part of the module its height. A package may import what is at its own height or below. The
// longest prefix counts.
var layers = map[string]int{
	"internal":           0, // machinery
	"runs":               0, // the nouns of a run: a leaf
	"schema":             1, // data
	"components":         2, // interfaces
	"catalogue":          2, // what models cost
	"internal/callorder": 1, // the order of calls and results
	"internal/callbacks": 2, // observation: reports components and streams to handlers
	"callbacks":          3,
	"internal/mock":      9, // tests only
	"compose":            4, // engine
	"adk":                5, // agents
	"adk/middlewares":    6, // batteries
	"adk/prebuilt":       6,
	"adk/conversation":   6,
	"docs/howto":         9, // tests only
	"flow":               6,
	"utils/callbacks":    6,
	"serve":              7, // HTTP

	"adk/dispatch/chaostest":     9, // tests only
	"internal/mock/racedetector": 0, // a constant, for helpers of tests
}

func layerOf(pkg string) (height int, known bool) {
	best := ""
	for prefix, h := range layers {
		if (pkg == prefix || strings.HasPrefix(pkg, prefix+"/")) && len(prefix) > len(best) {
			best, height, known = prefix, h, true
		}
	}
	return height, known
}

// goOutput decodes the stream of JSON values that a go command prints.
func goOutput[T any](t *testing.T, args ...string) []T {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	var all []T
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var v T
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

func TestLayers_ImportsPointDownwards(t *testing.T) {
	type listed struct {
		ImportPath string
		Imports    []string
	}
	checked := 0
	for _, pkg := range goOutput[listed](t, "list", "-json=ImportPath,Imports", "./...") {
		from, inside := strings.CutPrefix(pkg.ImportPath, module)
		if !inside {
			continue
		}
		height, known := layerOf(from)
		if !known {
			t.Errorf("package %s is in no layer: give it one", from)
			continue
		}
		for _, imp := range pkg.Imports {
			to, inside := strings.CutPrefix(imp, module)
			if !inside {
				continue
			}
			checked++
			if h, _ := layerOf(to); h > height {
				t.Errorf("%s imports %s, which lies above it", from, to)
			}
		}
	}
	if checked < 20 {
		t.Fatalf("only %d imports were checked: go list did not see the module", checked)
	}
}

// TestDependencies_OfTheCoreStayFew: a new direct dependency is a decision, not an accident. Dependencies of tests count,
// as users' module graphs contain them.
func TestDependencies_OfTheCoreStayFew(t *testing.T) {
	allowed := []string{
		"github.com/bmatcuk/doublestar/v4",   // globs
		"github.com/bytedance/sonic",         // JSON
		"github.com/eino-contrib/jsonschema", // its Schema is in the API
		"github.com/google/uuid",             // IDs of interrupts
		"github.com/stretchr/testify",        // tests
		"github.com/wk8/go-ordered-map/v2",   // the properties of a jsonschema.Schema
		"go.uber.org/goleak",                 // tests
		"go.uber.org/mock",                   // tests
		"go.yaml.in/yaml/v3",                 // front matter
	}
	type gomod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	for _, mod := range goOutput[gomod](t, "mod", "edit", "-json") {
		for _, r := range mod.Require {
			if !r.Indirect && !slices.Contains(allowed, r.Path) {
				t.Errorf("new direct dependency %s: the core has few on purpose", r.Path)
			}
		}
	}
}

// TestRuntime_IsCompiledOnce: packages that use agents and runners do not compile the runtime for themselves. See
// docs/decisions/0009.
func TestRuntime_IsCompiledOnce(t *testing.T) {
	type listed struct{ Export string }
	functions := func(pkg string) string {
		t.Helper()
		out, err := exec.Command("go", "tool", "nm",
			goOutput[listed](t, "list", "-export", "-json=Export", pkg)[0].Export).Output()
		if err != nil {
			t.Fatalf("go tool nm: %v", err)
		}
		return string(out)
	}
	runtime := []string{"/adk.(*agentRun[", "/adk.(*runnerRun[", "/adk.(*execution[", "/compose.(*runnable["}
	own := functions("./adk")
	for _, name := range runtime {
		if !strings.Contains(own, name) {
			t.Errorf("package adk has no %s: has it another name now?", name)
		}
	}
	for _, pkg := range []string{"./adk/adktest", "./adk/turnloop", "./adk/prebuilt/supervisor", "./adk/prebuilt/deep",
		"./adk/middlewares/budget"} {
		compiled := functions(pkg)
		for _, name := range runtime {
			if strings.Contains(compiled, name) {
				t.Errorf("package %s compiles %s", pkg, name)
			}
		}
	}
}
