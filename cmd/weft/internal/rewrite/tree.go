// Package rewrite moves Go programs from Eino to Weft: their imports, and their go.mod. It reads syntax only, so a
// program need not compile.
package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Options say what to do.
type Options struct {
	Diff    bool   // print what would change, and change nothing
	Shim    bool   // only have go.mod replace Eino by the shim
	KeepExt bool   // leave extension modules, and have them work through the shim
	Version string // of Weft's modules
}

// Run moves the files that the patterns name: files, directories, or directories with "/..." for all below. It writes
// what it did and what is left to out, and differences to diffs. An error that Run returns says which files could not
// be moved; all others were.
func Run(out, diffs io.Writer, patterns []string, opts Options) error {
	t := &tree{
		opts: opts, out: out, diffs: diffs,
		modules: map[string]*program{}, seen: map[string]bool{}, differ: map[string]bool{},
	}
	for _, p := range patterns {
		if err := t.find(p); err != nil {
			return err
		}
	}
	var problems []error
	if !opts.Shim {
		for _, file := range t.files {
			problems = append(problems, t.goFile(file))
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(t.modules)) {
		problems = append(problems, t.goMod(dir))
	}
	t.summary()
	return errors.Join(problems...)
}

// A tree is the files of one run.
type tree struct {
	opts    Options
	out     io.Writer
	diffs   io.Writer
	files   []string
	modules map[string]*program // by directory
	seen    map[string]bool     // files
	differ  map[string]bool     // extension modules whose counterparts are used now

	changed, imports int
}

// A program is a module: it has the new imports of its files.
type program struct{ imports map[string]bool }

// find adds what a pattern names.
func (t *tree) find(pattern string) error {
	root, all := strings.CutSuffix(filepath.ToSlash(pattern), "...")
	root = filepath.FromSlash(strings.TrimSuffix(root, "/"))
	if root == "" {
		root = "."
		if strings.HasPrefix(pattern, "/") {
			root = "/"
		}
	}
	info, err := os.Stat(root)
	if err != nil {
		return fmt.Errorf("%s: there is no such file or directory (patterns are paths, such as ./...)", pattern)
	}
	if !info.IsDir() {
		t.addFile(root)
		return nil
	}
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if file != root && (!all || skipped(d.Name())) {
				return fs.SkipDir
			}
		case d.Name() == "go.mod" && all:
			t.modules[filepath.Dir(file)] = &program{imports: map[string]bool{}}
		case filepath.Ext(file) == ".go" && d.Type().IsRegular():
			t.addFile(file)
		}
		return nil
	})
}

func skipped(dir string) bool {
	return strings.HasPrefix(dir, ".") || strings.HasPrefix(dir, "_") || dir == "testdata" || dir == "vendor" ||
		dir == "node_modules"
}

func (t *tree) addFile(file string) {
	file = filepath.Clean(file)
	if !t.seen[file] {
		t.seen[file] = true
		t.files = append(t.files, file)
	}
}

// goFile moves the imports of one file.
func (t *tree) goFile(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	moved, err := rewriteGo(file, text, t.opts.KeepExt)
	if err != nil {
		return fmt.Errorf("%w (its imports stay as they are)", err)
	}
	if !t.opts.KeepExt {
		t.noteDifferences(text)
	}
	if m := t.moduleOf(file); m != nil {
		for _, path := range moved.imports {
			m.imports[path] = true
		}
	}
	if err := t.write(file, text, moved.text, fmt.Sprintf("%d imports", moved.moved)); err != nil {
		return err
	}
	t.imports += moved.moved
	for _, n := range moved.notes {
		fmt.Fprintf(t.out, "%s:%d: %s\n", file, n.line, n.text)
	}
	return nil
}

// noteDifferences keeps which extension modules a file used.
func (t *tree) noteDifferences(text []byte) {
	for rel := range counterparts {
		if bytes.Contains(text, []byte(`"`+extModule+"/"+rel+`"`)) {
			t.differ[rel] = true
		}
	}
}

// moduleOf returns the module that a file is of, if its go.mod is moved as well.
func (t *tree) moduleOf(file string) *program {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if m := t.modules[dir]; m != nil {
			return m
		}
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// goMod moves a go.mod.
func (t *tree) goMod(dir string) error {
	file := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var after []byte
	var notes []string
	if t.opts.Shim {
		after, notes, err = shimGoMod(file, text, t.opts.Version)
	} else {
		after, notes, err = rewriteGoMod(file, text, t.modules[dir].imports, t.opts.Version)
	}
	if err != nil {
		return err
	}
	if err := t.write(file, text, after, "go mod tidy completes it"); err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintf(t.out, "%s: %s\n", file, n)
	}
	_, err = os.Stat(filepath.Join(dir, "vendor", "modules.txt"))
	if err == nil && !bytes.Equal(text, after) {
		fmt.Fprintf(t.out, "%s: run go mod vendor: there is a vendor directory\n", file)
	}
	return nil
}

// write replaces the text of a file, or prints how it would change.
func (t *tree) write(file string, before, after []byte, what string) error {
	if bytes.Equal(before, after) {
		return nil
	}
	t.changed++
	if t.opts.Diff {
		_, err := io.WriteString(t.diffs, diff(filepath.ToSlash(file), before, after))
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, after, info.Mode().Perm()); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "%s: %s\n", file, what)
	return nil
}

// summary says what was done, and what a person does next.
func (t *tree) summary() {
	for _, rel := range slices.Sorted(maps.Keys(t.differ)) {
		c := counterparts[rel]
		fmt.Fprintf(t.out, "%s/%s is %s now", extModule, rel, c.module)
		if c.differ != "" {
			fmt.Fprintf(t.out, ": %s", c.differ)
		}
		fmt.Fprintln(t.out)
	}
	switch {
	case t.changed == 0:
		fmt.Fprintln(t.out, "nothing to change")
	case t.opts.Diff:
		fmt.Fprintf(t.out, "%d files would change\n", t.changed)
	case len(t.modules) == 0:
		fmt.Fprintf(t.out, "%d files changed; no go.mod is among the patterns: run it with ./... where the go.mod is\n",
			t.changed)
	case t.opts.Shim:
		fmt.Fprintf(t.out, "%d files changed; next: go mod tidy\n", t.changed)
	default:
		fmt.Fprintf(t.out, "%d files changed; next: go mod tidy && weft vet ./...\n", t.changed)
	}
}
