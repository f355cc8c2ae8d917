package weft_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rulePages are the pages of docs/rules that have entries.
var rulePages = []string{"schema", "components", "compose", "agent", "runtime", "batteries", "providers", "runlog", "distributed",
	"temporal", "serving", "mcp", "steps", "telemetry"}

const code = `[A-Z]{1,3}-?[0-9]+(?:\.[0-9]+)*[a-z]?`

var (
	ruleEntry    = regexp.MustCompile(`(?m)^- \*\*([^*]+)\*\*`)
	ruleCode     = regexp.MustCompile(`^` + code + `$`)
	ruleCitation = regexp.MustCompile(`\b(` + strings.Join(rulePages, "|") + `)/(` + code + `)\b`)
	ruleLine     = regexp.MustCompile(`(?m)^\s*// Rules? ([a-z]+/[A-Z].*)$`)
	testName     = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`)
	codeInName   = regexp.MustCompile(`_(?:[A-Z]{1,3}[0-9]+[a-z]?|DoBetter[0-9_]+)(?:_|$)`)
)

// readRules returns the codes on a page of docs/rules.
func readRules(t *testing.T, page string) (codes []string) {
	t.Helper()
	text, err := os.ReadFile("docs/rules/" + page + ".md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ruleEntry.FindAllStringSubmatch(string(text), -1) {
		codes = append(codes, m[1])
	}
	return codes
}

// eachGoFile calls f with the slash-separated path and the text of every Go file of the repository.
func eachGoFile(t *testing.T, f func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			f(filepath.ToSlash(path), string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRules_EveryEntryIsThereOnce(t *testing.T) {
	for _, page := range rulePages {
		codes := readRules(t, page)
		if len(codes) == 0 {
			t.Errorf("docs/rules/%s.md has no entries", page)
		}
		seen := map[string]bool{}
		for _, c := range codes {
			if !ruleCode.MatchString(c) {
				t.Errorf("docs/rules/%s.md: %q is no code", page, c)
			}
			if seen[c] {
				t.Errorf("docs/rules/%s.md has two entries for %s", page, c)
			}
			seen[c] = true
		}
	}
}

func TestRules_EveryCitedRuleIsOnItsPage(t *testing.T) {
	known := map[string]bool{}
	for _, page := range rulePages {
		for _, c := range readRules(t, page) {
			known[page+"/"+c] = true
		}
	}
	eachGoFile(t, func(path, text string) {
		for _, m := range ruleCitation.FindAllStringSubmatch(text, -1) {
			if !known[m[0]] {
				t.Errorf("%s cites rule %s, which is not in docs/rules/%s.md", path, m[0], m[1])
			}
		}
		for _, line := range ruleLine.FindAllStringSubmatch(text, -1) {
			for _, cited := range strings.Split(strings.TrimRight(line[1], ".,"), ", ") {
				if m := ruleCitation.FindString(cited); m != cited {
					t.Errorf("%s cites %q, which is no rule: see docs/rules/README.md", path, cited)
				}
			}
		}
	})
}

func TestRules_NamesOfTestsHaveNoCodes(t *testing.T) {
	eachGoFile(t, func(path, text string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			if codeInName.MatchString(m[1]) {
				t.Errorf("%s: %s has a rule code in its name: the name says what happens, a comment cites the rule", path, m[1])
			}
		}
	})
}
