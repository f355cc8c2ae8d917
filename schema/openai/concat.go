package openai

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ConcatResponseMetaExtensions joins the metadata of the chunks of one response: of each field the last value that is
// not zero. Nil chunks are ignored. A single chunk is returned as it is; none is an error.
func ConcatResponseMetaExtensions(chunks []*ResponseMetaExtension) (*ResponseMetaExtension, error) {
	chunks = withoutNils(chunks)
	switch len(chunks) {
	case 0:
		return nil, errors.New("no response meta extension found")
	case 1:
		return chunks[0], nil
	}
	joined := &ResponseMetaExtension{}
	for _, c := range chunks {
		update(&joined.ID, c.ID)
		update(&joined.Status, c.Status)
		update(&joined.Error, c.Error)
		update(&joined.IncompleteDetails, c.IncompleteDetails)
		update(&joined.PreviousResponseID, c.PreviousResponseID)
		update(&joined.Reasoning, c.Reasoning)
		update(&joined.ServiceTier, c.ServiceTier)
		update(&joined.CreatedAt, c.CreatedAt)
		update(&joined.PromptCacheRetention, c.PromptCacheRetention)
	}
	return joined, nil
}

// ConcatAssistantGenTextExtensions joins what came with the chunks of one text: refusals are appended, annotations
// are listed by Index, which is zero in the result. Two annotations with one Index are an error, and so is a list
// without chunks. Nil chunks are ignored.
func ConcatAssistantGenTextExtensions(chunks []*AssistantGenTextExtension) (*AssistantGenTextExtension, error) {
	chunks = withoutNils(chunks)
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
		for _, a := range withoutNils(c.Annotations) {
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
	chunks = withoutNils(chunks)
	if len(chunks) == 0 {
		return nil, errors.New("no reasoning extension found")
	}
	joined := &ReasoningExtension{}
	texts := map[int]*strings.Builder{}
	for _, c := range chunks {
		for _, content := range withoutNils(c.Content) {
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

// update takes v unless it is zero.
func update[T comparable](field *T, v T) {
	var zero T
	if v != zero {
		*field = v
	}
}

func withoutNils[T any](chunks []*T) []*T {
	isNil := func(c *T) bool { return c == nil }
	if !slices.ContainsFunc(chunks, isNil) {
		return chunks
	}
	return slices.DeleteFunc(slices.Clone(chunks), isNil)
}
