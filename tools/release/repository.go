package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A repository is a directory under git.
type repository struct{ dir string }

func openRepository(ctx context.Context, dir string) (*repository, error) {
	r := &repository{dir: dir}
	root, err := r.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	r.dir = root
	return r, nil
}

// git runs git in the repository and returns what it printed, without the last newline.
func (r *repository) git(ctx context.Context, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.dir, &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

func (r *repository) tags(ctx context.Context) ([]string, error) {
	out, err := r.git(ctx, "tag", "--list")
	return strings.Fields(out), err
}

// readyFor returns an error unless a release can be made of the tree as it is.
func (r *repository) readyFor(ctx context.Context, version string, tags []string) error {
	if err := checkVersion(version, tags); err != nil {
		return err
	}
	changed, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return errors.New("the tree has changes that are not committed:\n" + changed)
	}
	return nil
}

// files returns the files of the tree with those that are new, and without what git ignores.
func (r *repository) files(ctx context.Context) ([]string, error) {
	out, err := r.git(ctx, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	if err != nil {
		return nil, err
	}
	var files []string
	for file := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(r.dir, file)); err == nil { // else it was deleted
			files = append(files, file)
		}
	}
	return files, nil
}

// copyTo copies the files to a directory, which becomes a repository with all of them in its index.
func (r *repository) copyTo(ctx context.Context, dir string, files []string) (*repository, error) {
	for _, file := range files {
		if err := copyFile(filepath.Join(r.dir, file), filepath.Join(dir, file)); err != nil {
			return nil, err
		}
	}
	c := &repository{dir: dir}
	if _, err := c.git(ctx, "init", "--quiet"); err != nil {
		return nil, err
	}
	return c, c.add(ctx)
}

func (r *repository) add(ctx context.Context) error {
	_, err := r.git(ctx, "-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "add", "--all", "--force", ".")
	return err
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm())
}

// commit makes the release of what was built: a commit with the tags, and one that continues development.
func (r *repository) commit(ctx context.Context, made *built) error {
	development := map[string][]byte{}
	for _, file := range made.changed {
		before, err := os.ReadFile(filepath.Join(r.dir, file))
		if err != nil {
			return err
		}
		after, err := os.ReadFile(filepath.Join(made.copy.dir, file))
		if err != nil {
			return err
		}
		if development[file], err = made.development(file, before, after); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.dir, file), after, 0o644); err != nil {
			return err
		}
	}
	if err := r.commitAll(ctx, "release "+made.version); err != nil {
		return err
	}
	// The hashes in go.sum are the hashes of this tree and of no other.
	tree, err := r.git(ctx, "rev-parse", "HEAD^{tree}")
	if err != nil {
		return err
	}
	if tree != made.tree {
		return fmt.Errorf("the commit has tree %s, and %s was checked: git reset --hard HEAD~1, and look for files "+
			"that git changes when they are added", tree, made.tree)
	}
	for _, m := range made.modules {
		tag := tagOf(m.dir, made.version)
		if _, err := r.git(ctx, "tag", "--annotate", "--message", m.path+" "+made.version, tag); err != nil {
			return err
		}
		fmt.Println("tagged", tag)
	}
	for file, data := range development {
		if err := os.WriteFile(filepath.Join(r.dir, file), data, 0o644); err != nil {
			return err
		}
	}
	if err := r.commitAll(ctx, "continue after "+made.version); err != nil {
		return err
	}
	fmt.Printf("\nNothing is pushed. To publish %s:\n\n  git push --atomic origin HEAD%s\n\nTo take it back:\n\n"+
		"  git tag --delete%[2]s\n  git reset --hard HEAD~2\n", made.version, made.tagList())
	return nil
}

func (r *repository) commitAll(ctx context.Context, message string) error {
	if _, err := r.git(ctx, "add", "--update", "."); err != nil {
		return err
	}
	_, err := r.git(ctx, "commit", "--quiet", "--message", message)
	return err
}
