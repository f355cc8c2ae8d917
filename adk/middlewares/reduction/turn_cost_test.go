package reduction_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/turncost"
	"github.com/weftgo/weft/adk/middlewares/reduction"
)

func TestTurnCost_NothingToDo(t *testing.T) {
	m, err := reduction.New(t.Context(), &reduction.Config{Backend: filesystem.NewInMemoryBackend()})
	require.NoError(t, err)
	turncost.Check(t, m)
}
