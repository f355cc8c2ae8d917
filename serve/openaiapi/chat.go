package openaiapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/serve"
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
	ResponseFormat      *struct {
		Type string `json:"type"`
	} `json:"response_format"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

// start is the run that the request asks for.
func (q *chatRequest) start(allowSystem bool) (start serve.Start, err error) {
	if q.N != nil && *q.N != 1 {
		return start, badRequest("n must be 1: an agent gives one answer")
	}
	if f := q.ResponseFormat; f != nil && f.Type != "text" && f.Type != "" {
		return start, badRequest("response_format must be text: what an agent answers with is decided by the agent")
	}
	start = serve.Start{Agent: q.Model, TrustHistory: true, Labels: q.Metadata,
		Sampling: serve.Sampling{Temperature: q.Temperature, TopP: q.TopP, MaxTokens: q.MaxCompletionTokens}}
	if start.Sampling.MaxTokens == nil {
		start.Sampling.MaxTokens = q.MaxTokens
	}
	if start.Sampling.Stop, err = stops(q.Stop); err != nil {
		return start, err
	}
	if start.Messages, err = messagesOf(q.Messages, allowSystem); err != nil {
		return start, err
	}
	for _, t := range q.Tools {
		if t.Type != "function" {
			return start, badRequest("tools of clients are of type function")
		}
		start.ClientTools = append(start.ClientTools, clientTool(t.Function.Name, t.Function.Description, t.Function.Parameters))
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
	return nil, badRequest("stop is a text, or a list of texts")
}

// results are those of calls that the client has carried out, if the messages end with some: the run that waits for
// them, and the answers.
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
		run, answers[point] = of, textAnswer(text)
	}
	return run, answers
}

// begin starts the run of a request, or continues the one that it answers. Events up to behind belong to earlier answers.
func (h *handler) begin(ctx context.Context, c *serve.Caller, q *chatRequest) (run serve.Run, behind uint64, err error) {
	if id, answers := q.results(); id != "" {
		if run, err = c.Answer(ctx, id, answers, false); err == nil || !isGone(err) {
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
	if err != nil || !exists || run.Status != serve.Waiting {
		return run, false, err
	}
	answers := map[string]json.RawMessage{}
	for _, q := range run.Questions {
		if q.Kind != string(runlog.Approval) {
			return run, false, nil
		}
		answers[q.ID] = json.RawMessage(`{"approve":` + map[string]string{"yes": "true", "no": "false"}[word] + `}`)
	}
	run, err = c.Answer(ctx, run.ID, answers, false)
	return run, true, err
}

func (h *handler) chat(w http.ResponseWriter, r *http.Request) {
	var q chatRequest
	c, err := h.decode(r, &q)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	run, behind, err := h.begin(r.Context(), c, &q)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	answer := &chatAnswer{id: "chatcmpl-" + run.ID, run: run.ID, model: q.Model, created: run.Created.Unix(), showWork: h.conf.ShowWork}
	if q.Stream {
		stream := &chatStream{chatAnswer: answer, usage: q.StreamOptions.IncludeUsage}
		h.stream(w, r, c, run.ID, behind, stream, &stream.frames)
		return
	}
	whole := &chatWhole{chatAnswer: answer}
	if err := h.read(r.Context(), c, run.ID, behind, whole); err != nil {
		h.fail(w, r, err)
		return
	}
	if whole.ended.err != nil {
		refuse(w, &serve.Problem{Code: serve.Internal, Title: whole.ended.err.Message})
		return
	}
	serve.SendJSON(w, http.StatusOK, whole.completion())
}

// read reads a run to where it ends or waits. It stops the run when the client goes away.
func (h *handler) read(ctx context.Context, c *serve.Caller, run string, behind uint64, to reader) error {
	o := newOutline(to)
	for e, err := range c.Events(ctx, run, runlog.Cursor{}) {
		if err != nil {
			if ctx.Err() != nil {
				_ = c.Cancel(context.WithoutCancel(ctx), run, serve.CancelRequest{Now: true, Reason: "the client has gone away"})
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

// writer is what a stream of an API is written by.
type writer interface {
	reader
	// broken ends a stream that cannot be continued.
	broken(p *serve.Problem)
}

// stream writes a run to where it ends or waits. It stops the run when the client goes away. out has the frames that to
// writes to.
func (h *handler) stream(
	w http.ResponseWriter, r *http.Request, c *serve.Caller, run string, behind uint64, to writer, out **serve.Frames,
) {
	o := newOutline(to)
	err := h.server.Stream(w, r, c, serve.StreamConfig{Run: run, OnDisconnect: serve.CancelAfter(0), Behind: behind,
		Translate: func(e *runlog.Event, frames *serve.Frames) {
			if *out = frames; e.Token > behind {
				o.add(e)
			}
		},
		Broken: func(p *serve.Problem, frames *serve.Frames) {
			*out = frames
			to.broken(p)
		}})
	if err != nil {
		h.fail(w, r, err)
	}
}

// chatAnswer is what all objects of an answer have in common.
type chatAnswer struct {
	id, run, model string
	created        int64
	showWork       bool
}

// usageOf is the usage of a run.
func usageOf(u runlog.Usage) map[string]any {
	return map[string]any{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Total,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.InputCached},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.OutputReasoning}}
}

// finish is why an answer ends, and the calls and words that the end has.
func (a *chatAnswer) finish(e *ending) (reason string, calls []map[string]any, words string) {
	switch {
	case e.status == runlog.Interrupted && len(clientCalls(e.points)) > 0:
		for i, p := range e.points {
			call := clientCall(p)
			calls = append(calls, map[string]any{"index": i, "id": toolCallID(a.run, p.ID), "type": "function",
				"function": map[string]any{"name": call.Name, "arguments": call.Arguments}})
		}
		return "tool_calls", calls, ""
	case e.status == runlog.Interrupted:
		return "stop", nil, question(e.points)
	case e.cut:
		return "length", nil, ""
	}
	return "stop", nil, ""
}

// clientCall is the call that a question is about.
func clientCall(p runlog.Point) (call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}) {
	_ = json.Unmarshal(p.Info, &call)
	return call
}

// weft is the member with which a client finds the questions of a run, nil if it has none.
func (a *chatAnswer) weft(e *ending) any {
	if e.status != runlog.Interrupted {
		return nil
	}
	return map[string]any{"run": a.run, "interrupts": e.points}
}

// chatWhole is an answer that is not streamed.
type chatWhole struct {
	*chatAnswer
	content, reasoning strings.Builder
	ended              ending
}

// separator stands between the messages of an agent, which are one message here.
const separator = "\n\n"

func (a *chatWhole) message() {
	if a.content.Len() > 0 {
		a.content.WriteString(separator)
	}
}

func (a *chatWhole) text(piece string) { a.content.WriteString(piece) }
func (a *chatWhole) work(piece string) { a.reasoning.WriteString(piece) }
func (a *chatWhole) end(e ending)      { a.ended = e }

func (a *chatWhole) completion() map[string]any {
	reason, calls, words := a.finish(&a.ended)
	if words != "" {
		a.message()
	}
	message := map[string]any{"role": "assistant", "content": a.content.String() + words, "refusal": nil}
	if calls != nil {
		message["tool_calls"] = calls
	}
	if a.showWork && a.reasoning.Len() > 0 {
		message["reasoning_content"] = a.reasoning.String()
	}
	completion := map[string]any{"id": a.id, "object": "chat.completion", "created": a.created, "model": a.model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": reason, "logprobs": nil}},
		"usage":   usageOf(a.ended.usage)}
	if weft := a.weft(&a.ended); weft != nil {
		completion["weft"] = weft
	}
	return completion
}

// chatStream is an answer that is streamed.
type chatStream struct {
	*chatAnswer
	frames *serve.Frames
	// usage: the client wants a last chunk with the usage.
	usage bool
	begun bool
	wrote bool
}

// chunk sends a chunk with a delta.
func (a *chatStream) chunk(delta map[string]any, reason any, more map[string]any) {
	if !a.begun {
		a.begun = true
		a.chunk(map[string]any{"role": "assistant", "content": ""}, nil, nil)
	}
	chunk := map[string]any{"id": a.id, "object": "chat.completion.chunk", "created": a.created, "model": a.model,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": nil}}}
	for name, value := range more {
		chunk[name] = value
	}
	a.send(chunk)
}

func (a *chatStream) send(value any) {
	if data, err := json.Marshal(value); err == nil {
		a.frames.Send("", "", data)
	}
}

func (a *chatStream) message() {
	if a.wrote {
		a.text(separator)
	}
}

func (a *chatStream) text(piece string) {
	a.wrote = true
	a.chunk(map[string]any{"content": piece}, nil, nil)
}

func (a *chatStream) work(piece string) {
	if a.showWork {
		a.chunk(map[string]any{"reasoning_content": piece}, nil, nil)
	}
}

func (a *chatStream) end(e ending) {
	if e.err != nil {
		a.broken(&serve.Problem{Code: serve.Internal, Title: e.err.Message})
		return
	}
	reason, calls, words := a.finish(&e)
	if words != "" {
		a.message()
		a.text(words)
	}
	if calls != nil {
		a.chunk(map[string]any{"tool_calls": calls}, nil, nil)
	}
	more := map[string]any{}
	if weft := a.weft(&e); weft != nil {
		more["weft"] = weft
	}
	a.chunk(map[string]any{}, reason, more)
	if a.usage {
		a.send(map[string]any{"id": a.id, "object": "chat.completion.chunk", "created": a.created, "model": a.model,
			"choices": []any{}, "usage": usageOf(e.usage)})
	}
	a.frames.Send("", "", []byte("[DONE]"))
}

func (a *chatStream) broken(p *serve.Problem) { a.send(errorOf(p)) }
