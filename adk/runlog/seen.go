package runlog

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// seenEvent is an event of a run, of either kind of message.
type seenEvent struct {
	message Message
	// watch has a stream of the event observed, nil if it is none. It must be called before the event is sent on.
	watch func(onEnd func(Message, error))
	tool  bool // the message is the result of a tool
	has   bool // there is a message or a stream
	// place is which call of its answer an event of a tool is of, from 1, 0 if that is not known.
	place  int
	action *adk.AgentAction
	custom any
	err    error
}

// seeEvent reads an event.
func seeEvent(event any) (e seenEvent) {
	switch v := event.(type) {
	case *adk.AgentEvent:
		e = seeTyped(v, func() joiner[*schema.Message] { return new(schema.MessageAccumulator) })
		if out := v.Output; out != nil && out.MessageOutput != nil {
			e.tool = out.MessageOutput.Role == schema.Tool
		}
	case *adk.TypedAgentEvent[*schema.AgenticMessage]:
		e = seeTyped(v, func() joiner[*schema.AgenticMessage] { return new(schema.AgenticMessageAccumulator) })
		if out := v.Output; out != nil && out.MessageOutput != nil {
			e.tool = out.MessageOutput.AgenticRole == schema.AgenticRoleTypeUser
		}
	}
	return e
}

// joiner joins chunks.
type joiner[M any] interface {
	Add(M) error
	Message() (M, error)
}

func seeTyped[M adk.MessageType](v *adk.TypedAgentEvent[M], join func() joiner[M]) seenEvent {
	e := seenEvent{action: v.Action, err: v.Err}
	if v.Output == nil {
		return e
	}
	e.custom = v.Output.CustomizedOutput
	out := v.Output.MessageOutput
	switch {
	case out == nil:
	case out.IsStreaming && out.MessageStream != nil:
		e.has = true
		e.watch = func(onEnd func(Message, error)) {
			copies := out.MessageStream.Copy(2)
			out.MessageStream = copies[0]
			out.MessageStream.SetAutomaticClose()
			copies[1].SetAutomaticClose()
			j := join()
			schema.Observe(copies[1], func(chunk M) { _ = j.Add(chunk) }, func(err error) {
				m, joinErr := j.Message()
				if err == nil {
					err = joinErr
				}
				onEnd(MessageOf(m), err)
			})
		}
	case !out.IsStreaming:
		e.message = MessageOf(out.Message)
		e.has = !isNil(e.message)
	}
	return e
}

// seeMessage is a message of either kind.
func seeMessage(m any) Message {
	switch m := m.(type) {
	case *schema.Message:
		return Message{Chat: m}
	case *schema.AgenticMessage:
		return Message{Agentic: m}
	}
	return Message{}
}

func isNil(m Message) bool { return m.Chat == nil && m.Agentic == nil }

// textResult is the result of a tool in a message, if that is nothing but a text: the ID of the call and the text.
func (m Message) textResult() (id, text string, ok bool) {
	if m.Chat == nil || len(m.Chat.UserInputMultiContent) > 0 {
		return "", "", false
	}
	return m.Chat.ToolCallID, m.Chat.Content, true
}

// result is the result of a tool in a message: the ID of the call, the name of the tool, and its parts.
func (m Message) result() (id, name string, parts []schema.ToolOutputPart) {
	switch {
	case m.Chat != nil:
		if len(m.Chat.UserInputMultiContent) == 0 {
			return m.Chat.ToolCallID, m.Chat.ToolName, textParts(m.Chat.Content)
		}
		for i := range m.Chat.UserInputMultiContent {
			parts = append(parts, outputPart(&m.Chat.UserInputMultiContent[i]))
		}
		return m.Chat.ToolCallID, m.Chat.ToolName, parts
	case m.Agentic != nil:
		for _, b := range m.Agentic.ContentBlocks {
			if b == nil || b.FunctionToolResult == nil {
				continue
			}
			id, name = b.FunctionToolResult.CallID, b.FunctionToolResult.Name
			for _, c := range b.FunctionToolResult.Content {
				if c != nil && c.Text != nil {
					parts = append(parts, textParts(c.Text.Text)...)
				}
			}
		}
	}
	return id, name, parts
}

func textParts(text string) []schema.ToolOutputPart {
	return []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}
}

