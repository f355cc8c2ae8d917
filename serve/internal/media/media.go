// Package media reads images, audio, videos and files of clients, for the protocols that take them.
package media

import (
	"encoding/base64"
	"strings"

	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

// Kind names the kind of a medium.
type Kind string

// The kinds of media.
const (
	Image Kind = "image"
	Audio Kind = "audio"
	Video Kind = "video"
	File  Kind = "file"
)

// KindOf is the kind of a MIME type.
func KindOf(mime string) Kind {
	top, _, _ := strings.Cut(mime, "/")
	switch k := Kind(top); k {
	case Image, Audio, Video:
		return k
	}
	return File
}

// FromURL reads a URL, which may be one that has the data in itself (RFC 2397). mime is what the client says of it, "" if
// it says nothing. Servers refuse URLs that are not https.
func FromURL(url, mime string) (m schema.MessagePartCommon, err error) {
	m.MIMEType = mime
	rest, isData := strings.CutPrefix(url, "data:")
	if !isData {
		m.URL = &url
		return m, nil
	}
	kind, data, found := strings.Cut(rest, ";base64,")
	if !found {
		return m, serve.NewProblem(serve.BadRequest, "a data URL is not base64")
	}
	if m.MIMEType == "" {
		m.MIMEType = kind
	}
	return FromData(data, m.MIMEType)
}

// FromData reads data in base64.
func FromData(data, mime string) (m schema.MessagePartCommon, err error) {
	if _, err := base64.StdEncoding.DecodeString(data); err != nil {
		return m, serve.NewProblem(serve.BadRequest, "the data of a medium is not base64")
	}
	return schema.MessagePartCommon{Base64Data: &data, MIMEType: mime}, nil
}

// Part is a medium as part of a message of the user.
func Part(k Kind, m schema.MessagePartCommon) (p schema.MessageInputPart) {
	switch k {
	case Image:
		p.Type, p.Image = schema.ChatMessagePartTypeImageURL, &schema.MessageInputImage{MessagePartCommon: m}
	case Audio:
		p.Type, p.Audio = schema.ChatMessagePartTypeAudioURL, &schema.MessageInputAudio{MessagePartCommon: m}
	case Video:
		p.Type, p.Video = schema.ChatMessagePartTypeVideoURL, &schema.MessageInputVideo{MessagePartCommon: m}
	default:
		p.Type, p.File = schema.ChatMessagePartTypeFileURL, &schema.MessageInputFile{MessagePartCommon: m}
	}
	return p
}

// Text is a text as part of a message of the user.
func Text(text string) schema.MessageInputPart {
	return schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: text}
}
