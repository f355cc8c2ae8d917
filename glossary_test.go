package weft_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Words of old that no exported name has: CONTRIBUTING.md says what to say instead.
var forbidden = regexp.MustCompile(`Stretch|WaitPoint|Lane\b|Outcome\b|JSONAnswer|RunAnswer|PointKind`)

// declaration is the beginning of a line that declares a name.
var declaration = regexp.MustCompile(`^pkg [^,]+, (?:type|func|method|const|var) (?:\([^)]*\) )?\w+`)

// known are exported names that have one of them for a reason, or will be renamed.
var known = map[string]string{
	"pkg runs, const KindOutcome": "as below",
	"pkg adk, type ToolOutcome":   "what became of a tool call whose process died",
}

// TestGlossary_ExportedNamesHaveTheWordsOfTheGlossary reads the list of the exported API.
func TestGlossary_ExportedNamesHaveTheWordsOfTheGlossary(t *testing.T) {
	api, err := os.ReadFile("api/weft.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(api), "\n")
	if len(lines) < 5000 {
		t.Fatalf("api/weft.txt has %d lines only", len(lines))
	}
	for _, line := range lines {
		if declares := declaration.FindString(line); forbidden.MatchString(declares) && known[declares] == "" {
			t.Errorf("%s: see the glossary of CONTRIBUTING.md", declares)
		}
	}
}
