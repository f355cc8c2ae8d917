package signed

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpen_KnowsWhatWasSealedAndNothingElse(t *testing.T) {
	key := []byte("0123456789abcdef")
	text, err := Seal(key, "weft webhook", [2]string{"run", "call"})
	require.NoError(t, err)
	// It is in the hands of strangers: the format stays.
	require.Equal(t, "WyJydW4iLCJjYWxsIl0."+mac(key, "weft webhook", "WyJydW4iLCJjYWxsIl0"), text)
	var value [2]string
	require.True(t, Open(key, "weft webhook", text, &value))
	require.Equal(t, [2]string{"run", "call"}, value)
	for _, bad := range []string{"", ".", text + "x", "x" + text, strings.TrimSuffix(text, text[len(text)-2:]), strings.Replace(text, ".", "", 1)} {
		require.False(t, Open(key, "weft webhook", bad, &value), bad)
	}
	require.False(t, Open(key, "weft ticket", text, &value))
	require.False(t, Open([]byte("another key of ours"), "weft webhook", text, &value))
	_, err = Seal(key, "", func() {})
	require.Error(t, err)
}
