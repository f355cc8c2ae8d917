package openaiapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/said"
)

// chatRequest is the body of a request for a chat completion. Members that are not here are ignored.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           *int              `json:"max_tokens"`
	MaxCompletionTokens *int              `json:"max_completion_tokens"`
	Temperature         *float32          `json:"temperature"`
	TopP                *float32          `json:"top_p"`
	Stop                json.RawMessage   `json:"stop"`
	N                   *int              `json:"n"`
	Metadata            map[string]string `json:"metadata"`
	ResponseFormat      *jsonFormat       `json:"response_format"`
	Tools               []struct {
		Type     string           `json:"type"`
		Function serve.ClientTool `json:"function"`
	} `json:"tools"`
}

// start returns the start of the run that the request asks for.
func (q *chatRequest) start(allowSystem bool) (start serve.Start, err error) {
	if q.N != nil && *q.N != 1 {
		return start, serve.NewProblem(serve.BadRequest, "n must be 1: an agent gives one answer")
	}
	labels, err := labelsOf(q.Metadata)
	if err != nil {
		return start, err
	}
	start = serve.Start{Agent: q.Model, TrustHistory: true, Labels: labels,
		Sampling: serve.Sampling{Temperature: q.Temperature, TopP: q.TopP, MaxTokens: q.MaxCompletionTokens}}
	if start.Sampling.MaxTokens == nil {
		start.Sampling.MaxTokens = q.MaxTokens
	}
	if start.Sampling.Stop, err = stops(q.Stop); err != nil {
		return start, err
	}
	if start.Format, err = q.ResponseFormat.format("response_format"); err != nil {
		return start, err
	}
	if start.Messages, err = messagesOf(q.Messages, allowSystem); err != nil {
		return start, err
	}
	for _, t := range q.Tools {
		if t.Type != "function" {
			return start, serve.NewProblem(serve.BadRequest, "tools of clients are of type function")
		}
		start.ClientTools = append(start.ClientTools, t.Function)
	}
	if thread := q.Metadata["thread"]; thread != "" { // the server has the history: what is new is the last message
		start.Thread, start.TrustHistory = thread, false
		if n := len(start.Messages); n > 0 {
			start.Messages = start.Messages[n-1:]
		}
	}
	return start, nil
}

// stops reads one stop, or several.
func stops(raw json.RawMessage) (all []string, err error) {
	var one string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil
	case json.Unmarshal(raw, &one) == nil:
		return []string{one}, nil
	case json.Unmarshal(raw, &all) == nil:
		return all, nil
	}
	return nil, serve.NewProblem(serve.BadRequest, "stop is a text, or a list of texts")
}

// results returns the results of calls that the client has carried out, if the messages end with some: the run that waits
// for them, and the answers.
func (q *chatRequest) results() (run string, answers map[string]json.RawMessage) {
	for i := len(q.Messages) - 1; i >= 0 && q.Messages[i].Role == "tool"; i-- {
		of, point, ours := ourCall(q.Messages[i].ToolCallID)
		text, _, err := contentOf(q.Messages[i].Content)
		if !ours || err != nil || run != "" && of != run {
			return "", nil
		}
		if answers == nil {
			answers = map[string]json.RawMessage{}
		}
		run, answers[point] = of, serve.CallReply(text, false)
	}
	return run, answers
}

// begin starts the run of a request, or continues the one that it answers. Events up to behind belong to earlier answers.
func (h *handler) begin(
	ctx context.Context, c *serve.Caller, q *chatRequest, key string,
) (run serve.Run, behind uint64, err error) {
	if id, answers := q.results(); id != "" {
		if run, err = c.Reply(ctx, id, answers, false); err == nil || !isGone(err) {
			return run, run.Token, err
		}
	}
	start, err := q.start(h.conf.AllowSystem)
	if err != nil {
		return run, 0, err
	}
	if h.conf.AnswerByText && start.Thread != "" && len(start.Messages) == 1 {
		if run, said, err := h.answerByText(ctx, c, start.Thread, start.Messages[0].Content); said || err != nil {
			return run, run.Token, err
		}
	}
	start.IdempotencyKey = key
	run, err = c.Start(ctx, start)
	return run, 0, err
}