// outputPart is the part of a result that a part of a message was made of.
func outputPart(p *schema.MessageInputPart) schema.ToolOutputPart {
	out := schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: p.Text, Extra: p.Extra}
	switch {
	case p.Image != nil:
		out.Type, out.Image = schema.ToolPartTypeImage, &schema.ToolOutputImage{MessagePartCommon: p.Image.MessagePartCommon}
	case p.Audio != nil:
		out.Type, out.Audio = schema.ToolPartTypeAudio, &schema.ToolOutputAudio{MessagePartCommon: p.Audio.MessagePartCommon}
	case p.Video != nil:
		out.Type, out.Video = schema.ToolPartTypeVideo, &schema.ToolOutputVideo{MessagePartCommon: p.Video.MessagePartCommon}
	case p.File != nil:
		out.Type, out.File = schema.ToolPartTypeFile, &schema.ToolOutputFile{MessagePartCommon: p.File.MessagePartCommon}
	case p.ToolSearchResult != nil:
		out.Type, out.ToolSearchResult = schema.ToolPartTypeToolSearchResult, p.ToolSearchResult
	}
	return out
}

// seenCall is a call of a tool in a message or a chunk of one. index is its place, nil if the chunk does not say it.
type seenCall struct {
	id, name, args string
	index          *int
}

