package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// environment returns the environment of go commands, so that modules of the release come from its proxy, and all others
// from the user's module cache or the usual proxy.
func (b *built) environment(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOPROXY", "GOMODCACHE", "GONOSUMDB").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	lines := strings.Split(string(out), "\n")
	proxies := []string{fileURL(b.proxy), fileURL(filepath.Join(lines[1], "cache", "download")), lines[0]}
	var paths []string
	for _, m := range b.modules {
		paths = append(paths, m.path)
	}
	return append(os.Environ(),
		"GOWORK=off",
		"GOPROXY="+strings.Join(proxies, ","),
		"GONOSUMDB="+strings.Trim(strings.Join(append(paths, lines[2]), ","), ","),
		"GOPRIVATE=", "GONOPROXY=",
		"GOMODCACHE="+b.modCache,
		"GOFLAGS=-modcacherw -buildvcs=false -ldflags=-w",
		// The go command keeps an index of each module in the cache by its directory, and takes it for final.
		"GODEBUG=goindex=0",
	), nil
}

// modCacheOf returns the module cache for checks of a tree, which keeps the release out of the user's. It stays for the
// next check, which then finds compiled what did not change.
func modCacheOf(tree string) (string, error) {
	base, err := os.UserCacheDir()
	return filepath.Join(base, "weft-release", fmt.Sprintf("%x", sha256.Sum256([]byte(tree)))[:12]), err
}

// forget removes what earlier checks left of the modules in the module cache.
func (b *built) forget() error {
	path := filepath.FromSlash(b.modules[0].root)
	stale, err := filepath.Glob(filepath.Join(b.modCache, path+"@*"))
	if err != nil {
		return err
	}
	stale = append(stale, filepath.Join(b.modCache, path), filepath.Join(b.modCache, "cache", "download", path))
	for _, dir := range stale {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

func fileURL(dir string) string { return "file://" + filepath.ToSlash(dir) }

// command runs a program in a directory and returns what it printed; both outputs are in the error if it fails.
func command(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(slices.Clip(env), "PWD="+dir)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(out.String()+errs.String()))
	}
	return out.String(), nil
}

// tidy checks that every go.mod says what its module needs: without replace lines, the go command accepts no less.
func (b *built) tidy(ctx context.Context) error {
	env := append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	for _, m := range b.modules {
		dir := filepath.Join(b.copy.dir, filepath.FromSlash(m.dir))
		if _, err := command(ctx, dir, env, "go", "mod", "tidy", "-diff"); err != nil {
			return fmt.Errorf("%s is not tidy (make tidy mends it): %w", m.dir, err)
		}
	}
	return nil
}

// verify checks the release as its users will see it.
func (b *built) verify(ctx context.Context) error {
	env, err := b.environment(ctx)
	if err != nil {
		return err
	}
	if err := b.forget(); err != nil {
		return err
	}
	for _, m := range b.modules {
		if err := timed(m.path, func() error { return b.alone(ctx, env, m) }); err != nil {
			return err
		}
	}
	if err := timed("the first program of README.md", func() error { return b.readme(ctx, env) }); err != nil {
		return err
	}
	if err := timed("the quickstart", func() error { return b.quickstart(ctx, env) }); err != nil {
		return err
	}
	for _, m := range b.modules {
		if strings.HasPrefix(m.dir, "cmd/") {
			if err := timed(m.path+" installed", func() error { return b.install(ctx, env, m) }); err != nil {
				return err
			}
		}
		if m.declared != m.path {
			if err := timed(m.path+" in place of "+m.declared, func() error { return b.standIn(ctx, env, m) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// alone builds a module where the go command puts it for users: there each package is compiled once for all checks.
func (b *built) alone(ctx context.Context, env []string, m *module) error {
	out, err := command(ctx, b.work, env, "go", "mod", "download", "-json", m.path+"@"+b.version)
	if err != nil {
		return err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &downloaded); err != nil {
		return err
	}
	for _, what := range []string{"build", "vet"} {
		if _, err := command(ctx, downloaded.Dir, env, "go", what, "./..."); err != nil {
			return err
		}
	}
	return nil
}

func timed(what string, check func() error) error {
	began := time.Now()
	err := check()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Printf("%6.1fs  %s\n", time.Since(began).Seconds(), what)
	return nil
}
