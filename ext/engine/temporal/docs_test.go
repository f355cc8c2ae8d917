package temporalengine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocs_TheProgramOfThePageCompiles.
func TestDocs_TheProgramOfThePageCompiles(t *testing.T) {
	page, err := os.ReadFile("../../../docs/temporal.md")
	require.NoError(t, err)
	programs := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1)
	require.NotEmpty(t, programs)
	for _, program := range programs {
		dir, err := os.MkdirTemp(".", "snippet")
		require.NoError(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), program[1], 0o600))
		out, err := exec.Command("go", "vet", "./"+dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
