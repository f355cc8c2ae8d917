// Command catwalkgen writes the table of models of ext/catalogue/catwalk.
//
//	catwalkgen -version v0.52.86 -out DIR
//
// It reads the JSON files of module charm.land/catwalk, which it downloads with the go command and does not import, and
// writes DIR/table.txt and DIR/NOTICE.
package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const module = "charm.land/catwalk"

func main() {
	version := flag.String("version", "", "version of "+module)
	out := flag.String("out", ".", "directory of the table")
	flag.Parse()
	if err := run(*version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "catwalkgen:", err)
		os.Exit(1)
	}
}

func run(version, out string) error {
	if version == "" {
		return errors.New("-version is required")
	}
	mod, err := download(version)
	if err != nil {
		return err
	}
	providers, license, err := read(mod.Zip)
	if err != nil {
		return err
	}
	table, err := format(providers, mod.Version, mod.when)
	if err != nil {
		return err
	}
	notice := fmt.Sprintf("The file table.txt is made of data of %s %s,\nwhich has this licence:\n\n%s",
		module, mod.Version, license)
	return errors.Join(
		os.WriteFile(filepath.Join(out, "table.txt"), table, 0o644),
		os.WriteFile(filepath.Join(out, "NOTICE"), []byte(notice), 0o644))
}

// downloaded holds what the go command says about a module.
type downloaded struct {
	Version, Info, Zip, Error string
	when                      time.Time
}

// download has the go command fetch the module. It fails for modules that need a newer Go, after it has fetched them:
// that does not matter, as nothing of them is compiled.
func download(version string) (mod downloaded, err error) {
	dir, err := os.MkdirTemp("", "catwalkgen")
	if err != nil {
		return mod, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module none\n"), 0o600); err != nil {
		return mod, err
	}
	cmd := exec.Command("go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local")
	text, failed := cmd.Output()
	if err := json.Unmarshal(text, &mod); err != nil {
		return mod, errors.Join(failed, err)
	}
	if mod.Zip == "" || mod.Info == "" {
		return mod, fmt.Errorf("download %s@%s: %s", module, version, mod.Error)
	}
	info, err := os.ReadFile(mod.Info)
	if err != nil {
		return mod, err
	}
	var stamp struct{ Time time.Time }
	err = json.Unmarshal(info, &stamp)
	mod.when = stamp.Time
	return mod, err
}

// read returns the providers in the zip file of the module, in the order of their names, and its licence.
func read(file string) (providers []provider, license []byte, err error) {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return nil, nil, err
	}
	defer archive.Close()
	for _, f := range archive.File {
		_, name, _ := strings.Cut(f.Name, "/"+path.Base(module)+"@") // which begins with the version
		_, name, _ = strings.Cut(name, "/")
		config, _ := path.Match("internal/providers/configs/*.json", name)
		if !config && name != "LICENSE" {
			continue
		}
		data, err := content(f)
		if err != nil {
			return nil, nil, err
		}
		if !config {
			license = data
			continue
		}
		var p provider
		if err := json.Unmarshal(data, &p); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		providers = append(providers, p)
	}
	if len(providers) == 0 || !bytes.HasPrefix(license, []byte("MIT License")) {
		return nil, nil, fmt.Errorf("%s has no lists of models, or no MIT License: see what has changed there", file)
	}
	slices.SortFunc(providers, func(a, b provider) int { return strings.Compare(a.ID, b.ID) })
	return providers, license, nil
}

func content(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
