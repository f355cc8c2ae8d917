package openai

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rule schema/A40.
func TestConcatResponseMeta_KeepsTheLastNonZeroValues(t *testing.T) {
	_, err := ConcatResponseMetaExtensions(nil)
	require.EqualError(t, err, "no response meta extension found")
	_, err = ConcatResponseMetaExtensions([]*ResponseMetaExtension{nil})
	require.EqualError(t, err, "no response meta extension found")
	one := &ResponseMetaExtension{ID: "1"}
	got, err := ConcatResponseMetaExtensions([]*ResponseMetaExtension{nil, one})
	require.NoError(t, err)
	require.Same(t, one, got)

	full := &ResponseMetaExtension{
		ID: "1", Status: ResponseStatusInProgress, Error: &ResponseError{Code: ResponseErrorCodeServerError, Message: "m"},
		IncompleteDetails: &IncompleteDetails{Reason: "r"}, PreviousResponseID: "0",
		Reasoning:   &Reasoning{Effort: ReasoningEffortLow},
		ServiceTier: ServiceTierFlex, CreatedAt: 5, PromptCacheRetention: PromptCacheRetention24h,
	}
	got, err = ConcatResponseMetaExtensions([]*ResponseMetaExtension{{ID: "old", CreatedAt: 1, Error: &ResponseError{}},
		full, nil, {}})
	require.NoError(t, err)
	require.Equal(t, full, got)
	require.NotSame(t, full, got)
	v := reflect.ValueOf(*got)
	for i := range v.NumField() {
		require.False(t, v.Field(i).IsZero(), "%s is lost", v.Type().Field(i).Name)
	}
	got, err = ConcatResponseMetaExtensions([]*ResponseMetaExtension{full,
		{Reasoning: &Reasoning{Summary: ReasoningSummaryAuto}}})
	require.NoError(t, err)
	require.Equal(t, &Reasoning{Summary: ReasoningSummaryAuto}, got.Reasoning, "pointers are replaced, not merged")
}

// Rules schema/A41, schema/B15.3.11.
func TestConcatAssistantGenText_SortsAnnotations(t *testing.T) {
	_, err := ConcatAssistantGenTextExtensions(nil)
	require.EqualError(t, err, "no assistant generated text extension found")

	empty := &AssistantGenTextExtension{}
	got, err := ConcatAssistantGenTextExtensions([]*AssistantGenTextExtension{empty})
	require.NoError(t, err)
	require.NotSame(t, empty, got)
	require.Equal(t, &AssistantGenTextExtension{Annotations: []*TextAnnotation{}}, got)

	path := &TextAnnotationFilePath{FileID: "f"}
	a := &AssistantGenTextExtension{
		Refusal:     &OutputRefusal{Reason: "no "},
		Annotations: []*TextAnnotation{{Index: 2, Type: TextAnnotationTypeFilePath, FilePath: path}, nil},
	}
	b := &AssistantGenTextExtension{Refusal: &OutputRefusal{Reason: "way"},
		Annotations: []*TextAnnotation{{Index: 0}, {Index: 1, URLCitation: &TextAnnotationURLCitation{URL: "u"}}}}
	for range 2 { // the chunks do not change
		got, err = ConcatAssistantGenTextExtensions([]*AssistantGenTextExtension{a, nil, b})
		require.NoError(t, err)
		require.Equal(t, &AssistantGenTextExtension{
			Refusal: &OutputRefusal{Reason: "no way"},
			Annotations: []*TextAnnotation{
				{}, {URLCitation: &TextAnnotationURLCitation{URL: "u"}}, {Type: TextAnnotationTypeFilePath, FilePath: path},
			},
		}, got)
	}
	require.Equal(t, 2, a.Annotations[0].Index)
	_, err = ConcatAssistantGenTextExtensions([]*AssistantGenTextExtension{a,
		{Annotations: []*TextAnnotation{{Index: 2}}}})
	require.EqualError(t, err, "duplicate annotation index 2")
}

// Rules schema/A42, schema/B15.3.11.
func TestConcatReasoning_JoinsByIndex(t *testing.T) {
	at := func(i int) *int { return &i }
	_, err := ConcatReasoningExtensions([]*ReasoningExtension{nil})
	require.EqualError(t, err, "no reasoning extension found")

	indexed := []*ReasoningExtension{
		{Content: []*ReasoningContent{{Index: at(1), Text: "b1"}, nil, {Index: at(0), Text: "a1"}}}, nil,
		{Content: []*ReasoningContent{{Index: at(0), Text: "a2"}}},
		{Content: []*ReasoningContent{{Index: at(1), Text: "b2"}}},
	}
	for range 2 {
		got, err := ConcatReasoningExtensions(indexed)
		require.NoError(t, err)
		require.Equal(t, &ReasoningExtension{Content: []*ReasoningContent{{Text: "a1a2"}, {Text: "b1b2"}}}, got)
	}
	plain := []*ReasoningExtension{{Content: []*ReasoningContent{{Text: "a"}}},
		{Content: []*ReasoningContent{{Text: "b"}, {Text: "c"}}}}
	got, err := ConcatReasoningExtensions(plain)
	require.NoError(t, err)
	require.Equal(t, &ReasoningExtension{Content: []*ReasoningContent{{Text: "a"}, {Text: "b"}, {Text: "c"}}}, got)
	require.NotSame(t, plain[0].Content[0], got.Content[0])
	_, err = ConcatReasoningExtensions(append(plain, indexed...))
	require.EqualError(t, err, "reasoning content chunks mix indexed and non-indexed content")
	got, err = ConcatReasoningExtensions([]*ReasoningExtension{{}, {}})
	require.NoError(t, err)
	require.Equal(t, &ReasoningExtension{}, got)
}

func BenchmarkConcatReasoning(b *testing.B) {
	index := 0
	chunks := make([]*ReasoningExtension, 4000)
	for i := range chunks {
		chunks[i] = &ReasoningExtension{Content: []*ReasoningContent{{Index: &index, Text: strings.Repeat("x", 20)}}}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ConcatReasoningExtensions(chunks); err != nil {
			b.Fatal(err)
		}
	}
}
