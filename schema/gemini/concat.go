package gemini

import "github.com/weftgo/weft/internal/concat"

// ConcatResponseMetaExtensions joins the metadata of the chunks of one response: of each field the last value that is
// not zero. Nil chunks are ignored. A single chunk is returned as it is; none is an error.
func ConcatResponseMetaExtensions(chunks []*ResponseMetaExtension) (*ResponseMetaExtension, error) {
	return concat.Chunks(chunks, "response meta extension", func(joined, c *ResponseMetaExtension) {
		concat.Last(&joined.ID, c.ID)
		concat.Last(&joined.FinishReason, c.FinishReason)
		concat.Last(&joined.GroundingMeta, c.GroundingMeta)
	})
}
