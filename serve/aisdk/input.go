package aisdk

import (
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/media"
	"github.com/weftgo/weft/serve/internal/page"
)

// input is the body of a request. Members of the page's own are ignored.
type input struct {
	ID       string      `json:"id"`
	Messages []uiMessage `json:"messages"`
	Trigger  string      `json:"trigger"`
	// MessageID is the message that is made again or, if the last message is the user's, replaced by it.
	MessageID string `json:"messageId"`
	// Tools lists the tools that the page brings, as it sends them in a member of its own.
	Tools []serve.ClientTool `json:"tools"`

	// decisions has the decisions about calls in the last message, by the IDs of their questions.
	decisions map[string]json.RawMessage
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
	// Approval is a person's decision about the call.
	Approval struct {
		Reason string `json:"reason"`
	} `json:"approval"`
}

func readInput(s *serve.Server, r *http.Request) (*input, error) {
	in := &input{}
	data, err := s.ReadJSON(r, in)
	if err != nil {
		return nil, err
	}
	switch {
	case in.ID == "":
		return nil, serve.NewProblem(serve.BadRequest, "there is no id of the chat")
	case len(in.Messages) == 0:
		return nil, serve.NewProblem(serve.BadRequest, "there is no message")
	}
	if in.last().Role == "assistant" {
		in.decisions, err = readDecisions(data)
	}
	return in, err
}

// readDecisions reads what the last message in a body says to questions whether calls may be made, all members by their
// very names: each question is answered once.
func readDecisions(body []byte) (map[string]json.RawMessage, error) {
	members, err := serve.Members(body)
	if err != nil {
		return nil, err
	}
	var messages, parts []json.RawMessage
	if json.Unmarshal(members["messages"], &messages) != nil || len(messages) == 0 {
		return nil, serve.NewProblem(serve.BadRequest, "there is no message")
	}
	if members, err = serve.Members(messages[len(messages)-1]); err != nil {
		return nil, err
	}
	if json.Unmarshal(members["parts"], &parts) != nil {
		return nil, serve.NewProblem(serve.BadRequest, "a message has no list of parts")
	}
	decisions := map[string]json.RawMessage{}
	for _, part := range parts {
		p, err := serve.Members(part)
		if err != nil {
			return nil, err
		}
		if string(p["state"]) != `"approval-responded"` {
			continue
		}
		said, err := serve.Members(p["approval"])
		if err != nil {
			return nil, err
		}
		var id, reason string
		if json.Unmarshal(said["id"], &id) != nil {
			return nil, serve.NewProblem(serve.BadRequest, "an approval has no id")
		}
		if _, twice := decisions[id]; twice {
			return nil, serve.NewProblem(serve.BadRequest, "a question is answered twice")
		}
		_ = json.Unmarshal(said["reason"], &reason)
		if string(said["approved"]) == "true" {
			decisions[id] = json.RawMessage(`{"approve":true}`)
		} else {
			decisions[id], _ = json.Marshal(map[string]any{"approve": false, "text": reason})
		}
	}
	return decisions, nil
}

// isAgain reports whether the page has left messages of the chat out, to have the last of the others answered again.
func (in *input) isAgain() bool {
	return in.Trigger == "regenerate-message" || in.MessageID != "" && in.last().Role == "user"
}

// messageOf is the ID that the message of a run has in pages.
func messageOf(run string) string { return "msg_" + run }

// turns has the turns of a thread, by which a page says what it wants to be answered again.
type turns struct {
	// runs are the runs of the thread, in their order, and asked the run that a message of the user was asked in.
	runs  []string
	asked map[string]string
}

// read reads a thread.
func (a *turns) read(thread iter.Seq2[serve.ThreadMessage, error]) error {
	a.asked = map[string]string{}
	for m, err := range thread {
		if err != nil {
			return err
		}
		if m.Run == "" {
			continue
		}
		if !slices.Contains(a.runs, m.Run) {
			a.runs = append(a.runs, m.Run)
		}
		if m.Agent == "" {
			a.asked[m.ID] = m.Run
			a.asked[m.ClientID] = m.Run
		}
	}
	delete(a.asked, "")
	return nil
}

// run is the run that a message of the agent is of, which the page names, and false if the thread has none.
func (a *turns) run(message string) (run string, ours, found bool) {
	run, ours = strings.CutPrefix(message, messageOf(""))
	if !ours {
		run, _, _ = strings.Cut(message, ".") // as in the messages of the thread
	}
	return run, ours, slices.Contains(a.runs, run)
}

