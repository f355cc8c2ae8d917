package runlog

import (
	"context"
	"io"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/internal/runwatch"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/schema"
)

// handler is the callback handler of a recorder: it sees agents, models and tools start and end.
type handler struct{ *recorder }

var (
	_ callbacks.Handler       = (*handler)(nil)
	_ callbacks.TimingChecker = (*handler)(nil)
)

// Needed reports true for models, tools, and the starts of agents, whose events come another way; for nodes of graphs if
// they are asked for.
func (h *handler) Needed(_ context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming) bool {
	if info == nil {
		return false
	}
	switch info.Component {
	case adk.ComponentOfAgent, adk.ComponentOfAgenticAgent:
		return timing == callbacks.TimingOnStart
	case components.ComponentOfChatModel, components.ComponentOfAgenticModel, components.ComponentOfTool:
		return timing != callbacks.TimingOnStartWithStreamInput
	}
	return h.opts.Nodes
}

// OnStart opens a span.
func (h *handler) OnStart(ctx context.Context, info *callbacks.RunInfo, input callbacks.CallbackInput) context.Context {
	parent := h.spanIn(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.phase.takes() {
		return ctx
	}
	switch info.Component {
	case components.ComponentOfTool:
		return h.startTool(ctx, info, parent, input).context(ctx)
	case components.ComponentOfChatModel, components.ComponentOfAgenticModel:
		return h.startModel(info, parent, input).context(ctx)
	}
	if isNode(info) {
		return h.startNode(ctx, info, parent)
	}
	s := h.newSpan(agentSpan, parent)
	s.agent, s.typ = info.Name, info.Type
	return runwatch.With(s.context(ctx), s)
}

// startModel records the call of a model, with mu locked.
func (h *handler) startModel(info *callbacks.RunInfo, parent *span, input callbacks.CallbackInput) *span {
	start := &ModelStartData{Attempt: 1}
	var before seenRequest
	isAgents := parent != nil && parent.kind == agentSpan
	if isAgents {
		before = parent.asked
	}
	request := seeRequest(input, &before)
	start.Model, start.Provider, start.Tools, start.Params = request.model, request.provider, request.tools, request.settings
	if isAgents {
		parent.releaseBelow(true)
		if parent.model == nil {
			h.countCalls(request)
		}
		parent.attempts++
		start.Attempt, parent.asked = parent.attempts, request
	}
	start.Messages = request.change(&before)
	s := h.newSpan(modelSpan, parent)
	s.typ, s.start = info.Type, start
	if parent != nil {
		parent.model = s
	}
	e := s.of(ModelStart, start)
	e.T = s.since
	h.emit(e)
	return s
}

// countCalls counts the IDs of calls that were made before the run, in the messages that it begins with.
func (h *handler) countCalls(request seenRequest) {
	var used map[string]int
	count := func(m Message) {
		for _, c := range m.calls() {
			if used == nil {
				used = map[string]int{}
			}
			used[c.id]++
		}
	}
	for _, m := range request.chat {
		count(Message{Chat: m})
	}
	for _, m := range request.agentic {
		count(Message{Agentic: m})
	}
	if used != nil && h.calls == nil {
		h.calls = map[string]int{}
	}
	for id, n := range used {
		h.calls[id] = max(h.calls[id], n)
	}
}

// startTool records the call of a tool, with mu locked.
func (h *handler) startTool(
	ctx context.Context, info *callbacks.RunInfo, parent *span, input callbacks.CallbackInput,
) *span {
	s := h.newSpan(toolSpan, parent)
	s.callID, s.place = compose.GetToolCallID(ctx), compose.InternalToolCallPlace(ctx)
	if parent != nil && parent.kind == agentSpan {
		parent.releaseBelow(false)
		s.call = parent.callOf(s.place, s.callID)
	} else {
		s.call = s.newCall(s.callID)
	}
	start := &ToolStartData{Call: s.call, CallID: s.callID, Name: info.Name}
	if tools, ok := ctx.Value(runwatch.ToolsKey{}).(runwatch.Tools); ok {
		start.Idempotent = tools.Repeatable(info.Name)
	}
	if in := tool.ConvCallbackInput(input); in != nil {
		start.Args = in.ArgumentsInJSON
	}
	e := s.of(ToolStart, start)
	e.T = s.since
	h.emit(e)
	return s
}

// OnEnd ends a span with a whole value.
func (h *handler) OnEnd(ctx context.Context, info *callbacks.RunInfo, output callbacks.CallbackOutput) context.Context {
	if isNode(info) {
		h.endNode(ctx, nil)
	} else if s := h.spanIn(ctx); s != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if s.kind == toolSpan {
			s.endTool(resultOf(output), nil)
		} else {
			s.endModel(messageIn(output), nil)
		}
	}
	return ctx
}

