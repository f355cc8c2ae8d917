package aisdk

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

// input is the body of a request. Members of the page's own are ignored.
type input struct {
	ID       string      `json:"id"`
	Messages []uiMessage `json:"messages"`
	Trigger  string      `json:"trigger"`
	// Tools are those that the page brings, as it sends them in a member of its own.
	Tools []serve.ClientTool `json:"tools"`
}

// uiMessage is a message of a page.
type uiMessage struct {
	ID    string   `json:"id"`
	Role  string   `json:"role"`
	Parts []uiPart `json:"parts"`
}

// uiPart is a part of a message of a page.
type uiPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// Of files.
	URL       string `json:"url"`
	MediaType string `json:"mediaType"`
	Filename  string `json:"filename"`
	// Of calls of tools.
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	State      string          `json:"state"`
	Input      json.RawMessage `json:"input"`
	Output     json.RawMessage `json:"output"`
	ErrorText  string          `json:"errorText"`
	Approval   json.RawMessage `json:"approval"`
}

func badRequest(text string) *serve.Problem {
	return &serve.Problem{Code: serve.BadRequest, Title: text}
}

func readInput(s *serve.Server, r *http.Request) (*input, error) {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/json" {
		return nil, badRequest("send JSON, with Content-Type: application/json")
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	in := &input{}
	if err := s.DecodeJSON(data, in); err != nil {
		return nil, err
	}
	switch {
	case in.ID == "":
		return nil, badRequest("there is no id of the chat")
	case in.Trigger == "regenerate-message":
		return nil, badRequest("a message cannot be made again: what was said in a thread stays said")
	case len(in.Messages) == 0:
		return nil, badRequest("there is no message")
	}
	return in, nil
}

// last is the last message.
func (in *input) last() *uiMessage { return &in.Messages[len(in.Messages)-1] }

// fresh are the messages of the user that are new: those that the list ends with.
func (in *input) fresh() (messages []*schema.Message, err error) {
	at := len(in.Messages)
	for at > 0 && in.Messages[at-1].Role == "user" {
		at--
	}
	for i := at; i < len(in.Messages); i++ {
		m, err := in.Messages[i].user()
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	if messages == nil {
		return nil, badRequest("there is no new message: the last one must be of role user")
	}
	return messages, nil
}

// user is a message of a user.
func (m *uiMessage) user() (*schema.Message, error) {
	message := &schema.Message{Role: schema.User}
	text, media := "", false
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Type == "text":
			text += p.Text
			message.UserInputMultiContent = append(message.UserInputMultiContent,
				schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: p.Text})
		case p.Type == "file":
			part, err := p.file()
			if err != nil {
				return nil, err
			}
			media = true
			message.UserInputMultiContent = append(message.UserInputMultiContent, part)
		}
	}
	if !media {
		return schema.UserMessage(text), nil
	}
	return message, nil
}

// file is a file for a model.
func (p *uiPart) file() (in schema.MessageInputPart, err error) {
	media := schema.MessagePartCommon{MIMEType: p.MediaType}
	if rest, isData := strings.CutPrefix(p.URL, "data:"); isData {
		kind, data, found := strings.Cut(rest, ";base64,")
		if !found {
			return in, badRequest("a file has a data URL that is not base64")
		}
		media.Base64Data = &data
		if media.MIMEType == "" {
			media.MIMEType = kind
		}
	} else {
		media.URL = &p.URL
	}
	switch kind, _, _ := strings.Cut(media.MIMEType, "/"); kind {
	case "image":
		in.Type, in.Image = schema.ChatMessagePartTypeImageURL, &schema.MessageInputImage{MessagePartCommon: media}
	case "audio":
		in.Type, in.Audio = schema.ChatMessagePartTypeAudioURL, &schema.MessageInputAudio{MessagePartCommon: media}
	case "video":
		in.Type, in.Video = schema.ChatMessagePartTypeVideoURL, &schema.MessageInputVideo{MessagePartCommon: media}
	default:
		in.Type, in.File = schema.ChatMessagePartTypeFileURL, &schema.MessageInputFile{MessagePartCommon: media, Name: p.Filename}
	}
	return in, nil
}