// replaced is the run of a thread whose question is asked again: the one that the page names, by its answer or by its
// question, or else the first one behind the answers that the page has. "" is none. thread are the messages of the thread.
func (in *input) replaced(thread iter.Seq2[serve.ThreadMessage, error]) (run string, err error) {
	var a turns
	if err := a.read(thread); err != nil {
		return "", err
	}
	if run, _, found := a.run(in.MessageID); found {
		return run, nil
	}
	for _, id := range []string{in.MessageID, in.last().ID} {
		if run, found := a.asked[id]; found {
			return run, nil
		}
	}
	answered, foreign := -1, false
	for _, m := range in.Messages {
		if m.Role != "assistant" {
			continue
		}
		run, ours, _ := a.run(m.ID)
		at := slices.Index(a.runs, run)
		foreign = foreign || at < 0 && !ours
		answered = max(answered, at)
	}
	switch {
	case answered < 0 && foreign:
		return "", serve.NewProblem(serve.BadRequest, "no message of the page is one of the thread: keep the IDs of messages")
	case answered < 0 && len(a.runs) > 0:
		return "", serve.NewProblem(serve.BadRequest,
			"it is not known what of the thread is asked again: send the messages that the page has, with their IDs")
	}
	if answered++; answered < len(a.runs) {
		run = a.runs[answered]
	}
	return run, nil
}

// last is the last message.
func (in *input) last() *uiMessage { return &in.Messages[len(in.Messages)-1] }

// Fresh are the messages of the user that are new: those that the list ends with.
func (in *input) Fresh() ([]*schema.Message, []string, error) {
	return page.Fresh(in.Messages, (*uiMessage).isUser, func(m *uiMessage) (*schema.Message, string, error) {
		message, err := m.user()
		return message, m.ID, err
	})
}

// HasMore reports whether something was said before them.
func (in *input) HasMore() bool { return page.Trailing(in.Messages, (*uiMessage).isUser) > 0 }

func (m *uiMessage) isUser() bool { return m.Role == "user" }

// user is a message of a user.
func (m *uiMessage) user() (*schema.Message, error) {
	message := &schema.Message{Role: schema.User}
	text, hasFiles := "", false
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Type == "text":
			text += p.Text
			message.UserInputMultiContent = append(message.UserInputMultiContent, media.Text(p.Text))
		case p.Type == "file":
			part, err := p.file()
			if err != nil {
				return nil, err
			}
			hasFiles = true
			message.UserInputMultiContent = append(message.UserInputMultiContent, part)
		}
	}
	if !hasFiles {
		return schema.UserMessage(text), nil
	}
	return message, nil
}

// file is a file for a model.
func (p *uiPart) file() (in schema.MessageInputPart, err error) {
	m, err := media.FromURL(p.URL, p.MediaType)
	if in = media.Part(media.KindOf(m.MIMEType), m); in.File != nil {
		in.File.Name = p.Filename
	}
	return in, err
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

// refusal returns the text that a model reads about a call that a person has rejected.
func (p *uiPart) refusal() string {
	if p.Approval.Reason != "" {
		return "The user rejected this call of the tool: " + p.Approval.Reason
	}
	return "The user rejected this call of the tool."
}

// History are all messages, of a page that is trusted to know them.
func (in *input) History(allowSystem bool) (messages []*schema.Message, err error) {
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
		if p.State == "output-denied" {
			result, hasResult = p.refusal(), true
		}
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

// answers are the answers that the last message has to questions that are open.
func (in *input) answers(questions []runs.Question) map[string]json.RawMessage {
	answers := serve.ClientReplies(questions, in.last().calls())
	for _, q := range questions {
		if answer, given := in.decisions[q.ID]; given && !q.Answered && q.Kind != runs.KindClientTool {
			answers[q.ID] = answer
		}
	}
	return answers
}

// isForPages reports whether a page answers a question: the others it has no way to.
func isForPages(q *runs.Question) bool {
	return q.Kind == runs.KindApproval || q.Kind == runs.KindClientTool
}

// hasAll reports whether there are answers to all open questions that a page answers.
func (in *input) hasAll(answers map[string]json.RawMessage, questions []runs.Question) bool {
	return !slices.ContainsFunc(questions, func(q runs.Question) bool {
		return isForPages(&q) && !q.Answered && !q.Optional && answers[q.ID] == nil
	})
}

// knowsNoneOf reports whether the page answers none of some questions, but others.
func (in *input) knowsNoneOf(questions []runs.Question) bool {
	return len(in.answers(questions)) == 0 && len(in.decisions) > 0
}

// calls are the calls of tools in a message.
func (m *uiMessage) calls() (calls []serve.ClientCall) {
	for i := range m.Parts {
		p := &m.Parts[i]
		if name, isTool := p.isTool(); isTool {
			text, done := p.outcome()
			calls = append(calls, serve.ClientCall{ID: p.ToolCallID, Name: name, Done: done, Failed: p.State == "output-error", Text: text})
		}
	}
	return calls
}
