package components

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type bare struct{}

type telling struct{ enabled bool }

func (telling) GetType() string            { return "Telling" }
func (t telling) IsCallbacksEnabled() bool { return t.enabled }

// Rule components/C1.
func TestGetType_AsksTheComponent(t *testing.T) {
	typ, ok := GetType(telling{})
	require.True(t, ok)
	require.Equal(t, "Telling", typ)
	for _, v := range []any{nil, bare{}, &bare{}} {
		typ, ok = GetType(v)
		require.False(t, ok)
		require.Empty(t, typ)
	}
}

// Rule components/C2.
func TestIsCallbacksEnabled_AsksTheComponent(t *testing.T) {
	require.True(t, IsCallbacksEnabled(telling{true}))
	require.False(t, IsCallbacksEnabled(telling{false}))
	require.False(t, IsCallbacksEnabled(bare{}))
	require.False(t, IsCallbacksEnabled(nil))
}
