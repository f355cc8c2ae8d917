package budget_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/middlewares/budget"
	"github.com/weftgo/weft/adk/middlewares/internal/turncost"
)

func TestTurnCost_NothingToDo(t *testing.T) {
	m, err := budget.New(t.Context(), &budget.Config{Limits: budget.Limits{ModelCalls: 1 << 30, ToolCalls: 1 << 30}})
	require.NoError(t, err)
	turncost.Check(t, m)
}
