package ollama

import (
	"encoding/json"
	"io"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

const maxCalls = 4096

// ContextFullKey is a key of Message.Extra, set to "true" if the prompt and the answer have filled the context: most
// likely the beginning of the conversation was cut away. Raise Options.NumCtx.
const ContextFullKey = "ollama_context_full"

// line is one line from the server: a chunk of a streamed answer, or a whole answer.
type line struct {
	Model   string `json:"model"`
	Message struct {
		Content   string     `json:"content"`
		Thinking  string     `json:"thinking"`
		ToolCalls []wireCall `json:"tool_calls"`
		Images    []string   `json:"images"`
	} `json:"message"`
	Done       bool            `json:"done"`
	DoneReason string          `json:"done_reason"`
	Error      json.RawMessage `json:"error"`

	PromptEvalCount *kit.Count `json:"prompt_eval_count"`
	EvalCount       *kit.Count `json:"eval_count"`
	TotalDuration   int        `json:"total_duration"`
	LoadDuration    int        `json:"load_duration"`
}

type wireCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// arguments returns the text of the arguments, which some servers in between send as one.
func (w *wireCall) arguments() string {
	raw := w.Function.Arguments
	if text, ok := kit.Text(raw); ok {
		return text
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// failure returns the error that a line says, nil if it says none.
func (l *line) failure(data []byte) *kit.APIError {
	switch string(l.Error) {
	case "", "null", `""`:
		return nil
	}
	if e := kit.ParseError(data); e != nil {
		return e
	}
	return &kit.APIError{Raw: string(data)}
}

// holes are the fields in which the chunks of one answer differ.
var holes = []string{"content", "thinking", "created_at"}

// chunks reads an answer. It implements [kit.Chunks].
type chunks struct {
	call   *call
	resp   *kit.Response
	events *kit.Events
	same   kit.Pattern
	// text and thought are their places among the holes of same; -1 for none.
	text, thought int
	calls         int
	begun         bool
	empty         bool
	done          bool
}

// Finish implements [kit.Chunks].
func (s *chunks) Finish() { s.resp.Finish() }

// Close implements [kit.Chunks].
func (s *chunks) Close() { s.resp.Close() }

// Next implements [kit.Chunks].
func (s *chunks) Next() (*schema.Message, error) {
	if s.done {
		return nil, io.EOF
	}
	data, err := s.events.Next()
	switch {
	case err == io.EOF, err == kit.ErrDone:
		return nil, s.resp.Cut(`a line with "done"`)
	case err != nil:
		return nil, err
	}
	if values, ok := s.same.Match(data); ok {
		text, ok1 := textAt(values, s.text)
		thought, ok2 := textAt(values, s.thought)
		if ok1 && ok2 {
			s.empty = s.empty && text == ""
			return &schema.Message{Role: schema.Assistant, Content: text, ReasoningContent: thought}, nil
		}
	}
	var l line
	if err := kit.DecodeLenient(data, &l); err != nil {
		return nil, s.resp.NotUnderstood(data, err)
	}
	if e := l.failure(data); e != nil {
		return nil, s.resp.Refusal(e)
	}
	m, err := s.message(&l)
	if err != nil {
		return nil, err
	}
	s.learn(data, &l)
	return m, nil
}

// message returns what a line says.
func (s *chunks) message(l *line) (*schema.Message, error) {
	m := &schema.Message{Role: schema.Assistant, Content: l.Message.Content, ReasoningContent: l.Message.Thinking}
	for i := range l.Message.ToolCalls {
		if s.calls == maxCalls {
			return nil, s.resp.Failure("read the response", kit.ErrTooMany("tool calls", maxCalls))
		}
		m.ToolCalls = append(m.ToolCalls, s.toolCall(&l.Message.ToolCalls[i]))
	}
	for _, data := range l.Message.Images {
		m.AssistantGenMultiContent = append(m.AssistantGenMultiContent, imageOutput(data))
	}
	if !s.begun {
		s.begun = true
		s.call.engine.origin.Mark(&m.Extra)
		s.call.unsupported.Note(&m.Extra)
		m.ResponseMeta = &schema.ResponseMeta{Model: l.Model, Provider: provider}
	}
	s.empty = s.empty && kit.IsEmpty(m)
	if l.Done {
		return m, s.end(m, l)
	}
	return m, nil
}

// toolCall returns a call, which comes whole.
func (s *chunks) toolCall(w *wireCall) schema.ToolCall {
	call := schema.ToolCall{
		ID: w.ID, Type: "function", Function: schema.FunctionCall{Name: w.Function.Name, Arguments: w.arguments()},
	}
	if s.call.stream {
		index := s.calls
		call.Index = &index
	}
	s.calls++
	if call.ID == "" {
		call.ID = kit.NewCallID()
	} else {
		kit.SetExtra(&call.Extra, callIDKey, call.ID)
	}
	return call
}

func imageOutput(data string) schema.MessageOutputPart {
	common := schema.MessagePartCommon{Base64Data: &data}
	if media, err := kit.NewMedia("", data, ""); err == nil {
		common.MIMEType = media.MIME
	}
	return schema.MessageOutputPart{
		Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageOutputImage{MessagePartCommon: common},
	}
}

// end adds what the last line says.
func (s *chunks) end(m *schema.Message, l *line) error {
	s.done = true
	if m.ResponseMeta == nil {
		m.ResponseMeta = new(schema.ResponseMeta)
	}
	m.ResponseMeta.FinishReason = l.DoneReason
	if l.PromptEvalCount != nil || l.EvalCount != nil {
		u := &schema.TokenUsage{PromptTokens: count(l.PromptEvalCount), CompletionTokens: count(l.EvalCount)}
		u.TotalTokens = u.PromptTokens + u.CompletionTokens
		m.ResponseMeta.Usage = u
		raw, err := kit.ObjectOf("prompt_eval_count", u.PromptTokens, "eval_count", u.CompletionTokens,
			"total_duration", l.TotalDuration, "load_duration", l.LoadDuration).Encode()
		if err == nil {
			kit.SetExtra(&m.Extra, kit.UsageRawKey, string(raw))
		}
		if window := s.call.conf.Options.NumCtx; l.DoneReason == "length" && window > 0 && u.TotalTokens == window {
			kit.SetExtra(&m.Extra, ContextFullKey, "true")
		}
	}
	if s.empty {
		return kit.CheckStopped(provider, l.DoneReason, "", m)
	}
	return nil
}

func count(n *kit.Count) int {
	if n == nil {
		return 0
	}
	return int(*n)
}

// learn notes what a line looks like that is nothing but text or thinking, as nearly all are.
func (s *chunks) learn(data []byte, l *line) {
	said := l.Message
	if l.Done || said.Content == "" && said.Thinking == "" || len(said.ToolCalls)+len(said.Images) > 0 {
		return
	}
	s.same.Learn(data, holes...)
	s.text, s.thought = -1, -1
	places := map[string]*int{"content": &s.text, "thinking": &s.thought}
	for i, name := range s.same.Holes() {
		place := places[name]
		if place == nil {
			continue
		}
		if *place >= 0 {
			s.same.Forget()
			return
		}
		*place = i
	}
}

// textAt returns a text among the values of a pattern; none is empty.
func textAt(values [][]byte, at int) (string, bool) {
	if at < 0 {
		return "", true
	}
	return kit.Text(values[at])
}
