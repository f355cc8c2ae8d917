package agui

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

// What runs of agents look like in the protocol.
func TestTranslator_ShowsRunsAsInTheGoldenFiles(t *testing.T) {
	for name, events := range runs(t) {
		if name == "tools" {
			continue // its calls are made at the same time
		}
		for _, legacy := range []bool{false, true} {
			var shown strings.Builder
			tr := newTranslator("t1", "run-1", Config{}, legacy, func(e event) {
				data, err := json.Marshal(e)
				require.NoError(t, err)
				shown.Write(append(data, '\n'))
			})
			tr.begin()
			for i := range events {
				tr.add(&events[i])
			}
			file := "testdata/" + strings.ReplaceAll(name, " ", "-")
			if legacy {
				file += ".before-1.0"
			}
			requireGolden(t, file+".golden", shown.String())
		}
	}
}

// drawn are IDs of questions, and what a request is bound to.
var drawn = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}`)

func requireGolden(t *testing.T, file, got string) {
	t.Helper()
	got = drawn.ReplaceAllString(got, "(drawn)")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s: run the test with -update if it is right", file)
}
