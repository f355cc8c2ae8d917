package agui

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/media"
	"github.com/weftgo/weft/serve/internal/page"
)

// input is the body of a request.
type input struct {
	ThreadID        string             `json:"threadId"`
	RunID           string             `json:"runId"`
	ParentRunID     string             `json:"parentRunId"`
	ProtocolVersion string             `json:"protocolVersion"`
	Messages        []inMessage        `json:"messages"`
	Tools           []serve.ClientTool `json:"tools"`
	State           json.RawMessage    `json:"state"`
	Context         []ContextItem      `json:"context"`
	ForwardedProps  json.RawMessage    `json:"forwardedProps"`
	// Resume are the answers to questions, read by their very names.
	Resume []resumeEntry `json:"-"`
	// body is the whole request.
	body []byte
}

// inMessage is a message of a client.
type inMessage struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []wireCall      `json:"toolCalls"`
	ToolCallID string          `json:"toolCallId"`
	Error      string          `json:"error"`
	Subagent   string          `json:"subagentRunId"`
}

// resumeEntry is the answer to a question.
type resumeEntry struct {
	id       string
	resolved bool
	payload  json.RawMessage
}

// inPart is a part of a message of a user.
type inPart struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source struct {
		Type     string `json:"type"`
		Value    string `json:"value"`
		MIMEType string `json:"mimeType"`
	} `json:"source"`
	// Of a part of type binary, which clients of before 1.0 send.
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"`
	URL      string `json:"url"`
	Filename string `json:"filename"`
}

// readInput reads a request.
func readInput(s *serve.Server, r *http.Request) (*input, error) {
	in := &input{}
	data, err := s.ReadJSON(r, in)
	if err != nil {
		return nil, err
	}
	if in.ThreadID == "" || in.RunID == "" || len(in.RunID) > 128 {
		return nil, serve.NewProblem(serve.BadRequest, "threadId and runId are required, of at most 128 bytes")
	}
	in.body = data
	in.Resume, err = readResume(data)
	return in, err
}

