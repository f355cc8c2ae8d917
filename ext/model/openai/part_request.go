package openai

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// An object is a JSON object in the order of its fields.
type object = kit.Object

func textPart(text string) object { return kit.ObjectOf("type", "text", "text", text) }

// partText returns the text of a text part.
func partText(o object) (text string, ok bool) {
	if o.Get("type") != "text" {
		return "", false
	}
	text, ok = o.Get("text").(string)
	return text, ok
}

// inputParts returns the parts of what is given to the model, in either of the two forms.
func inputParts(m *schema.Message) ([]object, error) {
	if len(kit.DeprecatedParts(m)) > 0 && len(m.UserInputMultiContent) > 0 {
		return nil, errors.New("MultiContent and UserInputMultiContent are both set: use the latter")
	}
	if len(m.AssistantGenMultiContent) > 0 {
		return nil, errors.New("AssistantGenMultiContent is for messages of the assistant: use UserInputMultiContent")
	}
	parts := kit.InputParts(m)
	out := make([]object, 0, len(parts))
	for i := range parts {
		o, err := inputPart(&parts[i])
		if err != nil {
			return nil, fmt.Errorf("part %d (%s): %w", i, parts[i].Type, err)
		}
		o.Merge(extraFields(parts[i].Extra))
		out = append(out, o)
	}
	return out, nil
}

func inputPart(p *schema.MessageInputPart) (object, error) {
	switch {
	case p.Type == schema.ChatMessagePartTypeText:
		return textPart(p.Text), nil
	case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil:
		return imagePart(&p.Image.MessagePartCommon, p.Image.Detail)
	case p.Type == schema.ChatMessagePartTypeAudioURL && p.Audio != nil:
		return audioPart(&p.Audio.MessagePartCommon)
	case p.Type == schema.ChatMessagePartTypeVideoURL && p.Video != nil:
		return videoPart(&p.Video.MessagePartCommon)
	case p.Type == schema.ChatMessagePartTypeFileURL && p.File != nil:
		return filePart(&p.File.MessagePartCommon, p.File.Name)
	case p.Type == schema.ChatMessagePartTypeToolSearchResult:
		return nil, errors.New("the Chat Completions API has no tool search")
	}
	return nil, errors.New("the part is empty or of a type that cannot be given to a model")
}

// outputParts returns what the assistant said: the text, and the media, which are sent like users' media. The text is
// Content; texts among the parts count when there is none. Audio is not sent back, as its transcript is the text.
func outputParts(m *schema.Message) (text string, media []object, err error) {
	if len(m.UserInputMultiContent) > 0 {
		return "", nil, errors.New("UserInputMultiContent is not for messages of the assistant: use AssistantGenMultiContent")
	}
	var texts strings.Builder
	for i, p := range assistantParts(m) {
		if p.Type == schema.ChatMessagePartTypeText {
			texts.WriteString(p.Text)
			continue
		}
		o, err := inputPart(&p)
		if err != nil {
			return "", nil, fmt.Errorf("part %d (%s): %w", i, p.Type, err)
		}
		o.Merge(extraFields(p.Extra))
		media = append(media, o)
	}
	return cmp.Or(m.Content, texts.String()), media, nil
}

// assistantParts returns the texts, images and videos of the assistant as if a user gave them to the model.
func assistantParts(m *schema.Message) (parts []schema.MessageInputPart) {
	for _, p := range m.AssistantGenMultiContent {
		in := schema.MessageInputPart{Type: p.Type, Text: p.Text, Extra: p.Extra}
		switch {
		case p.Type == schema.ChatMessagePartTypeText:
		case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil:
			in.Image = &schema.MessageInputImage{MessagePartCommon: p.Image.MessagePartCommon}
		case p.Type == schema.ChatMessagePartTypeVideoURL && p.Video != nil:
			in.Video = &schema.MessageInputVideo{MessagePartCommon: p.Video.MessagePartCommon}
		default:
			continue
		}
		parts = append(parts, in)
	}
	return append(parts, kit.DeprecatedParts(m)...)
}

func imagePart(media *schema.MessagePartCommon, detail schema.ImageURLDetail) (object, error) {
	url, err := mediaURL(media)
	if err != nil {
		return nil, err
	}
	image := kit.ObjectOf("url", url)
	image.SetText("detail", string(detail))
	return kit.ObjectOf("type", "image_url", "image_url", image), nil
}

// videoPart returns a part that is not in the API, but that many compatible servers know.
func videoPart(media *schema.MessagePartCommon) (object, error) {
	url, err := mediaURL(media)
	if err != nil {
		return nil, err
	}
	return kit.ObjectOf("type", "video_url", "video_url", kit.ObjectOf("url", url)), nil
}

// audioPart returns the data, which is all that the API takes, or the address, which some compatible servers do.
func audioPart(media *schema.MessagePartCommon) (object, error) {
	url, err := mediaURL(media)
	if err != nil {
		return nil, err
	}
	mimeType, data, ok := kit.SplitDataURL(url)
	if !ok {
		return kit.ObjectOf("type", "audio_url", "audio_url", kit.ObjectOf("url", url)), nil
	}
	return kit.ObjectOf("type", "input_audio", "input_audio", kit.ObjectOf("data", data, "format", audioFormat(mimeType))), nil
}

func audioFormat(mimeType string) string {
	mimeType, _, _ = strings.Cut(mimeType, ";")
	format := strings.TrimPrefix(strings.ToLower(mimeType), "audio/")
	switch format = strings.TrimPrefix(format, "x-"); format {
	case "wave", "vnd.wave":
		return "wav"
	case "mpeg", "mpeg3":
		return "mp3"
	}
	return format
}

// filePart returns the data with a name, or the ID of a file that was uploaded.
func filePart(media *schema.MessagePartCommon, name string) (object, error) {
	url, err := mediaURL(media)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(url, "file-") {
		return kit.ObjectOf("type", "file", "file", kit.ObjectOf("file_id", url)), nil
	}
	if mimeType, _, ok := kit.SplitDataURL(url); ok && name == "" {
		name = "file" + extension(mimeType)
	}
	var file object
	file.SetText("filename", name)
	file.Set("file_data", url)
	return kit.ObjectOf("type", "file", "file", file), nil
}

// extension returns the shortest file name extension of a media type, which does not depend on the machine for those
// that matter.
func extension(mimeType string) string {
	switch mimeType {
	case "application/pdf":
		return ".pdf"
	case "text/plain":
		return ".txt"
	}
	if all, err := mime.ExtensionsByType(mimeType); err == nil && len(all) > 0 {
		return all[0]
	}
	return ""
}

// mediaURL returns the address of a medium, or its data as a data URL.
func mediaURL(media *schema.MessagePartCommon) (string, error) {
	value := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	m, err := kit.NewMedia(value(media.URL), value(media.Base64Data), media.MIMEType)
	if err != nil {
		return "", err
	}
	return m.DataURL(), nil
}
