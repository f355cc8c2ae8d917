package agui

import "github.com/weftgo/weft/schema"

// mediaOf is a part of a result that is no text, nil for one that is.
func mediaOf(p schema.ToolOutputPart) map[string]any {
	part := func(kind string, m schema.MessagePartCommon) map[string]any {
		source := map[string]any{"type": "url", "mimeType": m.MIMEType}
		switch {
		case m.Base64Data != nil:
			source["type"], source["value"] = "data", *m.Base64Data
		case m.URL != nil:
			source["value"] = *m.URL
		default:
			return nil
		}
		return map[string]any{"type": kind, "source": source}
	}
	switch {
	case p.Image != nil:
		return part("image", p.Image.MessagePartCommon)
	case p.Audio != nil:
		return part("audio", p.Audio.MessagePartCommon)
	case p.Video != nil:
		return part("video", p.Video.MessagePartCommon)
	case p.File != nil:
		return part("document", p.File.MessagePartCommon)
	}
	return nil
}
