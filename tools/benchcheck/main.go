// Command benchcheck compares the allocations of benchmarks with a baseline: allocations do not depend on the machine.
//
//	go test -run '^$' -bench . -benchmem -benchtime 200x PACKAGES | benchcheck -baseline bench/baseline.txt
//	... | benchcheck -baseline bench/baseline.txt -update
//
// A benchmark may allocate a tenth, and two allocations, more than the baseline says. One that allocates much less, or
// is new, is named: the baseline wants an update.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// result is a line of go test -benchmem: the name without the number of processors, and the allocations.
var result = regexp.MustCompile(`^(Benchmark\S+?)(?:-\d+)?\s+\d+\s.*\s(\d+) allocs/op`)

func main() {
	baseline := flag.String("baseline", "", "file with a benchmark and its allocations on each line")
	update := flag.Bool("update", false, "write the baseline")
	flag.Parse()
	if err := run(os.Stdin, *baseline, *update); err != nil {
		fmt.Fprintln(os.Stderr, "benchcheck:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, file string, update bool) error {
	have, err := measured(in)
	if err != nil {
		return err
	}
	if len(have) == 0 {
		return fmt.Errorf("no benchmark has run")
	}
	if update {
		return os.WriteFile(file, []byte(render(have)), 0o644)
	}
	want, err := read(file)
	if err != nil {
		return err
	}
	var worse []string
	for name, allocs := range have {
		before, known := want[name]
		switch {
		case !known:
			fmt.Printf("benchcheck: %s is new: %d allocs/op\n", name, allocs)
		case allocs > before+before/10+2:
			worse = append(worse, fmt.Sprintf("%s: %d allocs/op, before %d", name, allocs, before))
		case allocs < before-before/10-2:
			fmt.Printf("benchcheck: %s is better: %d allocs/op, before %d\n", name, allocs, before)
		}
	}
	for name := range want {
		if _, ok := have[name]; !ok {
			worse = append(worse, name+": it has not run")
		}
	}
	if len(worse) > 0 {
		slices.Sort(worse)
		return fmt.Errorf("worse than %s:\n%s", file, strings.Join(worse, "\n"))
	}
	fmt.Printf("benchcheck: %d benchmarks as in %s\n", len(have), file)
	return nil
}

// measured reads the output of go test. Of several runs of a benchmark the one with the fewest allocations counts.
func measured(in io.Reader) (map[string]int, error) {
	have, pkg := map[string]int{}, ""
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "pkg: "); ok {
			pkg = name
		}
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL") {
			return nil, fmt.Errorf("%s", line)
		}
		m := result.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		allocs, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, err
		}
		name := pkg + "." + m[1]
		if before, ok := have[name]; !ok || allocs < before {
			have[name] = allocs
		}
	}
	return have, lines.Err()
}

func render(have map[string]int) string {
	lines := make([]string, 0, len(have))
	for name, allocs := range have {
		lines = append(lines, fmt.Sprintf("%s %d", name, allocs))
	}
	slices.Sort(lines)
	return "# Allocations of each benchmark. `make bench-update` writes this file.\n" + strings.Join(lines, "\n") + "\n"
}

func read(file string) (map[string]int, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	want := map[string]int{}
	for line := range strings.Lines(string(data)) {
		name, allocs, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || name == "#" {
			continue
		}
		if want[name], err = strconv.Atoi(allocs); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return want, nil
}
