package examples

import (
	"os"
	"strings"
	"testing"
)

// TestExamples_TheShortOnesStayShort counts the lines that are not empty and no comments.
func TestExamples_TheShortOnesStayShort(t *testing.T) {
	for _, name := range []string{"typed-tool", "structured"} {
		source, err := os.ReadFile(name + "/main.go")
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.Lines(string(source)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
		if lines > 25 {
			t.Errorf("%s has %d lines", name, lines)
		}
	}
}