// calls are the calls of tools in a message.
func (m Message) calls() (all []seenCall) {
	switch {
	case m.Chat != nil:
		if len(m.Chat.ToolCalls) > 0 {
			all = make([]seenCall, 0, len(m.Chat.ToolCalls))
		}
		for i := range m.Chat.ToolCalls {
			c := &m.Chat.ToolCalls[i]
			all = append(all, seenCall{c.ID, c.Function.Name, c.Function.Arguments, c.Index})
		}
	case m.Agentic != nil:
		for _, b := range m.Agentic.ContentBlocks {
			if b != nil && b.FunctionToolCall != nil {
				c := seenCall{id: b.FunctionToolCall.CallID, name: b.FunctionToolCall.Name, args: b.FunctionToolCall.Arguments}
				if b.StreamingMeta != nil {
					c.index = &b.StreamingMeta.Index
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// texts calls f for each text in a chunk that is not empty.
func (m Message) texts(f func(kind DeltaKind, text string)) {
	show := func(kind DeltaKind, text string) {
		if text != "" {
			f(kind, text)
		}
	}
	switch {
	case m.Chat != nil:
		show(Reasoning, m.Chat.ReasoningContent)
		show(Text, m.Chat.Content)
		for i := range m.Chat.AssistantGenMultiContent {
			show(Text, m.Chat.AssistantGenMultiContent[i].Text)
		}
	case m.Agentic != nil:
		for _, b := range m.Agentic.ContentBlocks {
			switch {
			case b == nil:
			case b.Reasoning != nil:
				show(Reasoning, b.Reasoning.Text)
			case b.AssistantGenText != nil:
				show(Text, b.AssistantGenText.Text)
			}
		}
	}
}

// answerChunks are the chunks of an answer. They are joined only if the run has not joined them, which it mostly has.
type answerChunks struct {
	chat    *[]*schema.Message // of spareChunks
	agentic []*schema.AgenticMessage
	// report: a chunk says what the call has used, or why it stopped.
	report bool
}

func (c *answerChunks) add(m Message) {
	switch {
	case m.Chat != nil:
		if c.chat == nil {
			c.chat = spareChunks.Get().(*[]*schema.Message)
		}
		*c.chat = append(*c.chat, m.Chat)
		c.report = c.report || m.Chat.ResponseMeta != nil
	case m.Agentic != nil:
		c.agentic = append(c.agentic, m.Agentic)
		c.report = c.report || m.Agentic.ResponseMeta != nil
	}
}

// spareChunks are empty slices.
var spareChunks = sync.Pool{New: func() any { return new([]*schema.Message) }}

// discard forgets the chunks.
func (c *answerChunks) discard() {
	if c.chat != nil && cap(*c.chat) <= 1<<14 {
		clear(*c.chat)
		*c.chat = (*c.chat)[:0]
		spareChunks.Put(c.chat)
	}
	*c = answerChunks{}
}

// message joins the chunks. Of none it is nothing.
func (c *answerChunks) message() (m Message, err error) {
	switch {
	case c.agentic != nil:
		m.Agentic, err = schema.ConcatAgenticMessages(c.agentic)
	case c.chat != nil:
		m.Chat, err = schema.ConcatMessages(*c.chat)
	}
	if err != nil {
		m = Message{}
	}
	return m, err
}

// finish is the reason for which the model stopped, and usage what it used, nil if it does not say it.
func (m Message) finish() (reason string, usage *runs.Usage) {
	switch {
	case m.Chat != nil && m.Chat.ResponseMeta != nil:
		return m.Chat.ResponseMeta.FinishReason, usageOf(m.Chat.ResponseMeta.Usage)
	case m.Agentic != nil && m.Agentic.ResponseMeta != nil:
		return "", usageOf(m.Agentic.ResponseMeta.TokenUsage)
	}
	return "", nil
}

func usageOf(u *schema.TokenUsage) *runs.Usage {
	if u == nil {
		return nil
	}
	return &runs.Usage{Input: u.PromptTokens, InputCached: u.PromptTokenDetails.CachedTokens,
		InputCacheWrite: u.PromptTokenDetails.CacheWriteTokens, Output: u.CompletionTokens,
		OutputReasoning: u.CompletionTokensDetails.ReasoningTokens, Total: u.TotalTokens}
}

// seenRequest is a request to a model, with messages of either kind. It shares its slices with the run.
type seenRequest struct {
	chat     []*schema.Message
	agentic  []*schema.AgenticMessage
	infos    []*schema.ToolInfo
	tools    []string // the names of infos
	model    string
	provider string
	settings *Settings
}

// seeRequest reads a request. What it has in common with the one before is shared.
func seeRequest(input callbacks.CallbackInput, before *seenRequest) (r seenRequest) {
	var settings Settings
	var known bool
	if in := model.ConvCallbackInput(input); in != nil {
		r.chat, r.infos = in.Messages, in.Tools
		if c := in.Config; c != nil {
			r.model, r.provider, known = c.Model, c.Provider, true
			settings = Settings{c.Temperature, c.TopP, c.MaxTokens, c.Stop}
		}
	} else if in := model.ConvAgenticCallbackInput(input); in != nil {
		r.agentic, r.infos = in.Messages, in.Tools
		if c := in.Config; c != nil {
			r.model, r.provider, known = c.Model, c.Provider, true
			settings = Settings{c.Temperature, c.TopP, c.MaxTokens, nil}
		}
	}
	if r.tools = before.tools; !slices.Equal(r.infos, before.infos) {
		r.tools = toolNames(r.infos)
	}
	if known {
		if r.settings = before.settings; r.settings == nil || !r.settings.equal(&settings) {
			own := settings
			r.settings = &own
		}
	}
	return r
}

func (s *Settings) equal(o *Settings) bool {
	return s.Temperature == o.Temperature && s.TopP == o.TopP && s.MaxTokens == o.MaxTokens && slices.Equal(s.Stop, o.Stop)
}

func toolNames(tools []*schema.ToolInfo) (names []string) {
	for _, t := range tools {
		if t != nil {
			names = append(names, t.Name)
		}
	}
	return names
}

// change returns the part of a request that the one before did not have.
func (r *seenRequest) change(before *seenRequest) Input {
	in := Input{}
	for in.Keep < min(len(r.chat), len(before.chat)) && r.chat[in.Keep] == before.chat[in.Keep] {
		in.Keep++
	}
	if r.agentic != nil {
		for in.Keep < min(len(r.agentic), len(before.agentic)) && r.agentic[in.Keep] == before.agentic[in.Keep] {
			in.Keep++
		}
		in.Add = messagesOf(r.agentic[in.Keep:])
		return in
	}
	in.Add = messagesOf(r.chat[in.Keep:])
	return in
}

// questionsOf returns the questions of an interrupt, with their calls as the log names them. callsIn makes what finds the names
// of the calls in an address, from the outermost on.
func questionsOf(info *adk.InterruptInfo, callsIn func() func(path []string, key string) string) []runs.Question {
	questions := adk.Questions(info)
	i := 0
	for _, c := range info.InterruptContexts {
		if c == nil || !c.IsRootCause {
			continue
		}
		var path []string
		callOf := callsIn()
		for _, s := range c.Address {
			switch s.Type {
			case adk.AddressSegmentAgent:
				path = append(path, s.ID)
			case adk.AddressSegmentTool: // an agent in it begins a path of its own
				questions[i].Call, path = callOf(path, s.SubID), nil
			}
		}
		i++
	}
	return questions
}

// What tools of other programs attach to the parts of a result: that it is an error, and the whole result as JSON, if it
// has more than the parts show (see ext/mcp).
const (
	errorKey  = "is_error"
	resultKey = "mcp.result"
)

// isErrorResult reports whether a tool says that its result is an error.
func isErrorResult(parts []schema.ToolOutputPart) bool {
	return slices.ContainsFunc(parts, func(p schema.ToolOutputPart) bool { return p.Extra[errorKey] == true })
}

// structuredIn is the structured content of a result, nil if it has none.
func structuredIn(parts []schema.ToolOutputPart) json.RawMessage {
	for i := range parts {
		text, ok := parts[i].Extra[resultKey].(string)
		if !ok {
			continue
		}
		var whole struct {
			StructuredContent json.RawMessage `json:"structuredContent"`
		}
		if json.Unmarshal([]byte(text), &whole) == nil {
			return whole.StructuredContent
		}
	}
	return nil
}

// jsonOf is a value as JSON, null if it cannot be encoded.
func jsonOf(v any) json.RawMessage {
	data, err := encode(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}
