package agentsmd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/middlewares/internal/turncost"
)

func TestTurnCost_NothingToDo(t *testing.T) {
	for name, files := range map[string]map[string]string{"shown already": {"/a.md": "a"}, "no files": nil} {
		t.Run(name, func(t *testing.T) {
			m, err := New(t.Context(), &Config{Backend: newStore(t, files), AgentsMDFiles: []string{"/a.md"},
				OnLoadWarning: func(string, error) {}})
			require.NoError(t, err)
			turncost.Check(t, m)
		})
	}
}
