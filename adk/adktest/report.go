package adktest

import (
	"fmt"
	"strings"
	"sync"
)

// reporter reports failures as long as the test runs: a failure of a test that has ended would panic.
type reporter struct {
	mu   sync.Mutex
	t    TB
	over bool
}

func newReporter(t TB) *reporter {
	r := &reporter{t: t}
	t.Cleanup(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.over = true
	})
	return r
}

func (r *reporter) errorf(format string, args ...any) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.t.Errorf(format, args...)
	}
}

// drift shows two lists of lines one above the other, with a mark at each line that the other list has not in its
// place.
func drift(got, want []string) string {
	return marked("got", got, func(i int) bool { return i >= len(want) || want[i] != got[i] }) +
		marked("want", want, func(i int) bool { return i >= len(got) || got[i] != want[i] })
}

// listed shows a list of lines.
func listed(title string, lines []string) string {
	return marked(title, lines, func(int) bool { return false })
}

func marked(title string, lines []string, mark func(i int) bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s:", title)
	if len(lines) == 0 {
		b.WriteString(" nothing")
	}
	for i, line := range lines {
		sign := " "
		if mark(i) {
			sign = ">"
		}
		fmt.Fprintf(&b, "\n  %s %s", sign, line)
	}
	return b.String()
}
