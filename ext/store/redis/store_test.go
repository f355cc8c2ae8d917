package redis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
)

func TestStore_Conforms(t *testing.T) {
	newStore(t, nil)
	checkpointtest.Run(t, func(t *testing.T) checkpoint.Store { return newStore(t, nil) })
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	_, err := New(t.Context(), Config{})
	require.ErrorContains(t, err, "Client")
}
