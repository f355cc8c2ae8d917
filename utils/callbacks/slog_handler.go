package callbacks

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// SlogOptions configures [NewSlogHandler]. nil stands for its zero value.
type SlogOptions struct {
	// ErrorText adds the texts of errors to the records, under "error". They may hold parts of prompts, arguments and
	// results, which the records have nothing of otherwise.
	ErrorText bool
}

// NewSlogHandler makes a callback handler that writes one record at the end of every call of a model, call of a tool
// and run of an agent, with names, duration and, of models, tokens: at level Info, and at Warn with "error_type" if it
// failed. The starts are written at level Debug. Nothing of prompts, answers, arguments and results is written.
//
//	model call    agent=desk type=OpenAI model=… duration=1.2s streamed=true input_tokens=812 output_tokens=64 …
//	tool call     agent=desk tool=search call_id=… duration=80ms
//	agent run     agent=desk duration=1.4s
//
// "agent" is the path of agents down to the one that calls: desk/billing. A stream is timed to its end, without a
// goroutine of its own; one that its reader closed before is marked "closed_early". A call of a model that is made again
// has "attempt", from 2 on. An interrupt is no error: it is marked "interrupted".
//
// The handler is safe for concurrent use, and the run waits for the logger. A panic of the logger loses the record, and
// does nothing else. The record of an agent is written by a goroutine of its own, a moment after the agent's last event.
// A nil logger stands for slog.Default().
func NewSlogHandler(logger *slog.Logger, options *SlogOptions) callbacks.Handler {
	h := &slogHandler{logger: logger}
	if h.logger == nil {
		h.logger = slog.Default()
	}
	if options != nil {
		h.options = *options
	}
	return h
}

type slogHandler struct {
	logger  *slog.Logger
	options SlogOptions
}

// Needed implements [callbacks.TimingChecker].
func (h *slogHandler) Needed(_ context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming) bool {
	return kindOf(info) != "" && timing != callbacks.TimingOnStartWithStreamInput
}

// kindOf is the first word of a record, "" for what is not written.
func kindOf(info *callbacks.RunInfo) string {
	if info == nil {
		return ""
	}
	switch info.Component {
	case components.ComponentOfChatModel, components.ComponentOfAgenticModel:
		return "model call"
	case components.ComponentOfTool:
		return "tool call"
	case adk.ComponentOfAgent, adk.ComponentOfAgenticAgent:
		return "agent run"
	}
	return ""
}

// slogRun is one run of a component, from its start on.
type slogRun struct {
	handler *slogHandler
	ctx     context.Context
	kind    string
	start   time.Time
	info    *callbacks.RunInfo
	model   string
}

type slogRunKey struct{ handler *slogHandler }

// OnStart implements [callbacks.Handler].
func (h *slogHandler) OnStart(
	ctx context.Context, info *callbacks.RunInfo, input callbacks.CallbackInput,
) context.Context {
	kind := kindOf(info)
	if kind == "" {
		return ctx
	}
	r := &slogRun{handler: h, kind: kind, start: time.Now(), info: info, model: modelIn(input)}
	r.ctx = context.WithValue(ctx, slogRunKey{h}, r)
	r.began()
	return r.ctx
}

// began writes the record of the start.
func (r *slogRun) began() {
	defer guard()
	if l := r.handler.logger; l.Enabled(r.ctx, slog.LevelDebug) {
		l.LogAttrs(r.ctx, slog.LevelDebug, r.kind+" starts", r.names()...)
	}
}

// guard ends a panic of a logger, of an error or of a value that is logged.
func guard() { _ = recover() }

// run returns what OnStart has left.
func (h *slogHandler) run(ctx context.Context, info *callbacks.RunInfo) *slogRun {
	r, _ := ctx.Value(slogRunKey{h}).(*slogRun)
	if r == nil || r.info != info { // a component that ends without a start, inside another
		return &slogRun{handler: h, kind: kindOf(info), start: time.Now(), info: info, ctx: ctx}
	}
	return r
}

// OnEnd implements [callbacks.Handler].
func (h *slogHandler) OnEnd(
	ctx context.Context, info *callbacks.RunInfo, output callbacks.CallbackOutput,
) context.Context {
	if kindOf(info) == "" {
		return ctx
	}
	r := h.run(ctx, info)
	switch out := output.(type) {
	case *adk.AgentCallbackOutput: // the agent has begun to emit events
		go readAgent(r, out.Events)
	case *adk.AgenticCallbackOutput:
		go readAgent(r, out.Events)
	default:
		var a modelAnswer
		a.add(output)
		r.answered(&a, nil)
	}
	return ctx
}

// OnError implements [callbacks.Handler].
func (h *slogHandler) OnError(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
	if kindOf(info) != "" {
		h.run(ctx, info).end(err)
	}
	return ctx
}

// OnStartWithStreamInput implements [callbacks.Handler].
func (h *slogHandler) OnStartWithStreamInput(
	ctx context.Context, _ *callbacks.RunInfo, input *schema.StreamReader[callbacks.CallbackInput],
) context.Context {
	input.Close()
	return ctx
}

