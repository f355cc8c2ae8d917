// Command apicheck holds the exported API of the module against two lists, one fact a line.
//
//	apicheck            check: every fact of api/eino.txt exists, and the API is what api/weft.txt says
//	apicheck -update    write api/weft.txt
//
// api/eino.txt is what users of the Eino library find there: none of it may change. api/weft.txt is all that Weft
// offers: a change shows up in review as a change of that file.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	dir := flag.String("dir", ".", "root of the module")
	update := flag.Bool("update", false, "write api/weft.txt")
	flag.Parse()
	if err := run(*dir, *update); err != nil {
		fmt.Fprintln(os.Stderr, "apicheck:", err)
		os.Exit(1)
	}
}

func run(dir string, update bool) error {
	have, byAlias, err := list(dir)
	if err != nil {
		return err
	}
	golden := filepath.Join(dir, "api", "weft.txt")
	if update {
		return os.WriteFile(golden, []byte(strings.Join(have, "\n")+"\n"), 0o644)
	}
	wanted, err := read(filepath.Join(dir, "api", "eino.txt"))
	if err != nil {
		return err
	}
	if missing := without(without(wanted, have), byAlias); len(missing) > 0 {
		return fmt.Errorf("users of Eino miss %d facts:\n%s", len(missing), strings.Join(missing, "\n"))
	}
	known, err := read(golden)
	if err != nil {
		return err
	}
	gone, added := without(known, have), without(have, known)
	if len(gone)+len(added) > 0 {
		return fmt.Errorf("the API has changed; `make api-update` records it:\n-%s\n+%s",
			strings.Join(gone, "\n-"), strings.Join(added, "\n+"))
	}
	fmt.Printf("apicheck: %d facts of Eino's API, %d of Weft's\n", len(wanted), len(have))
	return nil
}

func read(file string) (facts []string, err error) {
	data, err := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			facts = append(facts, line)
		}
	}
	return facts, err
}

// without returns the facts of all that some does not have.
func without(all, some []string) (rest []string) {
	has := make(map[string]bool, len(some))
	for _, fact := range some {
		has[fact] = true
	}
	for _, fact := range all {
		if !has[fact] {
			rest = append(rest, fact)
		}
	}
	return rest
}
