package claude

import "github.com/weftgo/weft/internal/concat"

// ConcatResponseMetaExtensions joins the metadata of the chunks of one response: of each field the last value that is
// not zero. Nil chunks are ignored. A single chunk is returned as it is; none is an error.
func ConcatResponseMetaExtensions(chunks []*ResponseMetaExtension) (*ResponseMetaExtension, error) {
	return concat.Chunks(chunks, "response meta extension", func(joined, c *ResponseMetaExtension) {
		concat.Last(&joined.ID, c.ID)
		concat.Last(&joined.StopReason, c.StopReason)
		concat.Last(&joined.StopSequence, c.StopSequence)
		concat.Last(&joined.StopDetails, c.StopDetails)
	})
}

// ConcatAssistantGenTextExtensions joins what came with the chunks of one text: the citations of all chunks. Nil
// chunks are ignored. A single chunk is returned as it is; none is an error.
func ConcatAssistantGenTextExtensions(chunks []*AssistantGenTextExtension) (*AssistantGenTextExtension, error) {
	return concat.Chunks(chunks, "assistant generated text extension", func(joined, c *AssistantGenTextExtension) {
		joined.Citations = append(joined.Citations, c.Citations...)
	})
}
