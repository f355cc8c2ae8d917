package anthropic

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// Rule providers/K52.
func TestRawHook_SeesDocuments(t *testing.T) {
	var seen []string
	hook := func(c *Config) {
		c.RawHook = func(_ context.Context, a kit.RawAnswer) error {
			seen = append(seen, string(a.JSON))
			return nil
		}
	}
	_, err := newChat(t, whole(okAnswer), hook).Generate(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, []string{okAnswer}, seen)
	seen = nil
	events := messageEvents("end_turn", textEvents(0, "a", "b"))
	sr, err := newChat(t, streaming(sse(events...)), hook).Stream(t.Context(), question)
	require.NoError(t, err)
	_, err = schema.ConcatMessageStream(sr)
	require.NoError(t, err)
	require.Equal(t, events, seen)
}
