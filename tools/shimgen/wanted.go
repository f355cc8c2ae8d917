package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A listing has the wanted names of each package, by the package's path in the module.
type listing map[string]map[string]bool

// fact is a line of the list that declares something. Lines on members and methods start like the lines of their type, or
// with "method", and are not needed: an alias has all of them.
var fact = regexp.MustCompile(`^pkg (\S+), (?:const|var|func|type) (\w+)`)

func readWanted(dir string) (listing, error) {
	text, err := os.ReadFile(filepath.Join(dir, "api", "eino.txt"))
	if err != nil {
		return nil, err
	}
	all := listing{}
	for line := range strings.Lines(string(text)) {
		if m := fact.FindStringSubmatch(line); m != nil {
			if all[m[1]] == nil {
				all[m[1]] = map[string]bool{}
			}
			all[m[1]][m[2]] = true
		}
	}
	return all, nil
}
