package summarization_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/internal/turncost"
	"github.com/weftgo/weft/adk/middlewares/summarization"
)

func TestTurnCost_NothingToDo(t *testing.T) {
	m, err := summarization.New(t.Context(), &summarization.Config{Model: adktest.NewModel(t)})
	require.NoError(t, err)
	turncost.Check(t, m)
}
