package toolsearch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/internal/turncost"
	"github.com/weftgo/weft/components/tool"
)

func TestTurnCost_NothingToDo(t *testing.T) {
	for name, byModel := range map[string]bool{"client": false, "model": true} {
		t.Run(name, func(t *testing.T) {
			m, err := New(t.Context(), &Config{DynamicTools: []tool.BaseTool{adktest.NewTool("hidden")},
				UseModelToolSearch: byModel})
			require.NoError(t, err)
			turncost.Check(t, m)
		})
	}
}
