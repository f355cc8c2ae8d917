package anthropic

import (
	"encoding/json"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema/claude"
)

// wireCitation is a citation of any kind as the API has it.
type wireCitation struct {
	Type            string `json:"type"`
	CitedText       string `json:"cited_text"`
	DocumentTitle   string `json:"document_title"`
	DocumentIndex   int    `json:"document_index"`
	StartCharIndex  int    `json:"start_char_index"`
	EndCharIndex    int    `json:"end_char_index"`
	StartPageNumber int    `json:"start_page_number"`
	EndPageNumber   int    `json:"end_page_number"`
	StartBlockIndex int    `json:"start_block_index"`
	EndBlockIndex   int    `json:"end_block_index"`
	Title           string `json:"title"`
	URL             string `json:"url"`
	EncryptedIndex  string `json:"encrypted_index"`
}

// citation returns a citation of the API. Kinds without a type of their own keep their Type only; the JSON is in the
// Extra of the block.
func citation(raw json.RawMessage) *claude.TextCitation {
	var w wireCitation
	if kit.DecodeLenient(raw, &w) != nil {
		return nil
	}
	c := &claude.TextCitation{Type: claude.TextCitationType(w.Type)}
	switch c.Type {
	case claude.TextCitationTypeCharLocation:
		c.CharLocation = &claude.CitationCharLocation{
			CitedText: w.CitedText, DocumentTitle: w.DocumentTitle, DocumentIndex: w.DocumentIndex,
			StartCharIndex: w.StartCharIndex, EndCharIndex: w.EndCharIndex,
		}
	case claude.TextCitationTypePageLocation:
		c.PageLocation = &claude.CitationPageLocation{
			CitedText: w.CitedText, DocumentTitle: w.DocumentTitle, DocumentIndex: w.DocumentIndex,
			StartPageNumber: w.StartPageNumber, EndPageNumber: w.EndPageNumber,
		}
	case claude.TextCitationTypeContentBlockLocation:
		c.ContentBlockLocation = &claude.CitationContentBlockLocation{
			CitedText: w.CitedText, DocumentTitle: w.DocumentTitle, DocumentIndex: w.DocumentIndex,
			StartBlockIndex: w.StartBlockIndex, EndBlockIndex: w.EndBlockIndex,
		}
	case claude.TextCitationTypeWebSearchResultLocation:
		c.WebSearchResultLocation = &claude.CitationWebSearchResultLocation{
			CitedText: w.CitedText, Title: w.Title, URL: w.URL, EncryptedIndex: w.EncryptedIndex,
		}
	}
	return c
}

// citationObjects returns citations that the application made itself as the API has them.
func citationObjects(list []*claude.TextCitation) (objects []kit.Object) {
	for _, c := range list {
		if c == nil {
			continue
		}
		o := kit.Object{{Key: "type", Value: string(c.Type)}}
		inDocument := func(text, title string, index int) {
			o.Set("cited_text", text)
			o.Set("document_index", index)
			o.Set("document_title", title)
		}
		switch {
		case c.CharLocation != nil:
			l := c.CharLocation
			inDocument(l.CitedText, l.DocumentTitle, l.DocumentIndex)
			o.Set("start_char_index", l.StartCharIndex)
			o.Set("end_char_index", l.EndCharIndex)
		case c.PageLocation != nil:
			l := c.PageLocation
			inDocument(l.CitedText, l.DocumentTitle, l.DocumentIndex)
			o.Set("start_page_number", l.StartPageNumber)
			o.Set("end_page_number", l.EndPageNumber)
		case c.ContentBlockLocation != nil:
			l := c.ContentBlockLocation
			inDocument(l.CitedText, l.DocumentTitle, l.DocumentIndex)
			o.Set("start_block_index", l.StartBlockIndex)
			o.Set("end_block_index", l.EndBlockIndex)
		case c.WebSearchResultLocation != nil:
			l := c.WebSearchResultLocation
			o.Set("cited_text", l.CitedText)
			o.Set("url", l.URL)
			o.Set("title", l.Title)
			o.Set("encrypted_index", l.EncryptedIndex)
		default:
			continue
		}
		objects = append(objects, o)
	}
	return objects
}
