package skill

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/turncost"
)

func TestTurnCost_NothingToDo(t *testing.T) {
	files := filesystem.NewInMemoryBackend()
	require.NoError(t, files.Write(t.Context(),
		&filesystem.WriteRequest{FilePath: "/skills/a/SKILL.md", Content: "---\nname: a\ndescription: b\n---\ntext"}))
	backend, err := NewBackendFromFilesystem(t.Context(), &BackendFromFilesystemConfig{Backend: files, BaseDir: "/skills"})
	require.NoError(t, err)
	m, err := NewMiddleware(t.Context(), &Config{Backend: backend})
	require.NoError(t, err)
	turncost.Check(t, m)
}
