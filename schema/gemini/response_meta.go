package gemini

// ResponseMetaExtension holds Gemini's report about one response.
type ResponseMetaExtension struct {
	ID string `json:"id,omitempty"`
	// FinishReason says why the model stopped, in Gemini's words: "STOP", "MAX_TOKENS", …
	FinishReason string `json:"finish_reason,omitempty"`
	// GroundingMeta is set when the answer rests on a search.
	GroundingMeta *GroundingMetadata `json:"grounding_meta,omitempty"`
}

// GroundingMetadata lists which sources an answer rests on.
type GroundingMetadata struct {
	// GroundingChunks are the sources.
	GroundingChunks []*GroundingChunk `json:"grounding_chunks,omitempty"`
	// GroundingSupports say which sources back which part of the answer.
	GroundingSupports []*GroundingSupport `json:"grounding_supports,omitempty"`
	// SearchEntryPoint is the search suggestion that Google's terms ask to be shown.
	SearchEntryPoint *SearchEntryPoint `json:"search_entry_point,omitempty"`
	// WebSearchQueries are suggestions for further searches.
	WebSearchQueries []string `json:"web_search_queries,omitempty"`
}

// GroundingChunk is one source.
type GroundingChunk struct {
	Web *GroundingChunkWeb `json:"web,omitempty"`
}

// GroundingChunkWeb is a web page.
type GroundingChunkWeb struct {
	Domain string `json:"domain,omitempty"`
	Title  string `json:"title,omitempty"`
	URI    string `json:"uri,omitempty"`
}

// GroundingSupport says which sources back one segment of the answer.
type GroundingSupport struct {
	// ConfidenceScores, from 0 to 1, are parallel to GroundingChunkIndices.
	ConfidenceScores []float32 `json:"confidence_scores,omitempty"`
	// GroundingChunkIndices are places in [GroundingMetadata].GroundingChunks.
	GroundingChunkIndices []int    `json:"grounding_chunk_indices,omitempty"`
	Segment               *Segment `json:"segment,omitempty"`
}

// Segment is a range of the answer. Offsets count bytes within the part.
type Segment struct {
	EndIndex   int    `json:"end_index,omitempty"`
	PartIndex  int    `json:"part_index,omitempty"`
	StartIndex int    `json:"start_index,omitempty"`
	Text       string `json:"text,omitempty"`
}

// SearchEntryPoint is Google's search suggestion.
type SearchEntryPoint struct {
	// RenderedContent is HTML, ready to be shown.
	RenderedContent string `json:"rendered_content,omitempty"`
	// SDKBlob is base64-encoded JSON of search terms and addresses.
	SDKBlob []byte `json:"sdk_blob,omitempty"`
}
