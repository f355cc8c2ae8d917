package weft_test

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weftgo/weft/internal/mock/racedetector"
)

var updateWords = flag.Bool("words", false, "list what TestWords counts, and write testdata/words.txt")

// wordsFile has how many places each part of the repository has.
const wordsFile = "testdata/words.txt"

// habits are the turns of phrase that a reader stumbles over, with what to write instead.
var habits = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`^(?:[A-Z]\w*\.)?\w+ (?:is|are) (?:what|that|those|whether|who|where|how|when|why)\b`),
		"begin with a verb that says what it does, or with the noun that it is"},
	{regexp.MustCompile(`(?i)\b(?:somebody|nobody|whoever|everybody)\b`), "name the process, the caller, the reader, the worker"},
	{regexp.MustCompile(`(?i)\b(?:he|him|his)\b`), "name the process, the caller, the reader, the worker"},
	{regexp.MustCompile(`(?i)\b(?:that|those) of\b`), "repeat the noun"},
	{regexp.MustCompile(`(?i)\b(?:(?:has|have|had) come to|becomes? of|is to be done|is to know)\b`), "say what happened, or what to do"},
	{regexp.MustCompile(`(?i)\bin place of\b`), "instead of"},
	{regexp.MustCompile(`(?i)\bbesides\b`), "also, as well"},
	{regexp.MustCompile(`(?i)\banew\b`), "again"},
	{regexp.MustCompile(`(?i)\b(?:goes|gone) on\b`), "continues"},
}

// TestWords_NoPartGetsMoreOfTheHabits counts the habits in the comments of Go files and in the pages for users. The counts
// of testdata/words.txt may only fall: go test -run TestWords -words . lists the places, and writes lower counts down.
func TestWords_NoPartGetsMoreOfTheHabits(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("it reads source files, for a minute with the race detector")
	}
	counts := map[string]int{}
	count := func(path, text string, line int) {
		for _, h := range habits {
			for _, at := range h.pattern.FindAllStringIndex(text, -1) {
				counts[partOf(path)]++
				if *updateWords {
					t.Logf("%s:%d: %q: %s", path, line, text[at[0]:at[1]], h.instead)
				}
			}
		}
	}
	eachGoFile(t, func(path, text string) {
		if strings.HasPrefix(path, "compat/eino/") || strings.Contains(path, "testdata/") || strings.Contains(path, "node_modules/") {
			return
		}
		files := token.NewFileSet()
		syntax, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range syntax.Comments {
			count(path, strings.Join(strings.Fields(g.Text()), " "), files.Position(g.Pos()).Line)
		}
	})
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Glob("docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(slices.Concat(pages, rules), "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md") {
		if strings.HasPrefix(page, "docs/decisions/") { // they are as they were written
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		count(page, string(text), 1)
	}
	most := readWords(t)
	var lower []string
	for _, part := range slices.Sorted(maps.Keys(counts)) {
		if counts[part] > most[part] && !*updateWords {
			t.Errorf("the comments of %s have %d turns of phrase that readers stumble over, and had %d: "+
				"go test -run TestWords -words . lists them", part, counts[part], most[part])
		}
		lower = append(lower, fmt.Sprintf("%s %d\n", part, counts[part]))
	}
	if *updateWords {
		if err := os.WriteFile(wordsFile, []byte(strings.Join(lower, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// partOf returns the part of the repository that a file is counted in: a folder at the root, one of its folders in adk, ext and internal.
func partOf(path string) string {
	folders := strings.Split(path, "/")
	folders = folders[:len(folders)-1]
	deep := 1
	if len(folders) > 0 && (folders[0] == "adk" || folders[0] == "ext" || folders[0] == "internal") {
		deep = 2
	}
	if len(folders) == 0 {
		return "."
	}
	return strings.Join(folders[:min(deep, len(folders))], "/")
}

// readWords reads the counts that may not be exceeded.
func readWords(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(wordsFile)
	if err != nil && !*updateWords {
		t.Fatal(err)
	}
	most := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var part string
		var n int
		if _, err := fmt.Sscan(line, &part, &n); err != nil {
			t.Fatalf("%s: %q: %v", wordsFile, line, err)
		}
		most[part] = n
	}
	return most
}