// OnError ends a span with an error.
func (h *handler) OnError(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
	if isNode(info) {
		h.endNode(ctx, err)
	} else if s := h.spanIn(ctx); s != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if s.kind == toolSpan {
			s.endTool(nil, err)
		} else {
			s.endModel(Message{}, err)
		}
	}
	return ctx
}

// OnStartWithStreamInput opens the span of a node.
func (h *handler) OnStartWithStreamInput(
	ctx context.Context, info *callbacks.RunInfo, input *schema.StreamReader[callbacks.CallbackInput],
) context.Context {
	input.Close()
	if !isNode(info) {
		return ctx
	}
	return h.OnStart(ctx, info, nil)
}

// OnEndWithStreamOutput watches a stream while the run reads it.
func (h *handler) OnEndWithStreamOutput(
	ctx context.Context, info *callbacks.RunInfo, output *schema.StreamReader[callbacks.CallbackOutput],
) context.Context {
	s := h.spanIn(ctx)
	switch {
	case isNode(info):
		schema.Observe(output, nil, func(err error) { h.endNode(ctx, err) })
	case s == nil:
		output.Close()
	case s.kind == toolSpan:
		s.watchTool(output)
	default:
		s.watchModel(output)
	}
	return ctx
}

// endModel ends the call of a model, with mu locked. m is nothing for an answer in chunks: they are joined later, unless
// something else joins them.
func (s *span) endModel(m Message, err error) {
	e := &struct {
		ModelEndData
		message Message
	}{message: m}
	end := &e.ModelEndData
	if end.Error = errOf(err); !isNil(m) {
		end.Message = &e.message
	}
	if s.first > 0 {
		end.FirstMS = (s.first - s.since) / 1000
	}
	s.ended(s.of(ModelEnd, end))
}

// complete fills in what the end of the call of a model has from its message, with mu locked.
func (s *span) complete(end *ModelEndData) {
	if end.Message == nil {
		m, err := s.chunks.message()
		if err != nil {
			if end.Error == nil {
				end.Error = errOf(err)
			}
		} else if !isNil(m) {
			end.Message = &m
		}
	}
	if end.Message != nil && end.Usage == nil {
		end.Finish, end.Usage = end.Message.finish()
	}
	if end.Message != nil && end.Usage == nil && s.chunks.report { // a middleware has left it out
		if m, err := s.chunks.message(); err == nil {
			end.Finish, end.Usage = m.finish()
		}
	}
	s.chunks.discard()
}

// watchModel records the chunks of an answer.
func (s *span) watchModel(output *schema.StreamReader[callbacks.CallbackOutput]) {
	schema.ObserveBatches(output, s.see, func(err error) {
		s.rec.mu.Lock()
		defer s.rec.mu.Unlock()
		s.endModel(Message{}, err)
	})
}

// see records chunks of an answer that come at one time.
func (s *span) see(chunks []callbacks.CallbackOutput) {
	r := s.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.phase != spanOpen {
		return
	}
	now := r.now()
	if s.first == 0 {
		s.first = now.UnixMicro()
	}
	w, ok := s.beginPieces(now)
	if !ok {
		return
	}
	for _, chunk := range chunks {
		m := messageIn(chunk)
		s.chunks.add(m)
		s.record(&w, m)
	}
	r.seq = w.end()
}

