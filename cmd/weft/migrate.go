package main

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/weftgo/weft/cmd/weft/internal/rewrite"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

const migrateUsage = `usage: weft migrate eino [-diff] [-keep-ext] [-shim] [-version V] PATTERN...

Moves Go programs from Eino to Weft. A pattern is a file, a directory, or a directory with /... for all below it,
modules inside it included. It changes

  imports   github.com/cloudwego/eino/... become github.com/weftgo/weft/...; extension modules that Weft has a
            module for become that one, under the name that they had in the file; a file that names schema.Jinja2
            also imports the engine of such templates, github.com/weftgo/weft/ext/jinja
  go.mod    of modules that a pattern with /... has the root of: requirements and replacements. When extension
            modules remain, a replace line has them return Weft's types: github.com/weftgo/weft/compat/eino

and nothing else: no other line of a Go file is touched. It reads syntax only, so programs need not compile. A second
run changes nothing. What it cannot move it prints, with file and line. Use version control, then:

  weft migrate eino ./... && go mod tidy && go build ./... && weft vet ./...

It exits with 0, with 1 if a file could not be moved (the others were), and with 2 if it was called wrongly.

`

func migrateCommand(args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && isHelp(args[0]) {
		args = []string{"eino", "-h"}
	}
	if len(args) == 0 || args[0] != "eino" {
		return errUsage("migrate from what? weft migrate eino ./...")
	}
	opts := rewrite.Options{}
	flags := flag.NewFlagSet("weft migrate eino", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&opts.Diff, "diff", false, "print what would change as a diff, and change nothing")
	flags.BoolVar(&opts.Shim, "shim", false, "only have go.mod replace Eino by the shim: no import changes")
	flags.BoolVar(&opts.KeepExt, "keep-ext", false, "leave extension modules, which work through the shim")
	flags.StringVar(&opts.Version, "version", required(version()), "the `version` of Weft that go.mod requires")
	switch err := flags.Parse(args[1:]); {
	case err == flag.ErrHelp:
		fmt.Fprint(stdout, migrateUsage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return nil
	case err != nil:
		return errUsage(err.Error() + "; weft migrate eino -h lists the flags")
	case flags.NArg() == 0:
		return errUsage("which files? weft migrate eino ./... for all below this directory")
	}
	for _, pattern := range flags.Args() {
		if strings.HasPrefix(pattern, "-") {
			return errUsage(fmt.Sprintf("flags are before the patterns: %s", pattern))
		}
	}
	if !semver.IsValid(opts.Version) {
		return errUsage(fmt.Sprintf("-version %s is no version, such as v0.1.0", opts.Version))
	}
	notes := stdout
	if opts.Diff {
		notes = stderr // so that stdout is a patch
	}
	if err := rewrite.Run(notes, stdout, flags.Args(), opts); err != nil {
		return err
	}
	if opts.Version == unreleased {
		fmt.Fprintf(notes, "%s is no release: give -version, or have go.mod use a checkout of Weft, such as ../weft:\n"+
			"  go mod edit -replace github.com/weftgo/weft=../weft\n"+
			"if it has Jinja2 templates or the shim's line,\n"+
			"  go mod edit -replace github.com/weftgo/weft/ext/jinja=../weft/ext/jinja\n"+
			"and, if it has the shim's line,\n"+
			"  go mod edit -replace github.com/cloudwego/eino=../weft/compat/eino\n", unreleased)
	}
	return nil
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// unreleased stands for the version of a checkout. Every go command takes it, where go.mod has a replace line for it.
const unreleased = "v0.0.0"

// required returns the version to require: the version of this command, if it was installed with a released one.
func required(version string) string {
	if semver.IsValid(version) && !module.IsPseudoVersion(version) && semver.Build(version) == "" {
		return version
	}
	return unreleased
}
