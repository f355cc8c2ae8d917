package agentsmd

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var importPattern = regexp.MustCompile(`@([a-zA-Z0-9_.~/][a-zA-Z0-9_.~/-]*)`)

// importable are the extensions by which a name alone is taken for a file.
var importable = []string{".md", ".txt", ".mdx", ".yaml", ".yml", ".json", ".toml"}

// imports are the paths that a text imports, in order. Not every @ is an import: not the ones of mail addresses and
// user names, and none in a fenced block of code.
func imports(text string) (paths []string) {
	if !strings.Contains(text, "@") {
		return nil
	}
	var fence string // what ends the block of code
	for line := range strings.Lines(text) {
		start := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(start, fence) && strings.Trim(start, fence[:1]) == "" {
				fence = ""
			}
			continue
		case strings.HasPrefix(start, "```") || strings.HasPrefix(start, "~~~"):
			fence = start[:len(start)-len(strings.TrimLeft(start, start[:1]))]
			continue
		}
		paths = append(paths, importsOf(line)...)
	}
	return paths
}

func importsOf(line string) (paths []string) {
	for _, at := range importPattern.FindAllStringSubmatchIndex(line, -1) {
		if at[0] > 0 && isWordByte(line[at[0]-1]) {
			continue
		}
		name := strings.TrimRight(line[at[2]:at[3]], ".") // the end of a sentence
		if strings.Contains(name, "/") || slices.Contains(importable, strings.ToLower(path.Ext(name))) {
			paths = append(paths, name)
		}
	}
	return paths
}

// isWordByte reports whether an @ behind the byte is within a word, as in a mail address.
func isWordByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("_.+-%", b) >= 0
}
