package weft_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)#\s]+)`)
	markdownCode = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

// linksOf returns the files that a page links to.
func linksOf(t *testing.T, page string) (files []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range markdownLink.FindAllStringSubmatch(markdownCode.ReplaceAllString(string(text), ""), -1) {
		if !strings.Contains(m[1], "://") {
			files = append(files, filepath.Join(filepath.Dir(page), m[1]))
		}
	}
	return files
}

func TestDocs_LinksLeadSomewhere(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md") {
		for _, file := range linksOf(t, page) {
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to a file that is not there: %v", page, err)
			}
		}
	}
}

func TestDocs_EveryPageIsInTheIndex(t *testing.T) {
	const index = "docs/README.md"
	listed := map[string]bool{index: true}
	for _, file := range linksOf(t, index) {
		listed[filepath.ToSlash(file)] = true
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if !listed[filepath.ToSlash(page)] {
			t.Errorf("%s does not list %s: nobody will find it", index, page)
		}
	}
}
