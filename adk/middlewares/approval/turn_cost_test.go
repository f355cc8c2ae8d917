package approval_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/middlewares/internal/turncost"
)

func TestTurnCost_NothingToDo(t *testing.T) {
	m, err := approval.New(t.Context(), &approval.Config{Tools: []string{"another"}})
	require.NoError(t, err)
	turncost.Check(t, m)
}
