package servetest

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

// drawn are IDs of questions, and what a request is bound to.
var drawn = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}`)

// RequireGolden compares a text, but for what is drawn at random, with a file below testdata.
func RequireGolden(t *testing.T, file, got string) {
	t.Helper()
	got = drawn.ReplaceAllString(got, "(drawn)")
	if file = "testdata/" + file; *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s: run the test with -update if it is right", file)
}