// record records the pieces in a chunk, with mu locked.
func (s *span) record(w *pieceWriter, m Message) {
	if m.Chat != nil && len(m.Chat.ToolCalls) == 0 && len(m.Chat.AssistantGenMultiContent) == 0 { // most chunks
		if text := m.Chat.ReasoningContent; text != "" {
			w.add(s.kindOf(Reasoning), text)
		}
		if text := m.Chat.Content; text != "" {
			w.add(s.kindOf(Text), text)
		}
		return
	}
	m.texts(func(kind DeltaKind, text string) { w.add(s.kindOf(kind), text) })
	for _, c := range m.calls() {
		known := s.inChunks(c)
		of := known.args
		if c.name != "" { // it is shown once
			of = &ModelDeltaData{Kind: Args, Call: of.Call, Index: of.Index, Name: c.name}
		}
		w.add(of, c.args)
	}
}

// kindOf returns the data that texts of a kind share.
func (s *span) kindOf(kind DeltaKind) *ModelDeltaData {
	of := &s.text
	if kind == Reasoning {
		of = &s.reasoning
	}
	if *of == nil {
		*of = &ModelDeltaData{Kind: kind}
	}
	return *of
}

// inChunks is the call that a chunk belongs to, with mu locked: the one of its index, if it has one, or a new one.
func (s *span) inChunks(c seenCall) *answerCall {
	for i := range s.inAnswer {
		if known := &s.inAnswer[i]; c.index != nil && *c.index == known.index {
			if known.id == "" {
				known.id = c.id
			}
			return known
		}
	}
	known := answerCall{index: -1 - len(s.inAnswer), id: c.id} // which no chunk has
	if c.index != nil {
		known.index = *c.index
	}
	known.call = s.newCall(c.id)
	index := len(s.inAnswer)
	if c.index != nil {
		index = *c.index
	}
	known.args = &ModelDeltaData{Kind: Args, Call: known.call, Index: &index}
	s.inAnswer = append(s.inAnswer, known)
	s.answers()
	return &s.inAnswer[len(s.inAnswer)-1]
}

// messageIn is the message of a payload of a model.
func messageIn(output callbacks.CallbackOutput) Message {
	if out := model.ConvCallbackOutput(output); out != nil && out.Message != nil {
		return Message{Chat: out.Message}
	}
	if out := model.ConvAgenticCallbackOutput(output); out != nil && out.Message != nil {
		return Message{Agentic: out.Message}
	}
	return Message{}
}

// resultOf are the parts in a payload of a tool.
func resultOf(output callbacks.CallbackOutput) []schema.ToolOutputPart {
	out := tool.ConvCallbackOutput(output)
	switch {
	case out == nil:
		return nil
	case out.ToolOutput != nil:
		return out.ToolOutput.Parts
	}
	return textParts(out.Response)
}

// endTool ends the call of a tool, with mu locked.
func (s *span) endTool(parts []schema.ToolOutputPart, err error) {
	s.ended(s.of(ToolEnd, &ToolEndData{Call: s.call, Parts: parts, Error: errOf(err), IsError: isErrorResult(parts),
		Structured: structuredIn(parts)}))
}

// streams marks the call of a tool as one whose result is a stream.
const streams = -1

// watchTool records the chunks of a result.
func (s *span) watchTool(output *schema.StreamReader[callbacks.CallbackOutput]) {
	s.rec.mu.Lock()
	s.first = streams
	s.rec.mu.Unlock()
	var chunks []*schema.ToolResult
	schema.Observe(output, func(chunk callbacks.CallbackOutput) {
		parts := resultOf(chunk)
		chunks = append(chunks, &schema.ToolResult{Parts: parts})
		s.rec.mu.Lock()
		defer s.rec.mu.Unlock()
		if s.phase != spanOpen {
			return
		}
		d := &ToolDeltaData{Call: s.call, Parts: parts}
		if text, only := onlyText(parts); only {
			d.Parts, d.Text = nil, text
		}
		s.rec.emit(s.of(ToolDelta, d))
	}, func(err error) {
		result := &schema.ToolResult{Parts: textParts("")}
		if len(chunks) > 0 {
			var joinErr error
			if result, joinErr = schema.ConcatToolResults(chunks); joinErr != nil && err == nil {
				err = joinErr
			}
		}
		s.rec.mu.Lock()
		defer s.rec.mu.Unlock()
		if err != nil && err != io.EOF || result == nil {
			s.endTool(nil, err)
			return
		}
		s.endTool(result.Parts, nil)
	})
}
