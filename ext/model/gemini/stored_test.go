package gemini_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
)

// stored returns a message after a way through JSON and gob, as checkpoints and conversation stores send it.
func stored[M kit.Message](t testing.TB, m M) M {
	t.Helper()
	data, err := json.Marshal(m)
	require.NoError(t, err)
	var decoded M
	require.NoError(t, json.Unmarshal(data, &decoded))
	var buf bytes.Buffer
	require.NoError(t, gob.NewEncoder(&buf).Encode(decoded))
	var out M
	require.NoError(t, gob.NewDecoder(&buf).Decode(&out))
	return out
}
