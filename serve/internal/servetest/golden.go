package servetest

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	// drawn are IDs of questions and runs, and what a request is bound to.
	drawn = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}|r_[a-z2-7]{26}`)
	// timed are members with times.
	timed = regexp.MustCompile(`"(created|created_at|t)":[0-9]+`)
	// timedAtTimes is a member that is there only when the time is a millisecond or longer.
	timedAtTimes = regexp.MustCompile(`,"first_ms":[0-9]+`)
)

// RequireGolden compares a text, but for what is drawn at random and times, with a file below testdata.
func RequireGolden(t *testing.T, file, got string) {
	t.Helper()
	got = timed.ReplaceAllString(drawn.ReplaceAllString(got, "(drawn)"), `"$1":0`)
	got = timedAtTimes.ReplaceAllString(got, "")
	if file = "testdata/" + file; *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s: run the test with -update if it is right", file)
}
