package kit

//lint:file-ignore SA1019 messages may still have parts of the deprecated form, and only this file knows it

import "github.com/weftgo/weft/schema"

// DeprecatedParts returns the parts of the deprecated form, of a message of either side, in the current one.
func DeprecatedParts(m *schema.Message) (parts []schema.MessageInputPart) {
	for _, old := range m.MultiContent {
		parts = append(parts, modernPart(old))
	}
	return parts
}

// modernPart is the part instead of a deprecated one.
func modernPart(p schema.ChatMessagePart) schema.MessageInputPart {
	out := schema.MessageInputPart{Type: p.Type, Text: p.Text}
	common := func(url, uri, mimeType string, extra map[string]any) schema.MessagePartCommon {
		if url == "" {
			url = uri
		}
		return schema.MessagePartCommon{URL: &url, MIMEType: mimeType, Extra: extra}
	}
	if m := p.ImageURL; m != nil {
		out.Image = &schema.MessageInputImage{MessagePartCommon: common(m.URL, m.URI, m.MIMEType, m.Extra), Detail: m.Detail}
	}
	if m := p.AudioURL; m != nil {
		out.Audio = &schema.MessageInputAudio{MessagePartCommon: common(m.URL, m.URI, m.MIMEType, m.Extra)}
	}
	if m := p.VideoURL; m != nil {
		out.Video = &schema.MessageInputVideo{MessagePartCommon: common(m.URL, m.URI, m.MIMEType, m.Extra)}
	}
	if m := p.FileURL; m != nil {
		out.File = &schema.MessageInputFile{MessagePartCommon: common(m.URL, m.URI, m.MIMEType, m.Extra), Name: m.Name}
	}
	return out
}
