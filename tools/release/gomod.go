package main

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// sums are the hashes of a module's zip and of its go.mod, as go.sum has them.
type sums struct{ zip, mod string }

// releasedMod returns a go.mod as it is published: own modules are required at version, and nothing is replaced,
// because the go command runs no program of a module with replace lines (go run path@version).
func releasedMod(file string, data []byte, own func(path string) bool, version string) ([]byte, error) {
	parsed, err := modfile.Parse(file, data, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Clone(parsed.Replace) {
		if !own(r.Old.Path) {
			return nil, fmt.Errorf("%s replaces %s: only modules of the repository can be replaced", file, r.Old.Path)
		}
		if err := parsed.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return nil, err
		}
	}
	if len(parsed.Exclude) > 0 {
		return nil, fmt.Errorf("%s excludes %s: nobody can run a program of it then", file, parsed.Exclude[0].Mod)
	}
	return requireOwn(parsed, own, version)
}

// developmentMod returns a go.mod as it is between releases: own modules are required at the last version, so that
// others can require any commit, and replaced by the directories.
func developmentMod(file string, data []byte, own func(path string) bool, version string) ([]byte, error) {
	parsed, err := modfile.Parse(file, data, nil)
	if err != nil {
		return nil, err
	}
	return requireOwn(parsed, own, version)
}

func requireOwn(parsed *modfile.File, own func(path string) bool, version string) ([]byte, error) {
	for _, r := range slices.Clone(parsed.Require) {
		if own(r.Mod.Path) {
			if err := parsed.AddRequire(r.Mod.Path, version); err != nil { // keeps the line and its comment
				return nil, err
			}
		}
	}
	parsed.Cleanup()
	return parsed.Format()
}

// releasedSum returns a go.sum with the lines of own modules, and without those that they had before.
func releasedSum(data []byte, own func(path string) bool, version string, of map[string]sums) []byte {
	var lines []string
	for line := range strings.Lines(string(data)) {
		if path, _, _ := strings.Cut(line, " "); !own(path) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	for path, s := range of {
		lines = append(lines, fmt.Sprintf("%s %s %s", path, version, s.zip),
			fmt.Sprintf("%s %s/go.mod %s", path, version, s.mod))
	}
	slices.Sort(lines)
	if len(lines) == 0 {
		return nil
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}
