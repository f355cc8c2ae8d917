package gemini

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Rule schema/A40.
func TestConcatResponseMeta_KeepsTheLastNonZeroValues(t *testing.T) {
	for _, none := range [][]*ResponseMetaExtension{nil, {nil}} {
		_, err := ConcatResponseMetaExtensions(none)
		require.EqualError(t, err, "no response meta extension found")
	}
	one := &ResponseMetaExtension{ID: "1"}
	got, err := ConcatResponseMetaExtensions([]*ResponseMetaExtension{nil, one})
	require.NoError(t, err)
	require.Same(t, one, got)
	grounding := &GroundingMetadata{WebSearchQueries: []string{"q"}}
	got, err = ConcatResponseMetaExtensions([]*ResponseMetaExtension{
		{ID: "1", FinishReason: "old", GroundingMeta: &GroundingMetadata{GroundingChunks: []*GroundingChunk{nil}}}, nil,
		{FinishReason: "STOP", GroundingMeta: grounding}, {},
	})
	require.NoError(t, err)
	require.Equal(t, &ResponseMetaExtension{ID: "1", FinishReason: "STOP", GroundingMeta: grounding}, got)
	require.Same(t, grounding, got.GroundingMeta)
}
