package mcpserve

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzUnseal has whatever a client can bring back read: nothing that was not signed is accepted.
func FuzzUnseal(f *testing.F) {
	s, err := New(Config{Name: "s", Keys: [][]byte{bytes.Repeat([]byte("k"), 32)}})
	require.NoError(f, err)
	good, err := s.seal(requestState{Run: "r", Principal: "p", Tool: "t", Arguments: hashOf(nil), Points: []point{{ID: "a"}}})
	require.NoError(f, err)
	f.Add(good)
	f.Add("." + mac([]byte("k"), ""))
	f.Add(strings.Repeat("A", 100) + ".")
	f.Fuzz(func(t *testing.T, sealed string) {
		state, err := s.unseal(sealed, "p", "t", nil)
		if text, _, _ := strings.Cut(sealed, "."); sealed == text+"."+mac(s.conf.Keys[0], text) && err == nil {
			require.Equal(t, "r", state.Run)
			return
		}
		require.ErrorIs(t, err, errState)
		require.Empty(t, state.Run)
	})
}
