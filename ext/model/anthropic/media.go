package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// imagePiece returns an image.
func imagePiece(url, data, mime string) (*piece, error) {
	m, err := kit.NewMedia(url, data, mime)
	if err != nil {
		return nil, err
	}
	p := newPiece("image")
	if m.URL != "" {
		p.fields.Set("source", urlSource(m))
		return p, nil
	}
	switch m.MIME {
	case "image/jpg":
		m.MIME = "image/jpeg"
	case "image/jpeg", "image/png", "image/gif", "image/webp":
	default:
		return nil, fmt.Errorf("images of type %q are not accepted: use JPEG, PNG, GIF or WebP", m.MIME)
	}
	p.fields.Set("source", base64Source(m))
	return p, nil
}

func urlSource(m kit.Media) kit.Object {
	return kit.Object{{Key: "type", Value: "url"}, {Key: "url", Value: m.URL}}
}

func base64Source(m kit.Media) kit.Object {
	return kit.Object{{Key: "type", Value: "base64"}, {Key: "media_type", Value: m.MIME}, {Key: "data", Value: m.Base64}}
}

// filePiece returns a file: an image, a PDF or text.
func filePiece(url, data, mime, name string) (*piece, error) {
	m, err := kit.NewMedia(url, data, mime)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(m.MIME, "image/") {
		return imagePiece(url, data, mime)
	}
	p := newPiece("document")
	switch {
	case m.URL != "" && (m.MIME == "" || m.MIME == "application/pdf"):
		p.fields.Set("source", urlSource(m))
	case m.URL != "":
		return nil, fmt.Errorf("files of type %q are not accepted by URL: send the content", m.MIME)
	case m.MIME == "application/pdf":
		p.fields.Set("source", base64Source(m))
	case isText(m.MIME):
		text, err := base64.StdEncoding.DecodeString(m.Base64)
		if err != nil {
			return nil, err
		}
		if !utf8.Valid(text) {
			return nil, errors.New("the text is not in UTF-8")
		}
		p.fields.Set("source", kit.Object{
			{Key: "type", Value: "text"}, {Key: "media_type", Value: "text/plain"}, {Key: "data", Value: string(text)},
		})
	default:
		return nil, fmt.Errorf("files of type %q are not accepted: use PDF or text", m.MIME)
	}
	if name != "" {
		p.fields.Set("title", documentTitle(name))
	}
	return p, nil
}

func isText(mime string) bool {
	return strings.HasPrefix(mime, "text/") || mime == "application/json" || mime == "application/xml"
}

// documentTitle takes out of a name what services refuse: all but letters, digits, spaces, "-", and brackets.
func documentTitle(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && kit.Alphanumeric(byte(r)) || strings.ContainsRune("-()[]", r) {
			return r
		}
		return ' '
	}, name)
	return or(strings.Join(strings.Fields(clean), " "), "Document")
}

// ImageFile is an image that was uploaded to Anthropic's Files API.
func ImageFile(fileID string) *schema.ContentBlock { return fileBlock("image", fileID) }

// DocumentFile is a document that was uploaded to Anthropic's Files API.
func DocumentFile(fileID string) *schema.ContentBlock { return fileBlock("document", fileID) }

func fileBlock(kind, fileID string) *schema.ContentBlock {
	raw, _ := kit.Object{ // of texts: cannot fail
		{Key: "type", Value: kind},
		{Key: "source", Value: kit.Object{{Key: "type", Value: "file"}, {Key: "file_id", Value: fileID}}},
	}.Encode()
	return rawBlock(raw, "["+kind+" "+fileID+"]")
}

// rawBlock is a block of the user that this API gets as raw, and others as a text.
func rawBlock(raw json.RawMessage, text string) *schema.ContentBlock {
	b := schema.NewContentBlock(&schema.UserInputText{Text: text})
	b.Extra = map[string]any{RawBlockKey: string(raw)}
	return b
}

// SearchResults returns what a tool has found as parts of its result that the model can cite. Documents need an ID or a
// "source" in their MetaData, and may have a "title". Other providers get the texts.
func SearchResults(docs []*schema.Document) *schema.ToolResult {
	result := new(schema.ToolResult)
	for _, d := range docs {
		if d == nil || isBlank(d.Content) {
			continue
		}
		source, _ := d.MetaData["source"].(string)
		title, _ := d.MetaData["title"].(string)
		source = or(source, or(d.ID, "document"))
		raw, _ := kit.Object{ // of texts: cannot fail
			{Key: "type", Value: "search_result"}, {Key: "source", Value: source}, {Key: "title", Value: or(title, source)},
			{Key: "content", Value: []kit.Object{{{Key: "type", Value: "text"}, {Key: "text", Value: d.Content}}}},
			{Key: "citations", Value: kit.Object{{Key: "enabled", Value: true}}},
		}.Encode()
		result.Parts = append(result.Parts, schema.ToolOutputPart{
			Type: schema.ToolPartTypeText, Text: d.Content, Extra: map[string]any{RawBlockKey: string(raw)},
		})
	}
	return result
}
