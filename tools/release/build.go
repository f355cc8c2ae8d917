package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	xmodule "golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// built is a release in a copy of the tree, and the proxy that serves it.
type built struct {
	version     string
	copy        *repository
	proxy       string    // a directory
	modCache    string    // a directory
	work        string    // a directory for what the checks need
	modules     []*module // those that are published, in the order of their requirements
	unpublished []*module
	changed     []string // the files that a release changes
	tree        string   // of git, with all changes
	hashes      map[string]sums
}

// build makes the release of a tree in a directory.
func build(ctx context.Context, tree *repository, dir string, o options) (*built, error) {
	files, err := tree.files(ctx)
	if err != nil {
		return nil, err
	}
	b := &built{
		version: o.version, modCache: o.modCache, proxy: filepath.Join(dir, "proxy"), work: filepath.Join(dir, "work"),
		hashes: map[string]sums{},
	}
	if b.copy, err = tree.copyTo(ctx, filepath.Join(dir, "tree"), files); err != nil {
		return nil, err
	}
	if b.modules, b.unpublished, err = findModules(b.copy.dir, files); err != nil {
		return nil, err
	}
	if err := b.tidy(ctx); err != nil {
		return nil, err
	}
	if err := b.changelog(o); err != nil {
		return nil, err
	}
	for _, m := range b.modules {
		if err := b.release(ctx, m); err != nil {
			return nil, fmt.Errorf("%s: %w", m.dir, err)
		}
	}
	for _, m := range b.unpublished { // they keep their replace lines
		goMod := path.Join(m.dir, "go.mod")
		err := b.rewrite(goMod, func(data []byte) ([]byte, error) {
			return developmentMod(goMod, data, b.own, b.version)
		})
		if err != nil {
			return nil, err
		}
	}
	if b.tree, err = b.writeTree(ctx); err != nil {
		return nil, err
	}
	return b, b.sealed()
}

// changelog gives the changes the version. A check is content with a changelog that has nothing new.
func (b *built) changelog(o options) error {
	file := filepath.Join(b.copy.dir, "CHANGELOG.md")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	released, err := releaseChangelog(string(text), b.version, o.now)
	switch {
	case err != nil && o.check:
		return nil
	case err != nil:
		return err
	}
	b.changed = append(b.changed, "CHANGELOG.md")
	return os.WriteFile(file, []byte(released), 0o644)
}

// release writes go.mod and go.sum of a module as they are published, and puts the module into the proxy.
func (b *built) release(ctx context.Context, m *module) error {
	goMod, goSum := path.Join(m.dir, "go.mod"), path.Join(m.dir, "go.sum")
	err := b.rewrite(goMod, func(data []byte) ([]byte, error) { return releasedMod(goMod, data, b.own, b.version) })
	if err != nil {
		return err
	}
	needed := map[string]sums{}
	for _, r := range m.requires {
		if h, ok := b.hashes[r]; ok {
			needed[r] = h
		}
	}
	err = b.rewrite(goSum, func(data []byte) ([]byte, error) {
		return releasedSum(data, b.own, b.version, needed), nil
	})
	if err != nil {
		return err
	}
	tree, err := b.writeTree(ctx)
	if err != nil {
		return err
	}
	b.hashes[m.path], err = b.publish(m, tree)
	return err
}

// own says whether a module is one of those that are released.
func (b *built) own(path string) bool {
	return slices.ContainsFunc(b.modules, func(m *module) bool { return m.path == path })
}

// rewrite changes a file of the copy, which may be missing.
func (b *built) rewrite(file string, change func(data []byte) ([]byte, error)) error {
	name := filepath.Join(b.copy.dir, filepath.FromSlash(file))
	before, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	after, err := change(before)
	if err != nil || bytes.Equal(before, after) {
		return err
	}
	if before == nil {
		return fmt.Errorf("%s is missing", file)
	}
	b.changed = append(b.changed, file)
	return os.WriteFile(name, after, 0o644)
}

func (b *built) writeTree(ctx context.Context) (string, error) {
	if err := b.copy.add(ctx); err != nil {
		return "", err
	}
	return b.copy.git(ctx, "write-tree")
}

// publish puts a module into the proxy as the go command makes it of a tag: with the license of the root, and without
// the modules inside.
func (b *built) publish(m *module, tree string) (sums, error) {
	escaped, err := xmodule.EscapePath(m.path)
	if err != nil {
		return sums{}, err
	}
	dir := filepath.Join(b.proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return sums{}, err
	}
	goMod, err := os.ReadFile(filepath.Join(b.copy.dir, filepath.FromSlash(m.dir), "go.mod"))
	if err != nil {
		return sums{}, err
	}
	archive := filepath.Join(dir, b.version+".zip")
	if err := b.zip(archive, m, tree); err != nil {
		return sums{}, err
	}
	for name, data := range map[string][]byte{
		"list":              []byte(b.version + "\n"),
		b.version + ".info": fmt.Appendf(nil, `{"Version":%q}`, b.version),
		b.version + ".mod":  goMod,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return sums{}, err
		}
	}
	return hashesOf(archive, goMod)
}

func (b *built) zip(archive string, m *module, tree string) (err error) {
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	subdir := m.dir
	if subdir == "." {
		subdir = ""
	}
	return zip.CreateFromVCS(f, xmodule.Version{Path: m.path, Version: b.version}, b.copy.dir, tree, subdir)
}

func hashesOf(archive string, goMod []byte) (s sums, err error) {
	if s.zip, err = dirhash.HashZip(archive, dirhash.Hash1); err != nil {
		return s, err
	}
	s.mod, err = dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(goMod)), nil
	})
	return s, err
}

// sealed checks that the zips still match the whole tree: none may hold a file that a later one changed.
func (b *built) sealed() error {
	for _, m := range b.modules {
		archive := filepath.Join(b.work, "again.zip")
		if err := os.MkdirAll(b.work, 0o755); err != nil {
			return err
		}
		if err := b.zip(archive, m, b.tree); err != nil {
			return err
		}
		again, err := dirhash.HashZip(archive, dirhash.Hash1)
		if err != nil {
			return err
		}
		if again != b.hashes[m.path].zip {
			return fmt.Errorf("%s: the zip changed after its hash was taken", m.dir)
		}
	}
	return nil
}

// development returns what a file that the release changes is like in the commit after it.
func (b *built) development(file string, before, after []byte) ([]byte, error) {
	switch path.Base(file) {
	case "go.mod":
		return developmentMod(file, before, b.own, b.version)
	case "CHANGELOG.md":
		return []byte(reopenChangelog(string(after))), nil
	}
	return before, nil
}

// tagList returns the tags with a space before each.
func (b *built) tagList() string {
	var sb strings.Builder
	for _, m := range b.modules {
		sb.WriteString(" " + tagOf(m.dir, b.version))
	}
	return sb.String()
}
