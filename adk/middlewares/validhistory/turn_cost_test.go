package validhistory

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/middlewares/internal/turncost"
)

func TestTurnCost_NothingToDo(t *testing.T) {
	m, err := New(t.Context(), nil)
	require.NoError(t, err)
	turncost.Check(t, m)
}
