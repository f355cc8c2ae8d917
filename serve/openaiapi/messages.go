package openaiapi

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

// chatMessage is a message of a client.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Name       string          `json:"name"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []toolCall      `json:"tool_calls"`
}

// toolCall is a call that a model has asked for.
type toolCall struct {
	ID       string              `json:"id"`
	Function schema.FunctionCall `json:"function"`
}

// part is a part of a message, of either API.
type part struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"`
	Detail   string          `json:"detail"`
	Audio    *struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
	File *struct {
		Data string `json:"file_data"`
		Name string `json:"filename"`
	} `json:"file"`
	FileData string `json:"file_data"`
	FileName string `json:"filename"`
}

// messagesOf converts the messages of a client. System messages are left out unless they are allowed.
func messagesOf(messages []chatMessage, allowSystem bool) (all []*schema.Message, err error) {
	for i := range messages {
		m := &messages[i]
		text, parts, err := contentOf(m.Content)
		if err != nil {
			return nil, err
		}
		switch m.Role {
		case "system", "developer":
			if allowSystem {
				all = append(all, schema.SystemMessage(text))
			}
		case "user":
			all = append(all, userMessage(text, parts, m.Name))
		case "assistant":
			said := schema.AssistantMessage(text, nil)
			for _, c := range m.ToolCalls {
				said.ToolCalls = append(said.ToolCalls, schema.ToolCall{ID: c.ID, Type: "function", Function: c.Function})
			}
			all = append(all, said)
		case "tool":
			all = append(all, schema.ToolMessage(text, m.ToolCallID))
		default:
			return nil, serve.NewProblem(serve.BadRequest, "a message has no role that is known: system, developer, user, assistant, tool")
		}
	}
	return all, nil
}

// userMessage is a message of a user: of text alone if it has nothing else.
func userMessage(text string, parts []schema.MessageInputPart, name string) *schema.Message {
	m := schema.UserMessage(text)
	m.Name = name
	for _, p := range parts {
		if p.Type != schema.ChatMessagePartTypeText {
			m.Content, m.UserInputMultiContent = "", parts
		}
	}
	return m
}

// contentOf reads content: a text, or parts. The text is that of all parts.
func contentOf(content json.RawMessage) (text string, parts []schema.MessageInputPart, err error) {
	if len(content) == 0 || string(content) == "null" {
		return "", nil, nil
	}
	if json.Unmarshal(content, &text) == nil {
		return text, nil, nil
	}
	var raw []part
	if err := json.Unmarshal(content, &raw); err != nil {
		return "", nil, serve.NewProblem(serve.BadRequest, "content is a text or a list of parts")
	}
	var b strings.Builder
	for i := range raw {
		p, err := raw[i].input()
		if err != nil {
			return "", nil, err
		}
		b.WriteString(p.Text)
		parts = append(parts, p)
	}
	return b.String(), parts, nil
}

// input is a part for a model.
func (p *part) input() (in schema.MessageInputPart, err error) {
	switch p.Type {
	case "text", "input_text", "output_text":
		return schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: p.Text}, nil
	case "refusal":
		return schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: p.Refusal}, nil
	case "image_url", "input_image":
		url, detail := p.image()
		in.Type = schema.ChatMessagePartTypeImageURL
		in.Image = &schema.MessageInputImage{Detail: schema.ImageURLDetail(detail)}
		in.Image.MessagePartCommon, err = media(url, "image")
		return in, err
	case "input_audio":
		if p.Audio == nil || p.Audio.Data == "" {
			return in, serve.NewProblem(serve.BadRequest, "a part of type input_audio has no data")
		}
		in.Type = schema.ChatMessagePartTypeAudioURL
		in.Audio = &schema.MessageInputAudio{MessagePartCommon: schema.MessagePartCommon{Base64Data: &p.Audio.Data,
			MIMEType: "audio/" + p.Audio.Format}}
		return in, nil
	case "file", "input_file":
		data, name := p.FileData, p.FileName
		if p.File != nil {
			data, name = p.File.Data, p.File.Name
		}
		in.Type = schema.ChatMessagePartTypeFileURL
		in.File = &schema.MessageInputFile{Name: name}
		in.File.MessagePartCommon, err = media(data, "application")
		return in, err
	}
	return in, serve.NewProblem(serve.BadRequest, "a part has no type that is known: text, image_url, input_audio, file")
}

// image is the URL of an image: of chat completions an object, of responses a text.
func (p *part) image() (url, detail string) {
	var object struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	}
	if json.Unmarshal(p.ImageURL, &url) == nil {
		return url, p.Detail
	}
	_ = json.Unmarshal(p.ImageURL, &object)
	return object.URL, object.Detail
}

// media reads a URL, which may be one that has the data in itself.
func media(url, kind string) (m schema.MessagePartCommon, err error) {
	rest, isData := strings.CutPrefix(url, "data:")
	if !isData {
		if !strings.HasPrefix(url, "https://") {
			return m, serve.NewProblem(serve.BadRequest, "media are given by an https URL, or a data URL")
		}
		m.URL = &url
		return m, nil
	}
	mime, data, found := strings.Cut(rest, ";base64,")
	if _, err := base64.StdEncoding.DecodeString(data); !found || err != nil || !strings.HasPrefix(mime, kind+"/") && kind != "application" {
		return m, serve.NewProblem(serve.BadRequest, "a data URL is of a wrong type, or not base64")
	}
	m.Base64Data, m.MIMEType = &data, mime
	return m, nil
}