// isTool reports whether a part is a call of a tool, and its name.
func (p *uiPart) isTool() (name string, ok bool) {
	if p.Type == "dynamic-tool" {
		return p.ToolName, true
	}
	return strings.CutPrefix(p.Type, "tool-")
}

// outcome is the text of the result of a call, if the page has one.
func (p *uiPart) outcome() (text string, ok bool) {
	switch p.State {
	case "output-error":
		return p.ErrorText, true
	case "output-available":
		if json.Unmarshal(p.Output, &text) != nil {
			text = string(p.Output)
		}
		return text, true
	}
	return "", false
}

// history are all messages, of a page that is trusted to know them.
func (in *input) history(allowSystem bool) (messages []*schema.Message, err error) {
	for i := range in.Messages {
		m := &in.Messages[i]
		switch m.Role {
		case "user":
			user, err := m.user()
			if err != nil {
				return nil, err
			}
			messages = append(messages, user)
		case "system":
			if allowSystem {
				messages = append(messages, schema.SystemMessage(m.text()))
			}
		case "assistant":
			messages = append(messages, m.answers()...)
		}
	}
	return messages, nil
}

func (m *uiMessage) text() (text string) {
	for _, p := range m.Parts {
		if p.Type == "text" {
			text += p.Text
		}
	}
	return text
}

// answers are the messages that a message of an assistant stands for: one for each step, with the results of its calls.
func (m *uiMessage) answers() (messages []*schema.Message) {
	said := schema.AssistantMessage("", nil)
	var results []*schema.Message
	flush := func() {
		if said.Content != "" || len(said.ToolCalls) > 0 {
			messages = append(append(messages, said), results...)
		}
		said, results = schema.AssistantMessage("", nil), nil
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		name, isTool := p.isTool()
		result, hasResult := p.outcome()
		switch {
		case p.Type == "step-start":
			flush()
		case p.Type == "text":
			said.Content += p.Text
		case isTool && hasResult:
			said.ToolCalls = append(said.ToolCalls, schema.ToolCall{ID: p.ToolCallID, Type: "function",
				Function: schema.FunctionCall{Name: name, Arguments: string(p.Input)}})
			results = append(results, schema.ToolMessage(result, p.ToolCallID, schema.WithToolName(name)))
		}
	}
	flush()
	return messages
}

// numbered is what the record appends to the ID of a call that a model has used before.
var numbered = regexp.MustCompile(`~[0-9]+$`)

// answers are those that the last message has to questions that are open.
func (in *input) answers(questions []serve.Question) map[string]json.RawMessage {
	answers := map[string]json.RawMessage{}
	if in.last().Role != "assistant" {
		return answers
	}
	for i := range in.last().Parts {
		p := &in.last().Parts[i]
		if _, isTool := p.isTool(); !isTool {
			continue
		}
		for _, q := range questions {
			if answer := p.answer(&q); answer != nil && !q.Answered {
				answers[q.ID] = answer
			}
		}
	}
	return answers
}

// answer is what a part says to a question, nil if nothing.
func (p *uiPart) answer(q *serve.Question) json.RawMessage {
	switch q.Kind {
	case "approval":
		var approval struct {
			ID     string `json:"id"`
			Reason string `json:"reason"`
		}
		if p.State != "approval-responded" || json.Unmarshal(p.Approval, &approval) != nil || approval.ID != q.ID {
			return nil
		}
		if serve.Approves(p.Approval, "approved") {
			return json.RawMessage(`{"approve":true}`)
		}
		answer, _ := json.Marshal(map[string]any{"approve": false, "text": approval.Reason})
		return answer
	case "client_tool":
		var call struct {
			ID string `json:"call_id"`
		}
		text, done := p.outcome()
		if !done || json.Unmarshal(q.Info, &call) != nil || p.ToolCallID != call.ID && numbered.ReplaceAllString(p.ToolCallID, "") != call.ID {
			return nil
		}
		member := "text"
		if p.State == "output-error" {
			member = "error"
		}
		answer, _ := json.Marshal(map[string]string{member: text})
		return answer
	}
	return nil
}