// readResume reads the answers in a body: each question is answered once.
func readResume(body []byte) (entries []resumeEntry, err error) {
	members, err := serve.Members(body)
	if err != nil || len(members["resume"]) == 0 {
		return nil, err
	}
	var list []json.RawMessage
	if json.Unmarshal(members["resume"], &list) != nil {
		return nil, serve.NewProblem(serve.BadRequest, "resume is a list")
	}
	for _, data := range list {
		m, err := serve.Members(data)
		if err != nil {
			return nil, err
		}
		e := resumeEntry{resolved: string(m["status"]) == `"resolved"`, payload: m["payload"]}
		if json.Unmarshal(m["interruptId"], &e.id) != nil || e.id == "" {
			return nil, serve.NewProblem(serve.BadRequest, "an entry of resume has no interruptId")
		}
		if slices.ContainsFunc(entries, func(other resumeEntry) bool { return other.id == e.id }) {
			return nil, serve.NewProblem(serve.BadRequest, "a question is answered twice")
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// leaveOut leaves out what the client was shown of a run that it asks for again, and what stands behind that.
func (in *input) leaveOut(run string) {
	if at := slices.IndexFunc(in.Messages, func(m inMessage) bool { return isOf(run, m.ID) }); at >= 0 {
		in.Messages = in.Messages[:at]
	}
}

// isOf reports whether a message has the ID of one of a run.
func isOf(run, id string) bool { return strings.HasPrefix(id, run+".") }

// isLegacy reports whether the client is one of before 1.0.
func (in *input) isLegacy() bool {
	return in.ProtocolVersion == "" || strings.HasPrefix(in.ProtocolVersion, "0.")
}

// Fresh are the messages of the user that are new: those that the list ends with.
func (in *input) Fresh() ([]*schema.Message, []string, error) {
	return page.Fresh(in.Messages, (*inMessage).isUser, func(m *inMessage) (*schema.Message, string, error) {
		message, err := m.user()
		return message, m.ID, err
	})
}

// HasMore reports whether something was said before them.
func (in *input) HasMore() bool { return page.Trailing(in.Messages, (*inMessage).isUser) > 0 }

func (m *inMessage) isUser() bool { return m.Role == "user" }

// History are all messages, of a client that is trusted to know them.
func (in *input) History(allowSystem bool) (messages []*schema.Message, err error) {
	for i := range in.Messages {
		m := &in.Messages[i]
		if m.Subagent != "" {
			continue
		}
		switch m.Role {
		case "user":
			user, err := m.user()
			if err != nil {
				return nil, err
			}
			messages = append(messages, user)
		case "assistant":
			said := schema.AssistantMessage(m.text(), nil)
			for _, c := range m.ToolCalls {
				said.ToolCalls = append(said.ToolCalls, schema.ToolCall{ID: c.ID, Type: "function",
					Function: schema.FunctionCall{Name: c.Function.Name, Arguments: c.Function.Arguments}})
			}
			messages = append(messages, said)
		case "tool":
			messages = append(messages, schema.ToolMessage(m.result(), m.ToolCallID))
		case "system", "developer":
			if allowSystem {
				messages = append(messages, schema.SystemMessage(m.text()))
			}
		}
	}
	return messages, nil
}

// results returns the results of calls that the client has carried out: the ones that the list ends with.
func (in *input) results() []inMessage {
	return in.Messages[page.Trailing(in.Messages, func(m *inMessage) bool { return m.Role == "tool" }):]
}

// resultsShown are the calls whose results are among the messages.
func (in *input) resultsShown() map[string]bool {
	shown := map[string]bool{}
	for i := range in.Messages {
		if m := &in.Messages[i]; m.Role == "tool" {
			shown[m.ToolCallID] = true
		}
	}
	return shown
}

// text is the text of a message, of all of its parts.
func (m *inMessage) text() (text string) {
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	var parts []inPart
	_ = json.Unmarshal(m.Content, &parts)
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// result returns the result of a call of the client.
func (m *inMessage) result() string {
	if m.Error != "" {
		return m.Error
	}
	return m.text()
}

// user is a message of a user.
func (m *inMessage) user() (*schema.Message, error) {
	var text string
	if len(m.Content) == 0 || json.Unmarshal(m.Content, &text) == nil {
		return schema.UserMessage(text), nil
	}
	var parts []inPart
	if json.Unmarshal(m.Content, &parts) != nil {
		return nil, serve.NewProblem(serve.BadRequest, "content is a text or a list of parts")
	}
	message := &schema.Message{Role: schema.User}
	for _, p := range parts {
		part, err := p.input()
		if err != nil {
			return nil, err
		}
		message.UserInputMultiContent = append(message.UserInputMultiContent, part)
	}
	return message, nil
}

// kinds has the kinds of parts that are no text.
var kinds = map[string]media.Kind{"image": media.Image, "audio": media.Audio, "video": media.Video, "document": media.File}

// input is a part for a model.
func (p *inPart) input() (in schema.MessageInputPart, err error) {
	if p.Type == "text" {
		return media.Text(p.Text), nil
	}
	if p.Type == "binary" {
		return p.binary()
	}
	kind, known := kinds[p.Type]
	switch {
	case !known:
		return in, serve.NewProblem(serve.BadRequest, "a part has no type that is known: text, image, audio, video, document")
	case p.Source.Value == "":
		return in, serve.NewProblem(serve.BadRequest, "a part has no source")
	}
	read := media.FromURL
	if p.Source.Type == "data" {
		read = media.FromData
	}
	m, err := read(p.Source.Value, p.Source.MIMEType)
	return media.Part(kind, m), err
}

// binary is a part of before 1.0, whose kind follows from its type.
func (p *inPart) binary() (in schema.MessageInputPart, err error) {
	var m schema.MessagePartCommon
	switch {
	case p.Data != "":
		m, err = media.FromData(p.Data, p.MIMEType)
	case p.URL != "":
		m, err = media.FromURL(p.URL, p.MIMEType)
	default:
		return in, serve.NewProblem(serve.BadRequest, "a part of type binary has neither data nor a url")
	}
	if in = media.Part(media.KindOf(m.MIMEType), m); in.File != nil {
		in.File.Name = p.Filename
	}
	return in, err
}

// answers returns the answers to the questions of a run: entries of resume, and results of calls that the client was to
// carry out.
func (in *input) answers(questions []runs.Question) map[string]json.RawMessage {
	answers := in.clientResults(questions)
	kinds := map[string]runs.Kind{}
	for _, q := range questions {
		kinds[q.ID] = q.Kind
	}
	for _, e := range in.Resume {
		answers[e.id] = e.answer(kinds[e.id])
	}
	return answers
}

// answer is an answer as the server takes it. Only what says so exactly approves.
func (e *resumeEntry) answer(kind runs.Kind) json.RawMessage {
	if kind != runs.KindApproval {
		if !e.resolved || len(e.payload) == 0 {
			return json.RawMessage("null")
		}
		return e.payload
	}
	said, err := serve.Members(e.payload)
	if err != nil || !e.resolved || string(said["approved"]) != "true" {
		return json.RawMessage(`{"approve":false}`)
	}
	if edited := said["editedArgs"]; len(edited) > 0 {
		return json.RawMessage(`{"approve":true,"arguments":` + string(edited) + `}`)
	}
	return json.RawMessage(`{"approve":true}`)
}

// clientResults are the answers to calls of the client among questions.
func (in *input) clientResults(questions []runs.Question) map[string]json.RawMessage {
	results := in.results()
	of := func(id string) (result *inMessage) {
		for i := range results {
			if results[i].ToolCallID == id {
				result = &results[i]
			}
		}
		return result
	}
	var calls []serve.ClientCall
	known := map[string]bool{}
	add := func(id, name string) {
		if known[id] {
			return
		}
		known[id] = true
		c := serve.ClientCall{ID: id, Name: name}
		if r := of(id); r != nil {
			c.Done, c.Failed, c.Text = true, r.Error != "", r.result()
		}
		calls = append(calls, c)
	}
	for i := range in.Messages {
		for _, c := range in.Messages[i].ToolCalls {
			add(c.ID, c.Function.Name)
		}
	}
	for i := range results { // a client may leave out what it was asked
		add(results[i].ToolCallID, "")
	}
	return serve.ClientReplies(questions, calls)
}
