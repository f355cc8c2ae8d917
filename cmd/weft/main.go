// Command weft helps to work on programs that use Weft.
//
//	weft migrate eino ./...   move a program from Eino: imports and go.mod
//	weft vet ./...            find what behaves differently in a program that moved
//	weft version              print the version
//
// It exits with 0, with 1 if something failed or vet found something, and with 2 if it was called wrongly.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

const usage = `usage: weft COMMAND [arguments]

  migrate eino [flags] ./...   move a program from Eino to Weft: imports and go.mod
  vet [flags] ./...            find what behaves differently in a program that moved
  version                      print the version

weft COMMAND -h explains a command.
`

// errUsage ends the program with exit code 2. Its text is one line.
type errUsage string

func (e errUsage) Error() string { return string(e) }

// errSilent ends the program with an exit code; what is wrong was printed.
type errSilent int

func (e errSilent) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() {
	if forGoVet(os.Args[1:]) {
		unit() // does not return
	}
	os.Exit(exit(run(os.Args[1:], os.Stdout, os.Stderr), os.Stderr))
}

// exit prints an error and returns the exit code for it.
func exit(err error, stderr io.Writer) int {
	var silent errSilent
	var wrong errUsage
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &silent):
		return int(silent)
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(stderr, "weft: "+strings.TrimSuffix(line, "\n"))
	}
	if errors.As(err, &wrong) {
		return 2
	}
	return 1
}

func run(args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errUsage("which command? weft -h lists them")
	}
	switch command := args[0]; command {
	case "-h", "-help", "--help", "help":
		_, err := io.WriteString(stdout, usage)
		return err
	case "migrate":
		return migrateCommand(args[1:], stdout, stderr)
	case "vet":
		return vetCommand(args[1:], stdout, stderr)
	case "version", "-version", "--version":
		fmt.Fprintln(stdout, "weft", version())
		return nil
	default:
		return errUsage(fmt.Sprintf("there is no command %q; weft -h lists them", command))
	}
}

// version is the version that this command was installed with.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
