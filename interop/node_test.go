package interop

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// missing skips a test that needs something that is not installed. In CI the test fails: there everything has to be.
func missing(t *testing.T, what, install string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed, and tests are not skipped in CI: %s", what, install)
	}
	t.Skipf("%s is not installed: %s", what, install)
}

// installNPM says how to install the npm packages.
const installNPM = "run npm ci in interop, or make interop"

// node runs a script of testdata with arguments, and returns the JSON values that it prints, one a line. The test skips
// without Node or the package of npm.
func node(t *testing.T, needs, script string, args ...string) (printed []map[string]any) {
	t.Helper()
	return nodeOf(t, "node", needs, script, args...)
}

// nodeOf is node with a runtime.
func nodeOf(t *testing.T, runtime, needs, script string, args ...string) (printed []map[string]any) {
	t.Helper()
	path, err := exec.LookPath(runtime)
	if err != nil {
		missing(t, runtime, "install Node 20")
	}
	if _, err := os.Stat("node_modules/" + needs); err != nil {
		missing(t, "npm package "+needs, installNPM)
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"testdata/" + script}, args...)...)
	cmd.WaitDelay = 10 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	require.NoError(t, err, "%s\n%s", errs.String(), out.String())
	for _, line := range bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n")) {
		var value map[string]any
		require.NoError(t, json.Unmarshal(line, &value), "%s", line)
		printed = append(printed, value)
	}
	return printed
}
