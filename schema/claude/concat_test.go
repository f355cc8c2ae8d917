package claude

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Rule schema/A40.
func TestConcatResponseMeta_KeepsTheLastNonZeroValues(t *testing.T) {
	_, err := ConcatResponseMetaExtensions([]*ResponseMetaExtension{nil, nil})
	require.EqualError(t, err, "no response meta extension found")
	one := &ResponseMetaExtension{ID: "1"}
	got, err := ConcatResponseMetaExtensions([]*ResponseMetaExtension{one, nil})
	require.NoError(t, err)
	require.Same(t, one, got)
	got, err = ConcatResponseMetaExtensions([]*ResponseMetaExtension{
		{ID: "1", StopReason: "old", StopDetails: &StopDetails{Category: "c"}}, nil,
		{StopReason: "end_turn", StopSequence: "s"}, {StopDetails: &StopDetails{Explanation: "e"}},
	})
	require.NoError(t, err)
	require.Equal(t, &ResponseMetaExtension{ID: "1", StopReason: "end_turn", StopSequence: "s",
		StopDetails: &StopDetails{Explanation: "e"}}, got)
}

// Rule schema/A43.
func TestConcatAssistantGenText_AppendsCitations(t *testing.T) {
	_, err := ConcatAssistantGenTextExtensions(nil)
	require.EqualError(t, err, "no assistant generated text extension found")
	a, b := &TextCitation{Type: TextCitationTypeCharLocation}, &TextCitation{Type: TextCitationTypePageLocation}
	one := &AssistantGenTextExtension{Citations: []*TextCitation{a}}
	got, err := ConcatAssistantGenTextExtensions([]*AssistantGenTextExtension{nil, one})
	require.NoError(t, err)
	require.Same(t, one, got)
	got, err = ConcatAssistantGenTextExtensions([]*AssistantGenTextExtension{one, nil, {},
		{Citations: []*TextCitation{b, a}}})
	require.NoError(t, err)
	require.Equal(t, &AssistantGenTextExtension{Citations: []*TextCitation{a, b, a}}, got)
	require.Len(t, one.Citations, 1)
}
