package gemini

import (
	"errors"
	"slices"
)

// ConcatResponseMetaExtensions joins the metadata of the chunks of one response: of each field the last value that is
// not zero. Nil chunks are ignored. A single chunk is returned as it is; none is an error.
func ConcatResponseMetaExtensions(chunks []*ResponseMetaExtension) (*ResponseMetaExtension, error) {
	isNil := func(c *ResponseMetaExtension) bool { return c == nil }
	if slices.ContainsFunc(chunks, isNil) {
		chunks = slices.DeleteFunc(slices.Clone(chunks), isNil)
	}
	switch len(chunks) {
	case 0:
		return nil, errors.New("no response meta extension found")
	case 1:
		return chunks[0], nil
	}
	joined := &ResponseMetaExtension{}
	for _, c := range chunks {
		if c.ID != "" {
			joined.ID = c.ID
		}
		if c.FinishReason != "" {
			joined.FinishReason = c.FinishReason
		}
		if c.GroundingMeta != nil {
			joined.GroundingMeta = c.GroundingMeta
		}
	}
	return joined, nil
}