// answerByText takes yes and no for the answer to the approvals that a thread waits for.
func (h *handler) answerByText(ctx context.Context, c *serve.Caller, thread, text string) (run serve.Run, said bool, err error) {
	word := strings.ToLower(strings.Trim(text, " \t\r\n.!"))
	if word != "yes" && word != "no" {
		return run, false, nil
	}
	run, exists, err := c.LastRun(ctx, thread)
	if err != nil || !exists || run.Status != runs.Waiting {
		return run, false, err
	}
	answers := map[string]json.RawMessage{}
	for _, q := range run.Questions {
		if q.Kind != runs.KindApproval {
			return run, false, nil
		}
		answers[q.ID] = json.RawMessage(`{"approve":` + map[string]string{"yes": "true", "no": "false"}[word] + `}`)
	}
	run, err = c.Reply(ctx, run.ID, answers, false)
	return run, true, err
}

func (h *handler) chat(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
	var q chatRequest
	if err := h.decode(r, &q); err != nil {
		return err
	}
	format, err := q.ResponseFormat.format("response_format")
	if err != nil {
		return err
	}
	run, behind, err := h.begin(r.Context(), c, &q, r.Header.Get("Idempotency-Key"))
	if err != nil {
		return err
	}
	a := &chatCompletion{id: "chatcmpl-" + run.ID, run: run.ID, model: q.Model, created: run.Created.Unix(),
		showWork: h.conf.ShowWork, streams: q.Stream, showUsage: q.StreamOptions.IncludeUsage}
	if q.Stream {
		return h.stream(w, r, c, run.ID, behind, formattedAs(format, a), &a.frames)
	}
	if err := h.read(r.Context(), c, run.ID, behind, formattedAs(format, a)); err != nil {
		return err
	}
	if a.ended.err != nil {
		return serve.NewProblem(serve.Internal, "%s", a.ended.err.Message)
	}
	serve.SendJSON(w, http.StatusOK, a.object())
	return nil
}

// read reads a run to where it ends or waits. It stops the run when the client goes away.
func (h *handler) read(ctx context.Context, c *serve.Caller, run string, behind uint64, to reader) error {
	o := newOutline(to)
	for e, err := range c.Watch(ctx, run, runs.Cursor{}) {
		if err != nil {
			if ctx.Err() != nil {
				_ = c.Stop(context.WithoutCancel(ctx), run, serve.StopRequest{Now: true, Reason: "the client has gone away"})
			}
			return err
		}
		if e.Token <= behind {
			continue
		}
		if o.add(&e); e.Type == runlog.RunEnd {
			return nil
		}
	}
	return &serve.Problem{Code: serve.Internal, Title: "the run has no end"}
}

// writer writes a stream of an API.
type writer interface {
	reader
	// broken ends a stream that cannot be continued.
	broken(p *serve.Problem)
}

// stream writes a run to where it ends or waits. It stops the run when the client goes away. out has the frames that to
// writes to.
func (h *handler) stream(
	w http.ResponseWriter, r *http.Request, c *serve.Caller, run string, behind uint64, to writer, out **serve.Frames,
) error {
	o := newOutline(to)
	return h.server.Stream(w, r, c, serve.StreamConfig{Run: run, OnDisconnect: serve.CancelAfter(0), AfterToken: behind,
		Translate: func(e *runlog.Event, frames *serve.Frames) {
			if *out = frames; e.Token > behind {
				o.add(e)
			}
		},
		Broken: func(p *serve.Problem, frames *serve.Frames) {
			*out = frames
			to.broken(p)
		}})
}

// chatCompletion is an answer, of pieces that are streamed, or sent when it is whole.
type chatCompletion struct {
	id, run, model string
	created        int64
	// showWork: the client is shown how the agent comes to its answer. showUsage: a stream ends with the usage.
	showWork, showUsage bool
	streams             bool
	frames              *serve.Frames
	begun               bool
	content, reasoning  strings.Builder
	// Of the end: how the run has ended, why the answer ends, and the calls that the client is to carry out.
	ended  ending
	reason string
	calls  []map[string]any
}

