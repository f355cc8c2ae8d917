package tooltimeout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/middlewares/internal/turncost"
	"github.com/weftgo/weft/adk/middlewares/tooltimeout"
)

func TestTurnCost_NothingToDo(t *testing.T) {
	m, err := tooltimeout.New(t.Context(), &tooltimeout.Config{Of: map[string]time.Duration{"another": time.Minute}})
	require.NoError(t, err)
	turncost.Check(t, m)
}
