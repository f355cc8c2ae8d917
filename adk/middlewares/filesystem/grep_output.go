package filesystem

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/internal/safematch"
)

const noMatches = "No matches found"

// A page is a part of a list. A limit of 0 or less is none.
type page struct{ offset, limit int }

// cut cuts the page out of a list.
func cut[T any](list []T, p page) []T {
	list = list[min(p.offset, len(list)):]
	if p.limit > 0 && p.limit < len(list) {
		list = list[:p.limit]
	}
	return list
}

// A lineFormat is how matching lines are shown.
type lineFormat struct {
	numbers bool
	// isMatch distinguishes matching lines from those around them; nil if all are shown alike.
	isMatch *safematch.Matcher
}

func (f lineFormat) render(matches []filesystem.GrepMatch, p page) (string, error) {
	matches = cut(matches, p)
	if len(matches) == 0 {
		return noMatches, nil
	}
	var b strings.Builder
	for i, m := range matches {
		if i > 0 {
			b.WriteByte('\n')
		}
		separator := byte(':')
		if f.isMatch != nil {
			switch found, err := f.isMatch.Match([]byte(m.Content)); {
			case err != nil:
				return "", err
			case !found:
				separator = '-'
			}
		}
		b.WriteString(m.Path)
		b.WriteByte(separator)
		if f.numbers {
			b.WriteString(strconv.Itoa(m.Line))
			b.WriteByte(separator)
		}
		b.WriteString(m.Content)
	}
	return b.String(), nil
}

// matcherOf returns a matcher that distinguishes matching lines from those around them, nil if there can be none.
func matcherOf(ctx context.Context, req *filesystem.GrepRequest) *safematch.Matcher {
	if req.EnableMultiline {
		return nil
	}
	flags := ""
	if req.CaseInsensitive {
		flags = "i"
	}
	re, err := safematch.Compile(req.Pattern, flags)
	if err != nil {
		return nil // the backend knows another syntax
	}
	return re.Matcher(ctx)
}

func renderFiles(matches []filesystem.GrepMatch, p page) string {
	if len(matches) == 0 {
		return nothingFound
	}
	var paths []string
	seen := map[string]bool{}
	for _, m := range matches {
		if !seen[m.Path] {
			seen[m.Path] = true
			paths = append(paths, m.Path)
		}
	}
	return fmt.Sprintf("Found %s\n%s", counted(len(paths), "file"), strings.Join(cut(paths, p), "\n"))
}

func renderCounts(matches []filesystem.GrepMatch, p page) string {
	counts := map[string]int{}
	for _, m := range matches {
		counts[m.Path]++
	}
	var b strings.Builder
	for _, path := range cut(slices.Sorted(maps.Keys(counts)), p) {
		fmt.Fprintf(&b, "%s:%d\n", path, counts[path])
	}
	if b.Len() == 0 {
		b.WriteString(noMatches + "\n")
	}
	fmt.Fprintf(&b, "\nFound %s across %s.", counted(len(matches), "total occurrence"), counted(len(counts), "file"))
	return b.String()
}

// counted is a number with a noun.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
