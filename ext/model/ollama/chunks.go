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

// line is what the server sends: a chunk of a streamed answer, or a whole one.
type line struct {
	Model   string `json:"model"`
	Message struct {
		Content   string `json:"content"`
		Thinking  string `json:"thinking"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done       bool   `json:"done"`
	DoneReason string `json:"done_reason"`
	Error      string `json:"error"`

	PromptEvalCount *int `json:"prompt_eval_count"`
	EvalCount       *int `json:"eval_count"`
	TotalDuration   int  `json:"total_duration"`
	LoadDuration    int  `json:"load_duration"`
}

// holes are the fields in which the chunks of one answer differ.
var holes = []string{"content", "created_at"}

// chunks reads an answer. It implements [kit.Chunks].
type chunks struct {
	call   *call
	resp   *kit.Response
	events *kit.Events
	same   kit.Pattern
	text   int // the place of the text among the holes of same
	calls  int
	begun  bool
	empty  bool
	done   bool
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
		if text, ok := kit.Text(values[s.text]); ok {
			return &schema.Message{Role: schema.Assistant, Content: text}, nil
		}
	}
	var l line
	if err := kit.DecodeLenient(data, &l); err != nil {
		return nil, s.resp.NotUnderstood(data, err)
	}
	if l.Error != "" {
		return nil, s.resp.Refusal(kit.ParseError(data))
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
	for _, tc := range l.Message.ToolCalls {
		index := s.calls
		s.calls++
		if s.calls > maxCalls {
			return nil, s.resp.Failure("read the response", kit.ErrTooMany("tool calls", maxCalls))
		}
		call := schema.ToolCall{ID: tc.ID, Type: "function", Function: schema.FunctionCall{
			Name: tc.Function.Name, Arguments: string(tc.Function.Arguments),
		}}
		if s.call.stream {
			call.Index = &index
		}
		if call.ID == "" {
			call.ID = kit.NewCallID()
			kit.SetExtra(&call.Extra, madeUpKey, "true")
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
	if !s.begun {
		s.begun = true
		s.call.engine.origin.Mark(&m.Extra)
		m.ResponseMeta = &schema.ResponseMeta{Model: l.Model, Provider: provider}
	}
	s.empty = s.empty && kit.IsEmpty(m)
	if l.Done {
		return m, s.end(m, l)
	}
	return m, nil
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
		if l.DoneReason == "length" && u.TotalTokens == s.call.conf.Options.NumCtx {
			kit.SetExtra(&m.Extra, ContextFullKey, "true")
		}
	}
	if s.empty {
		return kit.CheckStopped(provider, l.DoneReason, "", m)
	}
	return nil
}

func count(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// learn notes what a line looks like that is nothing but a text, as nearly all are.
func (s *chunks) learn(data []byte, l *line) {
	if l.Done || l.Message.Content == "" || l.Message.Thinking != "" || len(l.Message.ToolCalls) > 0 {
		return
	}
	s.same.Learn(data, holes...)
	texts := 0
	for i, name := range s.same.Holes() {
		if name == "content" {
			s.text = i
			texts++
		}
	}
	if texts != 1 {
		s.same.Forget()
	}
}
