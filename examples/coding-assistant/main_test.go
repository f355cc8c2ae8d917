package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCodingAssistant(t *testing.T) {
	demotest.Shows(t, run,
		`coder ← grep: /greet.go:4:func Hello(name string) string { return "Hello, nmae!" }`,
		`coder ← read_file: error: [LocalFunc] failed to invoke tool, toolName=read_file, err=file not found: /etc/passwd`,
		`coder: I see: the name is not put in.`,
		`May edit_file run with {"file_path":"/greet.go","old_string":"\"Hello, nmae!\"","new_string":"\"Hello, \" + name + \"!\""}?`,
		`Yes.`,
		`coder: Fixed. Hello greets by name now.`,
		`func Hello(name string) string { return "Hello, " + name + "!" }`,
	)
}

func TestCodingAssistant_AsksOnce(t *testing.T) {
	require.Equal(t, 1, strings.Count(demotest.Output(t, run), "\nMay "), "reading needs no approval")
}
