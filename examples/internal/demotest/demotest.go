// Package demotest runs the examples in their tests.
package demotest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Output runs an example and returns what it printed. It fails the test unless the example says that a demo model
// answers.
func Output(t *testing.T, run func(context.Context, io.Writer) error) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out), "%s", &out)
	require.Contains(t, out.String(), "demo model")
	return out.String()
}

// Shows runs an example and checks that the lines are among those that it prints, in their order.
func Shows(t *testing.T, run func(context.Context, io.Writer) error, lines ...string) {
	t.Helper()
	out := Output(t, run)
	rest := strings.Split(out, "\n")
	for _, line := range lines {
		i := 0
		for i < len(rest) && strings.TrimSpace(rest[i]) != line {
			i++
		}
		if i == len(rest) {
			t.Fatalf("%q is missing, or comes too early, in\n%s", line, out)
		}
		rest = rest[i+1:]
	}
}