// usageOf is the usage of a run.
func usageOf(u runs.Usage) map[string]any {
	return map[string]any{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Total,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.InputCached},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.OutputReasoning}}
}

// clientCall is the call that a question is about.
func clientCall(p runs.Question) (call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}) {
	_ = json.Unmarshal(p.Info, &call)
	return call
}

// separator stands between the messages of an agent, which are one message here.
const separator = "\n\n"

func (a *chatCompletion) message() {
	if a.content.Len() > 0 {
		a.text(separator)
	}
}

func (a *chatCompletion) text(piece string) {
	a.content.WriteString(piece)
	a.chunk(map[string]any{"content": piece}, nil)
}

func (a *chatCompletion) work(piece string) {
	if a.showWork {
		a.reasoning.WriteString(piece)
		a.chunk(map[string]any{"reasoning_content": piece}, nil)
	}
}

func (a *chatCompletion) end(e ending) {
	if e.status == runs.Paused && e.err == nil { // what there is must not pass for the whole answer
		e.err = &runlog.Err{Type: "cancelled", Message: "the run was stopped"}
	}
	a.ended, a.reason = e, "stop"
	switch {
	case e.err != nil:
		a.broken(serve.NewProblem(serve.Internal, "%s", e.err.Message))
		return
	case e.status == runs.Waiting && len(clientCalls(e.points)) > 0:
		a.reason = "tool_calls"
		for i, p := range e.points {
			call := clientCall(p)
			a.calls = append(a.calls, map[string]any{"index": i, "id": toolCallID(a.run, p.ID), "type": "function",
				"function": map[string]any{"name": call.Name, "arguments": call.Arguments}})
		}
		a.chunk(map[string]any{"tool_calls": a.calls}, nil)
	case e.status == runs.Waiting:
		if words := question(e.points); words != "" {
			a.message()
			a.text(words)
		}
	case e.finish == said.Cut:
		a.reason = "length"
	case e.finish == said.Filtered:
		a.reason = "content_filter"
	}
	a.chunk(map[string]any{}, a.reason)
	if a.showUsage {
		a.send(a.named(map[string]any{"object": "chat.completion.chunk", "choices": []any{}, "usage": usageOf(e.usage)}, false))
	}
	a.done()
}

// named adds to an object what all of an answer have: with questions, also a member by which a client finds them.
func (a *chatCompletion) named(object map[string]any, withQuestions bool) map[string]any {
	object["id"], object["created"], object["model"] = a.id, a.created, a.model
	if withQuestions && a.ended.status == runs.Waiting {
		object["weft"] = map[string]any{"run": a.run, "interrupts": a.ended.points}
	}
	return object
}

// object is the whole answer.
func (a *chatCompletion) object() map[string]any {
	message := map[string]any{"role": "assistant", "content": a.content.String(), "refusal": nil}
	if a.calls != nil {
		message["tool_calls"] = a.calls
	}
	if a.reasoning.Len() > 0 {
		message["reasoning_content"] = a.reasoning.String()
	}
	choice := map[string]any{"index": 0, "message": message, "finish_reason": a.reason, "logprobs": nil}
	return a.named(map[string]any{"object": "chat.completion", "choices": []any{choice}, "usage": usageOf(a.ended.usage)}, true)
}

// chunk sends a piece of a stream, the last one with why it ends.
func (a *chatCompletion) chunk(delta map[string]any, reason any) {
	if !a.begun {
		a.begun = true
		a.chunk(map[string]any{"role": "assistant", "content": ""}, nil)
	}
	choice := map[string]any{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": nil}
	chunk := map[string]any{"object": "chat.completion.chunk", "choices": []any{choice}}
	a.send(a.named(chunk, reason != nil))
}

func (a *chatCompletion) send(value any) {
	if a.streams {
		a.frames.SendJSON("", "", value)
	}
}

func (a *chatCompletion) done() {
	if a.streams {
		a.frames.Send("", "", []byte("[DONE]"))
	}
}

func (a *chatCompletion) broken(p *serve.Problem) { a.send(errorOf(p)) }
