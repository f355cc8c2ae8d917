package claude

// AssistantGenTextExtension holds Anthropic's additions to a text of the model.
type AssistantGenTextExtension struct {
	// Citations say where the text comes from.
	Citations []*TextCitation `json:"citations,omitempty"`
}

// TextCitation is a source of a text. Type says which of the pointers is set.
type TextCitation struct {
	Type TextCitationType `json:"type,omitempty"`

	CharLocation            *CitationCharLocation            `json:"char_location,omitempty"`
	PageLocation            *CitationPageLocation            `json:"page_location,omitempty"`
	ContentBlockLocation    *CitationContentBlockLocation    `json:"content_block_location,omitempty"`
	WebSearchResultLocation *CitationWebSearchResultLocation `json:"web_search_result_location,omitempty"`
}

// TextCitationType says what kind of source a [TextCitation] is.
type TextCitationType string

// The kinds of citations.
const (
	TextCitationTypeCharLocation            TextCitationType = "char_location"
	TextCitationTypePageLocation            TextCitationType = "page_location"
	TextCitationTypeContentBlockLocation    TextCitationType = "content_block_location"
	TextCitationTypeWebSearchResultLocation TextCitationType = "web_search_result_location"
)

// CitationCharLocation cites a range of characters of a plain-text document.
type CitationCharLocation struct {
	CitedText     string `json:"cited_text,omitempty"`
	DocumentTitle string `json:"document_title,omitempty"`
	DocumentIndex int    `json:"document_index,omitempty"`

	StartCharIndex int `json:"start_char_index,omitempty"`
	EndCharIndex   int `json:"end_char_index,omitempty"`
}

// CitationPageLocation cites a range of pages of a document.
type CitationPageLocation struct {
	CitedText     string `json:"cited_text,omitempty"`
	DocumentTitle string `json:"document_title,omitempty"`
	DocumentIndex int    `json:"document_index,omitempty"`

	StartPageNumber int `json:"start_page_number,omitempty"`
	EndPageNumber   int `json:"end_page_number,omitempty"`
}

// CitationContentBlockLocation cites a range of content blocks of a document.
type CitationContentBlockLocation struct {
	CitedText     string `json:"cited_text,omitempty"`
	DocumentTitle string `json:"document_title,omitempty"`
	DocumentIndex int    `json:"document_index,omitempty"`

	StartBlockIndex int `json:"start_block_index,omitempty"`
	EndBlockIndex   int `json:"end_block_index,omitempty"`
}

// CitationWebSearchResultLocation cites a result of a web search.
type CitationWebSearchResultLocation struct {
	CitedText string `json:"cited_text,omitempty"`
	Title     string `json:"title,omitempty"`
	URL       string `json:"url,omitempty"`
	// EncryptedIndex is the provider's opaque reference, which must be sent back with the citation.
	EncryptedIndex string `json:"encrypted_index,omitempty"`
}
