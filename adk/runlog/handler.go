package runlog

import (
	"context"
	"io"
	"time"

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

// Needed reports true for models, tools, and the starts of agents: their events come another way.
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
	return false
}

// OnStart opens a span.
func (h *handler) OnStart(ctx context.Context, info *callbacks.RunInfo, input callbacks.CallbackInput) context.Context {
	parent := h.spanIn(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != recordBegun {
		return ctx
	}
	switch info.Component {
	case components.ComponentOfTool:
		return &spanContext{ctx, h.startTool(ctx, info, parent, input)}
	case components.ComponentOfChatModel, components.ComponentOfAgenticModel:
		return &spanContext{ctx, h.startModel(info, parent, input)}
	}
	s := h.newSpan(agentSpan, parent)
	s.agent, s.typ = info.Name, info.Type
	return runwatch.With(&spanContext{ctx, s}, s)
}

// startModel records the call of a model, with mu locked.
func (h *handler) startModel(info *callbacks.RunInfo, parent *span, input callbacks.CallbackInput) *span {
	start := &ModelStartData{Attempt: 1}
	request := seeRequest(input)
	start.Model, start.Provider, start.Tools, start.Params = request.model, request.provider, request.tools, request.settings
	before := seenRequest{}
	if parent != nil && parent.kind == agentSpan {
		parent.releaseBelow(true)
		if parent.model == nil {
			h.countCalls(request)
		}
		parent.attempts++
		start.Attempt, before, parent.asked = parent.attempts, parent.asked, request
	}
	start.Messages = request.change(&before)
	s := h.newSpan(modelSpan, parent)
	s.typ = info.Type
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
	used := map[string]int{}
	count := func(m Message) {
		for _, c := range m.calls() {
			used[c.id]++
		}
	}
	for _, m := range request.chat {
		count(Message{Chat: m})
	}
	for _, m := range request.agentic {
		count(Message{Agentic: m})
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
	s.callID = compose.GetToolCallID(ctx)
	if parent != nil && parent.kind == agentSpan {
		parent.releaseBelow(false)
		s.call = parent.callOf(s.callID)
	} else {
		s.call = s.newCall(s.callID)
	}
	start := &ToolStartData{Call: s.call, CallID: s.callID, Name: info.Name}
	if in := tool.ConvCallbackInput(input); in != nil {
		start.Args = in.ArgumentsInJSON
	}
	e := s.of(ToolStart, start)
	e.T = s.since
	h.emit(e)
	return s
}

// OnEnd ends a span with a whole value.
func (h *handler) OnEnd(ctx context.Context, _ *callbacks.RunInfo, output callbacks.CallbackOutput) context.Context {
	if s := h.spanIn(ctx); s != nil {
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
func (h *handler) OnError(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
	if s := h.spanIn(ctx); s != nil {
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

// OnStartWithStreamInput does nothing.
func (h *handler) OnStartWithStreamInput(
	ctx context.Context, _ *callbacks.RunInfo, input *schema.StreamReader[callbacks.CallbackInput],
) context.Context {
	input.Close()
	return ctx
}

// OnEndWithStreamOutput watches a stream while the run reads it.
func (h *handler) OnEndWithStreamOutput(
	ctx context.Context, _ *callbacks.RunInfo, output *schema.StreamReader[callbacks.CallbackOutput],
) context.Context {
	s := h.spanIn(ctx)
	switch {
	case s == nil:
		output.Close()
	case s.kind == toolSpan:
		s.watchTool(output)
	default:
		s.watchModel(output)
	}
	return ctx
}

// endModel ends the call of a model, with mu locked.
func (s *span) endModel(m Message, err error) {
	end := &ModelEndData{Error: errOf(err)}
	if !isNil(m) {
		end.Message = &m
		end.Finish, end.Usage = m.finish()
	}
	if s.first > 0 {
		end.FirstMS = (s.first - s.since) / 1000
	}
	s.ended(s.of(ModelEnd, end))
}

// watchModel records the chunks of an answer.
func (s *span) watchModel(output *schema.StreamReader[callbacks.CallbackOutput]) {
	var chat schema.MessageAccumulator
	var agentic *schema.AgenticMessageAccumulator
	schema.Observe(output, func(chunk callbacks.CallbackOutput) {
		m := messageIn(chunk)
		switch {
		case m.Chat != nil:
			_ = chat.Add(m.Chat)
		case m.Agentic != nil:
			if agentic == nil {
				agentic = new(schema.AgenticMessageAccumulator)
			}
			_ = agentic.Add(m.Agentic)
		}
		s.rec.mu.Lock()
		defer s.rec.mu.Unlock()
		s.chunk(m)
	}, func(err error) {
		var m Message
		var joinErr error
		if agentic != nil {
			m.Agentic, joinErr = agentic.Message()
		} else {
			m.Chat, joinErr = chat.Message()
		}
		if joinErr != nil {
			m = Message{}
			if err == nil {
				err = joinErr
			}
		}
		s.rec.mu.Lock()
		defer s.rec.mu.Unlock()
		s.endModel(m, err)
	})
}

// chunk records a chunk of an answer, with mu locked.
func (s *span) chunk(m Message) {
	if s.phase != spanOpen {
		return
	}
	now := time.Now().UnixMicro()
	if s.first == 0 {
		s.first = now
	}
	delta := func(d *ModelDeltaData) {
		e := s.of(ModelDelta, d)
		e.T = now
		s.rec.emit(e)
	}
	m.pieces(func(kind DeltaKind, text string) { delta(&ModelDeltaData{Kind: kind, Text: text}) })
	for _, c := range m.calls() {
		known := s.inChunks(c)
		d := &ModelDeltaData{Kind: Args, Text: c.args, Call: known.call, Index: &known.index, Name: c.name}
		delta(d)
	}
}

// inChunks is the call that a chunk belongs to, with mu locked: one that is there, or a new one.
func (s *span) inChunks(c seenCall) *answerCall {
	for i := range s.inAnswer {
		known := &s.inAnswer[i]
		if c.index != nil && *c.index == known.index || c.index == nil && c.id != "" && c.id == known.id {
			return known
		}
	}
	known := answerCall{index: len(s.inAnswer), id: c.id, name: c.name}
	if c.index != nil {
		known.index = *c.index
	}
	known.call = s.newCall(c.id)
	s.inAnswer = append(s.inAnswer, known)
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
	s.ended(s.of(ToolEnd, &ToolEndData{Call: s.call, Parts: parts, Error: errOf(err)}))
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
