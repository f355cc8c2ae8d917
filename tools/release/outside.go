package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// outside makes an empty directory that is in no module.
func (b *built) outside(name string) (string, error) {
	dir := filepath.Join(b.work, name)
	return dir, os.MkdirAll(dir, 0o755)
}

// readme does what README.md says: it gets the modules, copies the first program, and runs it. The program reaches a
// server of ours instead of the provider.
func (b *built) readme(ctx context.Context, env []string) error {
	page, err := os.ReadFile(filepath.Join(b.copy.dir, "README.md"))
	if err != nil {
		return err
	}
	get, program, err := firstProgram(string(page))
	if err != nil {
		return err
	}
	dir, err := b.outside("first")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644); err != nil {
		return err
	}
	args := []string{"go", "get"}
	for _, path := range get {
		args = append(args, path+"@"+b.version)
	}
	for _, args := range [][]string{{"go", "mod", "init", "example.com/first"}, args, {"go", "mod", "tidy"},
		{"go", "build", "-o", filepath.Join(dir, "first"), "."}} {
		if _, err := command(ctx, dir, env, args...); err != nil {
			return err
		}
	}
	return b.runFirst(ctx, env, dir)
}

func (b *built) runFirst(ctx context.Context, env []string, dir string) error {
	model, err := startModel(dir)
	if err != nil {
		return err
	}
	defer model.close()
	out, err := command(ctx, dir, append(env, model.environment()...), filepath.Join(dir, "first"))
	if err != nil {
		return err
	}
	if !strings.Contains(out, modelAnswer) {
		return fmt.Errorf("the program does not print the answer of the model, %q, but:\n%s", modelAnswer, out)
	}
	return nil
}

var (
	goGetLine = regexp.MustCompile(`(?m)^\s*go get (.+)$`)
	goBlock   = regexp.MustCompile("(?s)```go\n(.*?)```")
)

// firstProgram returns the modules of a page's first go get line and its first block of Go code.
func firstProgram(page string) (get []string, program string, err error) {
	line, block := goGetLine.FindStringSubmatch(page), goBlock.FindStringSubmatch(page)
	if line == nil || block == nil {
		return nil, "", errors.New("README.md has no go get line, or no block of Go code")
	}
	for _, path := range strings.Fields(line[1]) {
		path, _, _ = strings.Cut(path, "@")
		get = append(get, path)
	}
	return get, block[1], nil
}

// quickstart runs the quickstart of the release in an empty directory, without a model.
func (b *built) quickstart(ctx context.Context, env []string) error {
	dir, err := b.outside("empty")
	if err != nil {
		return err
	}
	var keyless []string
	for _, variable := range env {
		if name, _, _ := strings.Cut(variable, "="); !strings.HasSuffix(name, "_API_KEY") &&
			!strings.HasSuffix(name, "_BASE_URL") {
			keyless = append(keyless, variable)
		}
	}
	out, err := command(ctx, dir, keyless, "go", "run", b.modules[0].root+"/examples/quickstart@"+b.version)
	if err == nil && !strings.Contains(out, "demo model") {
		err = fmt.Errorf("it does not say that it talks to the demo model:\n%s", out)
	}
	return err
}

// install installs the command of a module as its users do.
func (b *built) install(ctx context.Context, env []string, m *module) error {
	dir, err := b.outside("bin")
	if err != nil {
		return err
	}
	_, err = command(ctx, dir, append(env, "GOBIN="+dir), "go", "install", m.path+"@"+b.version)
	return err
}

// standIn builds all packages of a module in the place of another one, by a replace line.
func (b *built) standIn(ctx context.Context, env []string, m *module) error {
	dir, err := b.outside("standin")
	if err != nil {
		return err
	}
	goMod := fmt.Sprintf("module example.com/standin\n\ngo 1.26\n\nrequire %s v0.0.0\n\nreplace %[1]s => %s %s\n",
		m.declared, m.path, b.version)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(goMod), 0o644); err != nil {
		return err
	}
	_, err = command(ctx, dir, env, "go", "build", "-mod=mod", m.declared+"/...")
	return err
}
