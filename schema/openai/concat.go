package openai

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftgo/weft/internal/concat"
)

// ConcatResponseMetaExtensions joins the metadata of the chunks of one response: of each field the last value that is
// not zero. Nil chunks are ignored. A single chunk is returned as it is; none is an error.
func ConcatResponseMetaExtensions(chunks []*ResponseMetaExtension) (*ResponseMetaExtension, error) {
	return concat.Chunks(chunks, "response meta extension", func(joined, c *ResponseMetaExtension) {
		concat.Last(&joined.ID, c.ID)
		concat.Last(&joined.Status, c.Status)
		concat.Last(&joined.Error, c.Error)
		concat.Last(&joined.IncompleteDetails, c.IncompleteDetails)
		concat.Last(&joined.PreviousResponseID, c.PreviousResponseID)
		concat.Last(&joined.Reasoning, c.Reasoning)
		concat.Last(&joined.ServiceTier, c.ServiceTier)
		concat.Last(&joined.CreatedAt, c.CreatedAt)
		concat.Last(&joined.PromptCacheRetention, c.PromptCacheRetention)
	})
}

// ConcatAssistantGenTextExtensions joins what came with the chunks of one text: refusals are appended, annotations
// are listed by Index, which is zero in the result. Two annotations with one Index are an error, and so is a list
// without chunks. Nil chunks are ignored.
func ConcatAssistantGenTextExtensions(chunks []*AssistantGenTextExtension) (*AssistantGenTextExtension, error) {
	chunks = concat.NonNil(chunks)
	if len(chunks) == 0 {
		return nil, errors.New("no assistant generated text extension found")
	}
	joined := &AssistantGenTextExtension{Annotations: []*TextAnnotation{}}
	var refusal strings.Builder
	seen := map[int]bool{}
	for _, c := range chunks {
		if c.Refusal != nil {
			refusal.WriteString(c.Refusal.Reason)
			joined.Refusal = &OutputRefusal{}
		}
		for _, a := range concat.NonNil(c.Annotations) {
			if seen[a.Index] {
				return nil, fmt.Errorf("duplicate annotation index %d", a.Index)
			}
			seen[a.Index] = true
			annotation := *a
			joined.Annotations = append(joined.Annotations, &annotation)
		}
	}
	if joined.Refusal != nil {
		joined.Refusal.Reason = refusal.String()
	}
	slices.SortFunc(joined.Annotations, func(a, b *TextAnnotation) int { return cmp.Compare(a.Index, b.Index) })
	for _, a := range joined.Annotations {
		a.Index = 0
	}
	return joined, nil
}

// ConcatReasoningExtensions joins the chunks of one reasoning. Contents with equal Index become one, ordered by Index,
// which is nil in the result; contents without are listed as they came, one each. Mixing both is an error, and so is
// a list without chunks. Nil chunks are ignored.
func ConcatReasoningExtensions(chunks []*ReasoningExtension) (*ReasoningExtension, error) {
	chunks = concat.NonNil(chunks)
	if len(chunks) == 0 {
		return nil, errors.New("no reasoning extension found")
	}
	joined := &ReasoningExtension{}
	texts := map[int]*strings.Builder{}
	for _, c := range chunks {
		for _, content := range concat.NonNil(c.Content) {
			if content.Index == nil {
				joined.Content = append(joined.Content, &ReasoningContent{Text: content.Text})
				continue
			}
			text := texts[*content.Index]
			if text == nil {
				text = &strings.Builder{}
				texts[*content.Index] = text
			}
			text.WriteString(content.Text)
		}
	}
	if len(texts) > 0 && len(joined.Content) > 0 {
		return nil, errors.New("reasoning content chunks mix indexed and non-indexed content")
	}
	for _, index := range slices.Sorted(maps.Keys(texts)) {
		joined.Content = append(joined.Content, &ReasoningContent{Text: texts[index].String()})
	}
	return joined, nil
}
