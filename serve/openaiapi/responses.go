package openaiapi

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/said"
)

// responsesRequest is the body of a request for a response. Members that are not here are ignored.
type responsesRequest struct {
	Model           string            `json:"model"`
	Input           json.RawMessage   `json:"input"`
	Instructions    string            `json:"instructions"`
	Previous        string            `json:"previous_response_id"`
	Stream          bool              `json:"stream"`
	Store           *bool             `json:"store"`
	Temperature     *float32          `json:"temperature"`
	TopP            *float32          `json:"top_p"`
	MaxOutputTokens *int              `json:"max_output_tokens"`
	Metadata        map[string]string `json:"metadata"`
	Text            *struct {
		Format *jsonFormat `json:"format"`
	} `json:"text"`
	Tools []struct {
		Type string `json:"type"`
		// ServerLabel is the label of the server, for a tool of type mcp.
		ServerLabel string `json:"server_label"`
		serve.ClientTool
	} `json:"tools"`
}

// serverLabel is the label of the MCP server that the tools of agents seem to be of.
const serverLabel = "weft"

// takesApprovals reports whether the client of a request knows what to do with requests for approvals. The Agents SDK ends
// with an error if there is one of a server that it was not given; then they are asked in words.
func (q *responsesRequest) takesApprovals(r *http.Request) bool {
	for _, t := range q.Tools {
		if t.Type == "mcp" && t.ServerLabel == serverLabel {
			return true
		}
	}
	return !strings.HasPrefix(r.UserAgent(), "Agents/")
}

// item is an item of the input.
type item struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	// Of function calls and their outputs.
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	// Of approvals.
	RequestID string `json:"approval_request_id"`
	Approve   *bool  `json:"approve"`
	Reason    string `json:"reason"`
}

