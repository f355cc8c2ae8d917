package toolerrors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/middlewares/internal/turncost"
	"github.com/weftgo/weft/adk/middlewares/toolerrors"
)

func TestTurnCost_NothingToDo(t *testing.T) {
	m, err := toolerrors.New(t.Context(), nil)
	require.NoError(t, err)
	turncost.Check(t, m)
}
