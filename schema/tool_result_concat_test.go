package schema

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func toolText(s string, extra map[string]any) ToolOutputPart {
	return ToolOutputPart{Type: ToolPartTypeText, Text: s, Extra: extra}
}

// Rules schema/C45, schema/C46, schema/B15.3.9.
func TestConcatToolResults_MergesAdjacentTexts(t *testing.T) {
	for _, chunks := range [][]*ToolResult{nil, {}, {nil}, {{}, nil, {Parts: []ToolOutputPart{}}}} {
		got, err := ConcatToolResults(chunks)
		require.NoError(t, err)
		require.Equal(t, &ToolResult{}, got)
	}
	image := ToolOutputPart{Type: ToolPartTypeImage, Image: &ToolOutputImage{MessagePartCommon{URL: pointer("u")}}}
	file := ToolOutputPart{Type: ToolPartTypeFile, File: &ToolOutputFile{}}
	audio := ToolOutputPart{Type: ToolPartTypeAudio, Audio: &ToolOutputAudio{MessagePartCommon{URL: pointer("u")}}}
	video := ToolOutputPart{Type: ToolPartTypeVideo, Video: &ToolOutputVideo{MessagePartCommon{URL: pointer("u")}}}
	got, err := ConcatToolResults([]*ToolResult{
		{Parts: []ToolOutputPart{toolText("a", map[string]any{"k": "1"}), toolText("b", nil)}},
		nil,
		{Parts: []ToolOutputPart{toolText("c", map[string]any{"k": "2"}), image, image}},
		{Parts: []ToolOutputPart{toolText("d", map[string]any{}), file, audio, video}},
	})
	require.NoError(t, err)
	require.Equal(t, []ToolOutputPart{
		toolText("abc", map[string]any{"k": "12"}), image, image, toolText("d", map[string]any{}), file, audio, video,
	}, got.Parts)
	got.Parts[1].Image.URL = pointer("changed")
	require.Equal(t, "u", *image.Image.URL)
}

// Rule schema/C47.
func TestConcatToolResults_RefusesOneTypeInSeveralChunks(t *testing.T) {
	image := []ToolOutputPart{{Type: ToolPartTypeImage, Image: &ToolOutputImage{}}}
	_, err := ConcatToolResults([]*ToolResult{nil, {Parts: image}, {}, {Parts: image}})
	require.EqualError(t, err,
		"conflicting image parts found in chunk 1 and chunk 3: non-text modality parts cannot appear in multiple chunks")
	bad := map[string]any{"k": []int{1}}
	_, err = ConcatToolResults([]*ToolResult{{Parts: []ToolOutputPart{toolText("a", bad)}},
		{Parts: []ToolOutputPart{toolText("b", bad)}}})
	require.ErrorContains(t, err, "failed to merge parts: failed to concat tool output text part extra: ")
}
