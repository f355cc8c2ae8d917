package claude

import (
	"errors"
	"slices"
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
		update(&joined.StopReason, c.StopReason)
		update(&joined.StopSequence, c.StopSequence)
		update(&joined.StopDetails, c.StopDetails)
	}
	return joined, nil
}

// ConcatAssistantGenTextExtensions joins what came with the chunks of one text: the citations of all chunks. Nil
// chunks are ignored. A single chunk is returned as it is; none is an error.
func ConcatAssistantGenTextExtensions(chunks []*AssistantGenTextExtension) (*AssistantGenTextExtension, error) {
	chunks = withoutNils(chunks)
	switch len(chunks) {
	case 0:
		return nil, errors.New("no assistant generated text extension found")
	case 1:
		return chunks[0], nil
	}
	joined := &AssistantGenTextExtension{}
	for _, c := range chunks {
		joined.Citations = append(joined.Citations, c.Citations...)
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
