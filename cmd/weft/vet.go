package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/weftgo/weft/cmd/weft/migrate"
	"golang.org/x/tools/go/analysis/unitchecker"
)

const vetUsage = `usage: weft vet [flags of go vet] PACKAGE...

Finds what behaves differently on Weft in a program that was written for Eino. It is

  go vet -vettool=$(which weft) PACKAGE...

so packages are named as for the go command, programs have to compile, and results are cached. Flags such as -json,
-tags, and -NAME=false to leave a check out are those of go vet. No check looks for types whose package path is compared by
reflection, as nothing says what a path is compared for. The checks are

`

// forGoVet reports whether go vet runs this command as its tool.
func forGoVet(args []string) bool {
	if len(args) == 0 {
		return false
	}
	return strings.HasPrefix(args[0], "-V=") || args[0] == "-flags" || strings.HasSuffix(args[len(args)-1], ".cfg")
}

// unit analyses one package for go vet. It does not return.
func unit() { unitchecker.Main(migrate.Analyzers()...) }

func vetCommand(args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errUsage("which packages? weft vet ./... for all of this module")
	}
	if isHelp(args[0]) {
		fmt.Fprint(stdout, vetUsage)
		for _, a := range migrate.Analyzers() {
			what, misses, _ := strings.Cut(a.Doc, "\n\n")
			fmt.Fprintf(stdout, "  %-12s %s\n               %s\n", a.Name, what, misses)
		}
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	vet := exec.Command("go", append([]string{"vet", "-vettool=" + self}, args...)...)
	vet.Stdout, vet.Stderr = stdout, stderr
	switch err := vet.Run(); {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("the go command is not on the PATH")
	case vet.ProcessState != nil && vet.ProcessState.ExitCode() > 0:
		return errSilent(1)
	default:
		return err
	}
}