// items are the items of the input, of which a text is a message of the user.
func (q *responsesRequest) items() (items []item, err error) {
	var text string
	if json.Unmarshal(q.Input, &text) == nil {
		return []item{{Role: "user", Content: q.Input}}, nil
	}
	var raw []json.RawMessage
	if json.Unmarshal(q.Input, &raw) != nil || json.Unmarshal(q.Input, &items) != nil {
		return nil, serve.NewProblem(serve.BadRequest, "input is a text or a list of items")
	}
	for i := range items {
		if err := items[i].name(raw[i]); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// name reads the type of an item by the very name of that member, and what it decides, if it is an answer to an approval.
func (m *item) name(raw json.RawMessage) error {
	members, err := serve.Members(raw)
	if err != nil {
		return err
	}
	m.Type = ""
	_ = json.Unmarshal(members["type"], &m.Type)
	if m.Type == "mcp_approval_response" {
		m.decide(members)
	}
	return nil
}

// decide reads the answer to an approval by the very names of its members: what it says must not depend on how JSON is
// read.
func (m *item) decide(members map[string]json.RawMessage) {
	m.RequestID, m.Approve, m.Reason = "", nil, ""
	_ = json.Unmarshal(members["approval_request_id"], &m.RequestID)
	_ = json.Unmarshal(members["reason"], &m.Reason)
	if said := string(members["approve"]); said == "true" || said == "false" {
		approve := said == "true"
		m.Approve = &approve
	}
}

// itemAnswers are answers to questions of a run, by their IDs. run is "" if its items do not say it.
type itemAnswers struct {
	run string
	all map[string]json.RawMessage
}

// add adds an answer of an item. Answers of another run are of an earlier time: the items that the input ends with count.
func (a *itemAnswers) add(run, point string, answer json.RawMessage) (twice bool) {
	if a.all == nil || run != a.run {
		*a = itemAnswers{run, map[string]json.RawMessage{}}
	}
	_, twice = a.all[point]
	a.all[point] = answer
	return twice
}

// messages returns the items that are part of a conversation, and the items that answer questions of a run: those behind
// the last message, as a client that has the history sends the answers of earlier times again.
func (q *responsesRequest) messages(allowSystem bool) (messages []*schema.Message, answers itemAnswers, err error) {
	items, err := q.items()
	if err != nil {
		return nil, answers, err
	}
	var chat []chatMessage
	if q.Instructions != "" {
		instructions, _ := json.Marshal(q.Instructions)
		chat = append(chat, chatMessage{Role: "system", Content: instructions})
	}
	for i := range items {
		m := &items[i]
		switch m.Type {
		case "", "message":
			answers = itemAnswers{}
			chat = append(chat, chatMessage{Role: m.Role, Content: m.Content})
		case "function_call":
			call := toolCall{m.CallID, schema.FunctionCall{Name: m.Name, Arguments: m.Arguments}}
			chat = append(chat, chatMessage{Role: "assistant", ToolCalls: []toolCall{call}})
		case "function_call_output":
			text, _, err := contentOf(m.Output)
			if err != nil {
				return nil, answers, err
			}
			if run, point, ours := ourCall(m.CallID); ours {
				answers.add(run, point, serve.CallReply(text, false))
			}
			chat = append(chat, chatMessage{Role: "tool", ToolCallID: m.CallID, Content: m.Output})
		case "mcp_approval_response":
			run, point, ours := ourApproval(m.RequestID)
			if !ours || m.Approve == nil {
				return nil, answers, serve.NewProblem(serve.BadRequest, "an mcp_approval_response has no approval_request_id of ours, or no approve")
			}
			answer := map[string]any{"approve": *m.Approve}
			if !*m.Approve {
				answer["text"] = m.Reason
			}
			data, _ := json.Marshal(answer)
			if answers.add(run, point, data) {
				return nil, answers, serve.NewProblem(serve.BadRequest, "a question is answered twice")
			}
		}
	}
	messages, err = messagesOf(chat, allowSystem)
	return messages, answers, err
}

// approvalID names a request for an approval: the run that waits for it, and the question.
func approvalID(run, point string) string { return "mcpr_" + run + "." + point }

// ourApproval is the opposite of approvalID.
func ourApproval(id string) (run, point string, ok bool) {
	rest, found := strings.CutPrefix(id, "mcpr_")
	run, point, found2 := strings.Cut(rest, ".")
	return run, point, found && found2
}

// runOfResponse is the run of a response.
func runOfResponse(id string) string {
	id = strings.TrimPrefix(id, "resp_")
	run, _, _ := strings.Cut(id, ".")
	return run
}

// beginResponse starts the run of a request, or continues the one that it answers.
func (h *handler) beginResponse(
	ctx context.Context, c *serve.Caller, q *responsesRequest, key string,
) (run serve.Run, behind uint64, err error) {
	messages, answers, err := q.messages(h.conf.AllowSystem)
	if err != nil {
		return run, 0, err
	}
	start, err := q.start()
	if err != nil {
		return run, 0, err
	}
	start.Messages, start.IdempotencyKey = messages, key
	if q.Previous != "" {
		return h.continueResponse(ctx, c, q, start, answers)
	}
	if len(answers.all) > 0 {
		if run, err = h.answerRun(ctx, c, answers); err == nil || !isGone(err) {
			return run, run.Token, err
		}
	}
	if (q.Store == nil || *q.Store) && h.server.KeepsThreads() {
		start.Thread = threadPrefix + strings.ToLower(rand.Text())
	}
	run, err = c.Start(ctx, start)
	return run, 0, err
}

// continueResponse continues a response that the server has: by answers, or by new messages.
func (h *handler) continueResponse(
	ctx context.Context, c *serve.Caller, q *responsesRequest, start serve.Start, answers itemAnswers,
) (run serve.Run, behind uint64, err error) {
	previous, err := c.Run(ctx, runOfResponse(q.Previous))
	switch {
	case err != nil:
		return run, 0, serve.NewProblem(serve.BadRequest, "previous_response_id names no response")
	case len(answers.all) > 0 && answers.run != previous.ID:
		return run, 0, serve.NewProblem(serve.BadRequest, "the answers are to another response than previous_response_id")
	case len(answers.all) > 0:
		run, err = c.Reply(ctx, previous.ID, answers.all, false)
		return run, run.Token, err
	}
	if err := checkNewest(ctx, c, previous); err != nil {
		return run, 0, err
	}
	start.Thread = previous.Thread
	if start.TrustHistory, err = addsOnly(start.Messages); err != nil {
		return run, 0, err
	}
	run, err = c.Start(ctx, start)
	return run, 0, err
}

// answerRun answers a run by the items of a client that has the history: those that the run does not wait for any more are
// of earlier times. Without others the error is one of a run that is gone.
func (h *handler) answerRun(ctx context.Context, c *serve.Caller, answers itemAnswers) (serve.Run, error) {
	run, err := c.Run(ctx, answers.run)
	if err != nil {
		return run, err
	}
	open := map[string]json.RawMessage{}
	for _, q := range run.Questions {
		if answer, given := answers.all[q.ID]; given && !q.Answered {
			open[q.ID] = answer
		}
	}
	if len(open) == 0 {
		behind, found := c.RepliedBefore(ctx, run.ID, func([]runs.Question) map[string]json.RawMessage { return answers.all })
		if !found {
			return run, serve.NewProblem(serve.AlreadyAnswered, "the run does not wait for these answers any more")
		}
		run.Token = behind
		return run, nil
	}
	return c.Reply(ctx, run.ID, open, false)
}

// start returns the start of the run that the request asks for. The client's history is trusted; its new messages are added
// by the caller.
func (q *responsesRequest) start() (start serve.Start, err error) {
	start = serve.Start{Agent: q.Model, TrustHistory: true,
		Sampling: serve.Sampling{Temperature: q.Temperature, TopP: q.TopP, MaxTokens: q.MaxOutputTokens}}
	if start.Format, err = q.format(); err != nil {
		return start, err
	}
	for _, t := range q.Tools {
		switch {
		case t.Type == "function":
			start.ClientTools = append(start.ClientTools, t.ClientTool)
		case t.Type == "mcp" && t.ServerLabel == serverLabel: // it has the tools of the agent be approved
		default:
			return start, serve.NewProblem(serve.BadRequest, "tools of clients are of type function")
		}
	}
	start.Labels, err = labelsOf(q.Metadata)
	return start, err
}

// format returns the format of the answer, nil for a text.
func (q *responsesRequest) format() (*serve.Format, error) {
	if q.Text == nil {
		return nil, nil
	}
	return q.Text.Format.format("text.format")
}

// shownFormat is the format as the response shows it.
func (q *responsesRequest) shownFormat() any {
	if f, err := q.format(); err != nil || f == nil {
		return map[string]any{"type": "text"}
	}
	f := q.Text.Format
	if f.Type == "json_object" {
		return map[string]any{"type": f.Type}
	}
	return map[string]any{"type": f.Type, "name": f.Name, "schema": f.Schema, "strict": true,
		"description": orNull(f.Description)}
}

// threadPrefix is the prefix of the names of the threads of responses.
const threadPrefix = "resp-"

// checkNewest refuses to continue what is no response, or not the last one of its thread: a thread has no branches here.
func checkNewest(ctx context.Context, c *serve.Caller, previous serve.Run) error {
	if !strings.HasPrefix(previous.Thread, threadPrefix) {
		return serve.NewProblem(serve.BadRequest, "the response before was not stored")
	}
	last, exists, err := c.LastRun(ctx, previous.Thread)
	if err == nil && exists && last.ID != previous.ID {
		return serve.NewProblem(serve.BadRequest, "previous_response_id is not the newest response of its conversation, "+
			"and a conversation does not branch here: continue the newest, or send the history as input")
	}
	return err
}

// addsOnly refuses messages of others than the user, in a thread whose history the server has: what was said there before
// is not for the client to say. With messages of the system, where they are allowed, the messages have to be trusted.
func addsOnly(messages []*schema.Message) (hasSystem bool, err error) {
	for _, m := range messages {
		switch m.Role {
		case schema.User:
		case schema.System:
			hasSystem = true
		default:
			return false, serve.NewProblem(serve.BadRequest,
				"with previous_response_id the input has new messages of the user: the server has the others")
		}
	}
	return hasSystem, nil
}

func (h *handler) responses(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
	var q responsesRequest
	if err := h.decode(r, &q); err != nil {
		return err
	}
	format, err := q.format()
	if err != nil {
		return err
	}
	run, behind, err := h.beginResponse(r.Context(), c, &q, r.Header.Get("Idempotency-Key"))
	if err != nil {
		return err
	}
	a := responseOf(&run, behind)
	a.streams, a.inWords = q.Stream, !q.takesApprovals(r)
	a.object["model"], a.object["metadata"], a.object["previous_response_id"] = q.Model, metadataOf(q.Metadata), orNull(q.Previous)
	a.object["temperature"], a.object["top_p"], a.object["text"] = q.Temperature, q.TopP, map[string]any{"format": q.shownFormat()}
	if q.Stream {
		return h.stream(w, r, c, run.ID, behind, formattedAs(format, a), &a.frames)
	}
	if err := h.read(r.Context(), c, run.ID, behind, formattedAs(format, a)); err != nil {
		return err
	}
	serve.SendJSON(w, http.StatusOK, a.object)
	return nil
}

// getResponse answers with a response as it is: it has ended, or is in progress. What is not kept of the request, such as
// its format, is shown as it is by default.
func (h *handler) getResponse(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
	id := r.PathValue("response")
	_, text, _ := strings.Cut(strings.TrimPrefix(id, "resp_"), ".")
	behind, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return noResponse()
	}
	run, err := c.Run(r.Context(), runOfResponse(id))
	if err != nil {
		return noResponse()
	}
	a := responseOf(&run, behind)
	a.object["metadata"] = metadataOf(run.Labels)
	if err := a.look(r.Context(), c, behind); err != nil {
		return err
	}
	serve.SendJSON(w, http.StatusOK, a.object)
	return nil
}

// lookFor limits the time that the next event of a record takes to be read.
const lookFor = 250 * time.Millisecond

// look reads what there is of a response. It does not wait for its end.
func (a *response) look(ctx context.Context, c *serve.Caller, behind uint64) error {
	looking, stop := context.WithCancel(ctx)
	defer stop()
	quiet := time.AfterFunc(lookFor, stop)
	defer quiet.Stop()
	o := newOutline(a)
	for e, err := range c.Watch(looking, a.run, runs.Cursor{}) {
		if err != nil {
			if looking.Err() != nil && ctx.Err() == nil { // it is in progress
				return nil
			}
			return err
		}
		quiet.Reset(lookFor)
		if e.Token <= behind {
			continue
		}
		if o.add(&e); e.Type == runlog.RunEnd {
			return nil
		}
	}
	return nil
}

func noResponse() error { return serve.NewProblem(serve.NotFound, "there is no such response") }

func metadataOf(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// phase tracks how far a response is.
//
//	from       to         when
//	notBegun   between    anything happens
//	between    inMessage  a message begins
//	inMessage  between    it ends
//	between    ended      the run ends or waits
type phase int

const (
	notBegun phase = iota
	between
	inMessage
	ended
)

// response is an answer, which grows item by item. It is streamed, or sent when it is whole.
type response struct {
	run string
	// key is in the IDs of the response and of its items.
	key     string
	streams bool
	// inWords: approvals are asked in words.
	inWords bool
	frames  *serve.Frames
	object  map[string]any
	phase   phase
	// output are the items that are whole, written the text of the one that is not.
	output   []any
	written  strings.Builder
	sequence int
}

// responseOf is the response of a run, with what comes behind a token, before anything of it is there.
func responseOf(run *serve.Run, behind uint64) *response {
	key := fmt.Sprintf("%s.%d", run.ID, behind)
	return &response{run: run.ID, key: key, object: map[string]any{"id": "resp_" + key, "object": "response",
		"created_at": run.Created.Unix(), "status": "in_progress", "model": run.Agent, "output": []any{},
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": map[string]string{}, "parallel_tool_calls": true,
		"previous_response_id": nil, "temperature": nil, "top_p": nil, "tool_choice": "auto",
		"tools": []any{}, "store": run.Thread != "", "text": map[string]any{"format": map[string]any{"type": "text"}}, "usage": nil}}
}

// emit sends an event of the stream.
func (a *response) emit(kind string, members map[string]any) {
	if !a.streams {
		return
	}
	members["type"], members["sequence_number"] = kind, a.sequence
	a.sequence++
	a.frames.SendJSON("", kind, members)
}

func (a *response) begin() {
	if a.phase == notBegun {
		a.phase = between
		a.emit("response.created", map[string]any{"response": a.object})
		a.emit("response.in_progress", map[string]any{"response": a.object})
	}
}

// itemID returns the ID of the item that comes next.
func (a *response) itemID() string { return fmt.Sprintf("msg_%s_%d", a.key, len(a.output)) }

func textPart(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

func (a *response) messageItem(status string, content ...any) map[string]any {
	if content == nil {
		content = []any{}
	}
	return map[string]any{"id": a.itemID(), "type": "message", "role": "assistant", "status": status, "content": content}
}

// at says where in the output a piece is.
func (a *response) at(members map[string]any) map[string]any {
	members["item_id"], members["output_index"], members["content_index"] = a.itemID(), len(a.output), 0
	return members
}

func (a *response) message() {
	a.begin()
	a.endMessage()
	a.phase = inMessage
	a.written.Reset()
	a.emit("response.output_item.added", map[string]any{"output_index": len(a.output), "item": a.messageItem("in_progress")})
	a.emit("response.content_part.added", a.at(map[string]any{"part": textPart("")}))
}

func (a *response) text(piece string) {
	a.written.WriteString(piece)
	a.emit("response.output_text.delta", a.at(map[string]any{"delta": piece, "logprobs": []any{}}))
}

func (a *response) work(string) {}

func (a *response) endMessage() {
	if a.phase != inMessage {
		return
	}
	a.phase = between
	part := textPart(a.written.String())
	a.emit("response.output_text.done", a.at(map[string]any{"text": a.written.String(), "logprobs": []any{}}))
	a.emit("response.content_part.done", a.at(map[string]any{"part": part}))
	a.add(a.messageItem("completed", part))
}

// add appends an item that is whole.
func (a *response) add(item map[string]any) {
	a.emit("response.output_item.done", map[string]any{"output_index": len(a.output), "item": item})
	a.output = append(a.output, item)
}

// whole appends an item that does not come in pieces.
func (a *response) whole(item map[string]any) {
	a.emit("response.output_item.added", map[string]any{"output_index": len(a.output), "item": item})
	a.add(item)
}

func (a *response) end(e ending) {
	a.begin()
	a.endMessage()
	if e.status == runs.Waiting {
		a.ask(e.points)
	}
	a.object["output"] = append([]any{}, a.output...)
	a.object["usage"] = map[string]any{"input_tokens": e.usage.Input, "output_tokens": e.usage.Output, "total_tokens": e.usage.Total,
		"input_tokens_details":  map[string]any{"cached_tokens": e.usage.InputCached},
		"output_tokens_details": map[string]any{"reasoning_tokens": e.usage.OutputReasoning}}
	status := "completed"
	switch {
	case e.err != nil:
		status = "failed"
		a.object["error"] = map[string]any{"code": "server_error", "message": e.err.Message}
	case e.status == runs.Paused:
		status = "incomplete"
		a.object["incomplete_details"] = map[string]any{"reason": "cancelled"}
	case e.finish == said.Cut:
		status = "incomplete"
		a.object["incomplete_details"] = map[string]any{"reason": "max_output_tokens"}
	case e.finish == said.Filtered:
		status = "incomplete"
		a.object["incomplete_details"] = map[string]any{"reason": "content_filter"}
	}
	a.object["status"] = status
	a.phase = ended
	a.emit("response."+status, map[string]any{"response": a.object})
}

// ask appends what the run waits for: approvals and calls for the client as items of the API, other questions in words.
func (a *response) ask(points []runs.Question) {
	var others []runs.Question
	for _, p := range points {
		call := clientCall(p)
		switch {
		case p.Kind == runs.KindApproval && !a.inWords:
			var request struct{ Tool, Arguments string }
			_ = json.Unmarshal(p.Info, &request)
			a.whole(map[string]any{"type": "mcp_approval_request", "id": approvalID(a.run, p.ID), "name": request.Tool,
				"arguments": request.Arguments, "server_label": serverLabel})
		case p.Kind == runs.KindClientTool:
			a.whole(map[string]any{"type": "function_call", "id": "fc_" + p.ID, "call_id": toolCallID(a.run, p.ID), "name": call.Name,
				"arguments": call.Arguments, "status": "completed"})
		default:
			others = append(others, p)
		}
	}
	if len(others) > 0 {
		a.message()
		a.text(question(others))
		a.endMessage()
		a.object["weft"] = map[string]any{"run": a.run, "interrupts": others}
	}
}

func (a *response) broken(p *serve.Problem) {
	a.begin()
	a.endMessage()
	a.object["status"], a.object["output"] = "failed", append([]any{}, a.output...)
	a.object["error"] = map[string]any{"code": "server_error", "message": p.Title}
	a.phase = ended
	a.emit("response.failed", map[string]any{"response": a.object})
}
