package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// A module is one go.mod of the repository.
type module struct {
	dir      string // from the root, with slashes; "." is the root module
	root     string // the path of the root module
	path     string // what users require
	declared string // what its go.mod says; another one if it stands in for a module of others by a replace line
	requires []string
}

// published says whether the module in a directory gets tags. What only we run does not: tools, and tests that need
// more than one module.
func published(dir string) bool {
	return dir != "tools" && !strings.HasPrefix(dir, "tools/") && path.Base(dir) != "interop"
}

// apart says whether the module in a directory is not looked at: the modules of ext/engine need more than a release check
// can download and build.
func apart(dir string) bool { return strings.HasPrefix(dir, "ext/engine/") }

// findModules returns the published modules of a tree, with those first that others require, and the other ones.
func findModules(root string, files []string) (ordered, unpublished []*module, err error) {
	all := map[string]*module{}
	rootFile, err := parseMod(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		dir := path.Dir(file)
		if path.Base(file) != "go.mod" || slices.Contains(strings.Split(dir, "/"), "testdata") || apart(dir) {
			continue
		}
		parsed, err := parseMod(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, nil, err
		}
		root := rootFile.Module.Mod.Path
		m := &module{dir: dir, root: root, path: path.Join(root, dir), declared: parsed.Module.Mod.Path}
		for _, r := range parsed.Require {
			m.requires = append(m.requires, r.Mod.Path)
		}
		if published(dir) {
			all[m.path] = m
		} else {
			unpublished = append(unpublished, m)
		}
	}
	for _, u := range unpublished {
		for _, m := range all {
			if slices.Contains(m.requires, u.path) {
				return nil, nil, fmt.Errorf("%s requires %s, which is not published", m.path, u.path)
			}
		}
	}
	ordered, err = inOrder(all)
	return ordered, unpublished, err
}

func parseMod(file string) (*modfile.File, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	parsed, err := modfile.Parse(file, data, nil)
	if err != nil {
		return nil, err
	}
	if parsed.Module == nil {
		return nil, fmt.Errorf("%s has no module line", file)
	}
	return parsed, nil
}

// inOrder sorts modules so that each comes after those that it requires: its go.sum holds their hashes.
func inOrder(all map[string]*module) ([]*module, error) {
	var ordered []*module
	done, onTheWay := map[string]bool{}, map[string]bool{}
	var visit func(m *module) error
	visit = func(m *module) error {
		if done[m.path] {
			return nil
		}
		if onTheWay[m.path] {
			return fmt.Errorf("%s requires itself, by way of others: its go.sum would have to hold its own hash", m.path)
		}
		onTheWay[m.path] = true
		for _, r := range slices.Sorted(slices.Values(m.requires)) {
			if dependency := all[r]; dependency != nil {
				if err := visit(dependency); err != nil {
					return err
				}
			}
		}
		done[m.path] = true
		ordered = append(ordered, m)
		return nil
	}
	paths := make([]string, 0, len(all))
	for p := range all {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		if err := visit(all[p]); err != nil {
			return nil, err
		}
	}
	return ordered, nil
}