// OnEndWithStreamOutput implements [callbacks.Handler].
func (h *slogHandler) OnEndWithStreamOutput(
	ctx context.Context, info *callbacks.RunInfo, output *schema.StreamReader[callbacks.CallbackOutput],
) context.Context {
	if kindOf(info) == "" {
		output.Close()
		return ctx
	}
	r := h.run(ctx, info)
	a := &modelAnswer{streamed: true}
	schema.Observe(output, a.add, func(err error) {
		if errors.Is(err, schema.ErrRecvAfterClosed) {
			r.answered(a, nil, slog.Bool("closed_early", true))
			return
		}
		r.answered(a, err)
	})
	return ctx
}

// readAgent reads the events of an agent to their end.
func readAgent[M adk.MessageType](r *slogRun, events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]) {
	defer events.Close()
	var err error
	var attrs []slog.Attr
	for event := range events.All() {
		if event.Err != nil {
			err = event.Err
		}
		if event.Output != nil && event.Output.MessageOutput != nil {
			event.Output.MessageOutput.MessageStream.Close()
		}
		if len(event.RunPath) > 0 && event.AgentName != r.info.Name || event.Action == nil {
			continue
		}
		if event.Action.Interrupted != nil {
			attrs = []slog.Attr{slog.Bool("interrupted", true)}
		} else if to := event.Action.TransferToAgent; to != nil {
			attrs = []slog.Attr{slog.String("transfer_to", to.DestAgentName)}
		}
	}
	r.end(err, attrs...)
}

// names are the attributes that say what runs.
func (r *slogRun) names() []slog.Attr {
	attrs := make([]slog.Attr, 0, 12)
	path := agentPath(r.ctx)
	if r.kind == "agent run" && !strings.HasSuffix("/"+path, "/"+r.info.Name) {
		path = strings.TrimPrefix(path+"/"+r.info.Name, "/")
	}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add("agent", path)
	switch r.kind {
	case "model call":
		add("node", r.info.Name)
		typ, _, _ := strings.Cut(r.info.Type, "[") // without type parameters
		add("type", typ)
		add("model", r.model)
		if n := adk.ModelAttempt(r.ctx); n > 1 {
			attrs = append(attrs, slog.Int("attempt", n))
		}
	case "tool call":
		add("tool", r.info.Name)
		add("call_id", compose.GetToolCallID(r.ctx))
	}
	return attrs
}

// agentPath has the agents around the code that ctx is of, the outermost first.
func agentPath(ctx context.Context) string {
	var names []string
	for _, segment := range compose.GetCurrentAddress(ctx) {
		if segment.Type == adk.AddressSegmentAgent {
			names = append(names, segment.ID)
		}
	}
	return strings.Join(names, "/")
}

// answered writes the record of a call that has answered.
func (r *slogRun) answered(a *modelAnswer, err error, attrs ...slog.Attr) {
	r.model = cmp.Or(a.Model, a.Configured, r.model)
	r.end(err, append(a.attrs(), attrs...)...)
}

// end writes the record.
func (r *slogRun) end(err error, attrs ...slog.Attr) {
	defer guard()
	level, h := slog.LevelInfo, r.handler
	switch {
	case err == nil:
	case adk.IsInterrupt(err):
		attrs = append(attrs, slog.Bool("interrupted", true))
	default:
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("error_type", adk.ErrorType(err)))
		if h.options.ErrorText {
			attrs = append(attrs, slog.String("error", err.Error()))
		}
	}
	if !h.logger.Enabled(r.ctx, level) {
		return
	}
	all := append(r.names(), slog.Duration("duration", time.Since(r.start)))
	h.logger.LogAttrs(r.ctx, level, r.kind, append(all, attrs...)...)
}

// modelAnswer holds what a record says of the answer of a model.
type modelAnswer struct {
	ModelAnswer
	streamed bool
}

func (a *modelAnswer) add(output callbacks.CallbackOutput) { a.Add(output) }

func (a *modelAnswer) attrs() (attrs []slog.Attr) {
	if a.streamed {
		attrs = append(attrs, slog.Bool("streamed", true))
	}
	if a.FinishReason != "" {
		attrs = append(attrs, slog.String("finish_reason", a.FinishReason))
	}
	if a.ToolCalls() > 0 {
		attrs = append(attrs, slog.Int("tool_calls", a.ToolCalls()))
	}
	if a.Usage == nil {
		return attrs
	}
	attrs = append(attrs,
		slog.Int("input_tokens", a.Usage.PromptTokens), slog.Int("output_tokens", a.Usage.CompletionTokens))
	for _, more := range []struct {
		key string
		n   int
	}{
		{"cached_tokens", a.Usage.PromptTokenDetails.CachedTokens},
		{"cache_write_tokens", a.Usage.PromptTokenDetails.CacheWriteTokens},
		{"reasoning_tokens", a.Usage.CompletionTokensDetails.ReasoningTokens},
	} {
		if more.n > 0 {
			attrs = append(attrs, slog.Int(more.key, more.n))
		}
	}
	return attrs
}

// modelIn is the model that a call was asked for.
func modelIn(input callbacks.CallbackInput) string {
	if in := model.ConvCallbackInput(input); in != nil && in.Config != nil {
		return in.Config.Model
	}
	if in := model.ConvAgenticCallbackInput(input); in != nil && in.Config != nil {
		return in.Config.Model
	}
	return ""
}
