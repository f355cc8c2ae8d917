// Command testcount reads the output of go test -json, prints what failed and one line a package, and ends with the
// counts: N passed, N failed, N skipped. It exits with 1 if anything failed or nothing ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

func main() {
	passed, failed, skipped, broken := count(os.Stdin, os.Stdout)
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if failed > 0 || broken || passed == 0 {
		os.Exit(1)
	}
}

// count goes through the events. broken reports a package that failed without a failed test: one that does not build.
func count(in io.Reader, out io.Writer) (passed, failed, skipped int, broken bool) {
	said := map[string]*strings.Builder{} // by package and test
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(out, lines.Text())
			continue
		}
		key := e.Package + e.ImportPath + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			if said[key] == nil {
				said[key] = &strings.Builder{}
			}
			said[key].WriteString(e.Output)
			continue
		case "build-fail":
			broken = true
		case "pass", "fail", "skip":
		default:
			continue
		}
		if e.Action == "fail" || e.Action == "build-fail" {
			if text := said[key]; text != nil {
				fmt.Fprint(out, text)
			}
		}
		delete(said, key)
		switch {
		case e.Test == "" && e.Action == "build-fail":
		case e.Test == "":
			fmt.Fprintf(out, "%-4s %s %.1fs\n", e.Action, e.Package, e.Elapsed)
			broken = broken || e.Action == "fail"
		case e.Action == "pass":
			passed++
		case e.Action == "fail":
			failed++
		case e.Action == "skip":
			skipped++
			fmt.Fprintf(out, "skip %s %s\n", e.Package, e.Test)
		}
	}
	return passed, failed, skipped, broken
}
