package bound_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/mcp/internal/bound"
)

// A result has a limit as a whole, however many parts it has.
// Rule mcp/MC19.
func TestRoom_IsThatOfAllParts(t *testing.T) {
	room := bound.Room{Text: 10, Media: 5}
	text, whole := room.Fit("sixsix")
	require.True(t, whole)
	require.Equal(t, "sixsix", text)
	text, whole = room.Fit("abcdefgh")
	require.False(t, whole)
	require.Equal(t, "ab\n[4 bytes are left out here]\ngh", text)
	text, whole = room.Fit("more")
	require.False(t, whole)
	require.Equal(t, "\n[4 bytes are left out here]\n", text)
	require.True(t, room.Take(5))
	require.False(t, room.Take(1))
	text, _ = (&bound.Room{Text: 5}).Fit(strings.Repeat("ä", 10))
	require.Equal(t, "ä\n[16 bytes are left out here]\nä", text, "between characters")
}
