package compose

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheckpoint_OfEinoIsRefusedAsSuch, and a damaged one of this package is not taken for one.
func TestCheckpoint_OfEinoIsRefusedAsSuch(t *testing.T) {
	const advice = "it was written by Eino, whose checkpoints cannot be read here: finish the runs that are pending"
	for data, eino := range map[string]bool{
		`{"Type":{"PointerNum":1,"SimpleType":"_eino_checkpoint"},"StructValue":{}}`: true,
		`{"weft":1,"type":"_eino_checkpoint","value":`:                               false,
		`no checkpoint`: false,
	} {
		store := newStore()
		require.NoError(t, store.Set(t.Context(), "1", []byte(data)))
		r, err := NewChain[string, string]().
			AppendLambda(InvokableLambda(func(_ context.Context, in string) (string, error) { return in, nil })).
			Compile(t.Context(), WithCheckPointStore(store))
		require.NoError(t, err)
		_, err = r.Invoke(t.Context(), "x", WithCheckPointID("1"))
		require.ErrorContains(t, err, "load checkpoint from store fail")
		if eino {
			require.ErrorContains(t, err, `checkpoint "1": `+advice)
		} else {
			require.NotContains(t, err.Error(), "Eino")
		}
	}
}
