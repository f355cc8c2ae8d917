package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// Keys of Extra for what the setters of this file set.
const (
	videoKey       = "gemini_video_metadata"
	resolutionKey  = "gemini_media_resolution"
	displayNameKey = "gemini_display_name"
)

// VideoMetadata says which part of a video the model sees, and how many pictures of it a second.
type VideoMetadata struct {
	StartOffset, EndOffset time.Duration
	FPS                    float64
}

// SetInputVideoMetaData says how the model sees a video of a message.
func SetInputVideoMetaData(video *schema.MessageInputVideo, meta *VideoMetadata) {
	kit.SetExtra(&video.Extra, videoKey, meta.wire())
}

// SetBlockVideoMetadata is [SetInputVideoMetaData] for a block.
func SetBlockVideoMetadata(b *schema.ContentBlock, meta *VideoMetadata) {
	kit.SetExtra(&b.Extra, videoKey, meta.wire())
}

// SetMediaResolution says how closely the model looks at a medium, in the Extra of its part or block:
// "MEDIA_RESOLUTION_HIGH", … Gemini 3 only.
func SetMediaResolution(extra *map[string]any, level string) {
	kit.SetExtra(extra, resolutionKey, level)
}

// SetMultiModalToolResultDisplayName names a medium in the result of a tool, so that the JSON of the result can refer to
// it: {"image": {"$ref": "name"}}. Gemini 3 only. It is set in the Extra of the part.
func SetMultiModalToolResultDisplayName(extra *map[string]any, name string) {
	kit.SetExtra(extra, displayNameKey, name)
}

// wire returns the JSON that is sent.
func (v *VideoMetadata) wire() string {
	if v == nil {
		return ""
	}
	var o kit.Object
	for _, f := range []struct {
		key string
		d   time.Duration
	}{{"startOffset", v.StartOffset}, {"endOffset", v.EndOffset}} {
		if f.d > 0 {
			o.Set(f.key, strconv.FormatFloat(f.d.Seconds(), 'f', -1, 64)+"s")
		}
	}
	if v.FPS > 0 {
		o.Set("fps", v.FPS)
	}
	text, err := o.Encode()
	if err != nil {
		return ""
	}
	return string(text)
}

// mediaPart returns the part for a medium of either side.
func (a *contents) mediaPart(b *schema.ContentBlock) (kit.Object, error) {
	address, data, mime, err := medium(b)
	if err != nil {
		return nil, err
	}
	m, err := kit.NewMedia(address, data, mime)
	if err != nil {
		return nil, err
	}
	var part kit.Object
	if m.URL == "" {
		a.inline += len(m.Base64)
		part.Set("inlineData", kit.Object{{Key: "mimeType", Value: m.MIME}, {Key: "data", Value: m.Base64}})
	} else {
		var file kit.Object
		if m.MIME == "" {
			m.MIME = typeOfURL(m.URL)
		}
		if m.MIME == "" && a.c.e.vertex() {
			return nil, errors.New("its type is unknown: set MIMEType, which Vertex requires")
		}
		file.SetText("mimeType", m.MIME)
		file.Set("fileUri", m.URL)
		part.Set("fileData", file)
	}
	if meta := kit.ExtraText(b.Extra, videoKey); json.Valid([]byte(meta)) {
		part.Set("videoMetadata", json.RawMessage(meta))
	}
	if level := kit.ExtraText(b.Extra, resolutionKey); level != "" {
		part.Set("mediaResolution", kit.Object{{Key: "level", Value: level}})
	}
	return part, nil
}

// medium takes a block apart.
func medium(b *schema.ContentBlock) (address, data, mime string, err error) {
	switch {
	case b.UserInputImage != nil:
		m := b.UserInputImage
		return m.URL, m.Base64Data, m.MIMEType, nil
	case b.UserInputAudio != nil:
		m := b.UserInputAudio
		return m.URL, m.Base64Data, m.MIMEType, nil
	case b.UserInputVideo != nil:
		m := b.UserInputVideo
		return m.URL, m.Base64Data, m.MIMEType, nil
	case b.UserInputFile != nil:
		m := b.UserInputFile
		return m.URL, m.Base64Data, m.MIMEType, nil
	case b.AssistantGenImage != nil:
		m := b.AssistantGenImage
		return m.URL, m.Base64Data, m.MIMEType, nil
	case b.AssistantGenAudio != nil:
		m := b.AssistantGenAudio
		return m.URL, m.Base64Data, m.MIMEType, nil
	case b.AssistantGenVideo != nil:
		m := b.AssistantGenVideo
		return m.URL, m.Base64Data, m.MIMEType, nil
	}
	return "", "", "", fmt.Errorf("blocks of type %q are not taken by Gemini: leave it out", b.Type)
}

// typesOfFiles are the types of files by the ends of their names. The tables of the system differ from machine to
// machine.
var typesOfFiles = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".heic": "image/heic",
	".heif": "image/heif", ".gif": "image/gif",
	".wav": "audio/wav", ".mp3": "audio/mp3", ".aiff": "audio/aiff", ".aac": "audio/aac", ".ogg": "audio/ogg",
	".flac": "audio/flac", ".m4a": "audio/m4a",
	".mp4": "video/mp4", ".mpeg": "video/mpeg", ".mpg": "video/mpg", ".mov": "video/mov", ".avi": "video/avi",
	".flv": "video/x-flv", ".webm": "video/webm", ".wmv": "video/wmv", ".3gp": "video/3gpp",
	".pdf": "application/pdf", ".txt": "text/plain", ".md": "text/markdown", ".html": "text/html", ".css": "text/css",
	".csv": "text/csv", ".xml": "text/xml", ".json": "application/json",
}

// typeOfURL returns the type of what a URL leads to, "" if the URL does not say.
func typeOfURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	switch strings.TrimPrefix(u.Hostname(), "www.") {
	case "youtube.com", "youtu.be", "m.youtube.com":
		return "video/mp4"
	}
	return typesOfFiles[strings.ToLower(path.Ext(u.Path))]
}
