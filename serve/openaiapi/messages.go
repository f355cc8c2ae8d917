package openaiapi

import (
	"encoding/json"
	"strings"

	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/media"
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

// contentOf reads content: a text, or parts. The text is the text of all parts.
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
		return media.Text(p.Text), nil
	case "refusal":
		return media.Text(p.Refusal), nil
	case "image_url", "input_image":
		url, detail := p.image()
		m, err := mediumOf(url, media.Image)
		if in = media.Part(media.Image, m); err == nil {
			in.Image.Detail = schema.ImageURLDetail(detail)
		}
		return in, err
	case "input_audio":
		if p.Audio == nil || p.Audio.Data == "" {
			return in, serve.NewProblem(serve.BadRequest, "a part of type input_audio has no data")
		}
		m, err := media.FromData(p.Audio.Data, "audio/"+p.Audio.Format)
		return media.Part(media.Audio, m), err
	case "file", "input_file":
		data, name := p.FileData, p.FileName
		if p.File != nil {
			data, name = p.File.Data, p.File.Name
		}
		m, err := mediumOf(data, "")
		in = media.Part(media.File, m)
		in.File.Name = name
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

// mediumOf reads the URL of a medium of a kind, "" for any.
func mediumOf(url string, kind media.Kind) (m schema.MessagePartCommon, err error) {
	if !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "https://") {
		return m, serve.NewProblem(serve.BadRequest, "media are given by an https URL, or a data URL")
	}
	if m, err = media.FromURL(url, ""); err == nil && m.Base64Data != nil && kind != "" && media.KindOf(m.MIMEType) != kind {
		return m, serve.NewProblem(serve.BadRequest, "a data URL is not one of type %s", kind)
	}
	return m, err
}
