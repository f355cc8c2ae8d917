package rewrite

import (
	"fmt"
	"slices"
	"strings"
)

const contextLines = 3

// A line of a diff: one that both texts have, or that was taken out, or put in.
type line struct {
	mark string // " ", "-", "+"
	text string
}

// diff returns a unified diff of two texts.
func diff(name string, before, after []byte) string {
	lines := compare(splitLines(string(before)), splitLines(string(after)))
	changed := func(l line) bool { return l.mark != " " }
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	a, b, at := 1, 1, 0 // line numbers of lines[at]
	for {
		first := slices.IndexFunc(lines[at:], changed)
		if first < 0 {
			return out.String()
		}
		from := max(at, at+first-contextLines)
		a, b = a+from-at, b+from-at
		to := hunkEnd(lines, at+first)
		olds, news := 0, 0
		for _, l := range lines[from:to] {
			if l.mark != "+" {
				olds++
			}
			if l.mark != "-" {
				news++
			}
		}
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", a, olds, b, news)
		for _, l := range lines[from:to] {
			out.WriteString(l.mark + l.text)
			if !strings.HasSuffix(l.text, "\n") {
				out.WriteString("\n\\ No newline at end of file\n")
			}
		}
		a, b, at = a+olds, b+news, to
	}
}

// hunkEnd returns the end of a hunk: where so many lines follow each other unchanged that another one begins behind.
func hunkEnd(lines []line, from int) int {
	end, same := from, 0
	for i := from; i < len(lines) && same <= 2*contextLines; i++ {
		same++
		if lines[i].mark != " " {
			end, same = i+1, 0
		}
	}
	return min(end+contextLines, len(lines))
}

func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// compare returns what leads from a to b, along a longest common subsequence of what is between their common ends.
func compare(a, b []string) (all []line) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	emit := func(mark string, lines ...string) {
		for _, l := range lines {
			all = append(all, line{mark, l})
		}
	}
	emit(" ", a[:head]...)
	between(a[head:len(a)-tail], b[head:len(b)-tail], emit)
	emit(" ", a[len(a)-tail:]...)
	return all
}

func between(a, b []string, emit func(mark string, lines ...string)) {
	common := make([][]int, len(a)+1) // length for the rests from i and j
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			emit(" ", a[i])
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			emit("-", a[i])
			i++
		default:
			emit("+", b[j])
			j++
		}
	}
}
