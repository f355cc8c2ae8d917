package structured_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/middlewares/internal/turncost"
	"github.com/weftgo/weft/adk/middlewares/structured"
)

func TestTurnCost_NothingToDo(t *testing.T) {
	output, err := structured.New[struct {
		City string `json:"city"`
	}](nil)
	require.NoError(t, err)
	turncost.Check(t, output.Handler())
}
