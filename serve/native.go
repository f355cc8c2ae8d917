package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// routes returns the handler of the native API.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]func(http.ResponseWriter, *http.Request, *Caller) error{
		"GET /agents":                    s.getAgents,
		"POST /agents/{agent}/runs":      s.postRun,
		"GET /runs":                      s.getRuns,
		"GET /runs/{run}":                s.getRun,
		"GET /runs/{run}/events":         s.getEvents,
		"POST /runs/{run}/stop":          s.postStop,
		"POST /runs/{run}/replies":       s.postReplies,
		"POST /runs/{run}/continue":      s.postContinue,
		"GET /runs/{run}/steps":          s.getSteps,
		"POST /runs/{run}/fork":          s.postFork,
		"GET /questions":                 s.getQuestions,
		"GET /threads":                   s.getThreads,
		"GET /threads/{thread}":          s.getThread,
		"GET /threads/{thread}/messages": s.getMessages,
		"DELETE /threads/{thread}":       s.deleteThread,
		"POST /tickets":                  s.postTicket,
	} {
		mux.Handle(pattern, s.Handle(h, nil))
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		SendJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", s.getReady)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { Refuse(w, NewProblem(NotFound, "there is no such path")) })
	return mux
}

// eventsOf is the run whose events a request asks for, "" if it is another one.
func eventsOf(r *http.Request) string {
	rest, found := strings.CutPrefix(r.URL.Path, "/runs/")
	run, found2 := strings.CutSuffix(rest, "/events")
	if r.Method != http.MethodGet || !found || !found2 {
		return ""
	}
	return run
}

func (s *Server) getReady(w http.ResponseWriter, r *http.Request) {
	if s.draining.Err() != nil {
		Refuse(w, &Problem{Code: ShuttingDown, Title: "the server shuts down", RetryAfter: 5 * time.Second})
		return
	}
	if s.settings.ready != nil {
		if err := s.settings.ready(r.Context()); err != nil {
			p := &Problem{Code: NotReady, Title: "the server is not ready", RetryAfter: 5 * time.Second, Cause: err}
			s.logProblem(r.Context(), p)
			Refuse(w, p)
			return
		}
	}
	SendJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *Server) getAgents(w http.ResponseWriter, r *http.Request, c *Caller) error {
	SendJSON(w, http.StatusOK, map[string]any{"agents": c.Agents(r.Context())})
	return nil
}

// newRun is the body of a request that starts a run.
type newRun struct {
	Thread string          `json:"thread"`
	Input  json.RawMessage `json:"input"`
	// Replaces is Start.Replaces. With it there may be no input.
	Replaces string            `json:"replaces"`
	Tools    []ClientTool      `json:"tools"`
	Format   *Format           `json:"format"`
	Labels   map[string]string `json:"labels"`
	Options  runOptions        `json:"options"`
}

// runOptions are the Sampling of a request.
type runOptions struct {
	Temperature *float32 `json:"temperature"`
	TopP        *float32 `json:"top_p"`
	MaxTokens   *int     `json:"max_tokens"`
	Stop        []string `json:"stop"`
}

// messages are the messages of the input: a text, or messages.
func (b *newRun) messages() ([]*schema.Message, error) {
	if len(b.Input) == 0 && b.Replaces != "" {
		return nil, nil
	}
	var text string
	if err := json.Unmarshal(b.Input, &text); err == nil {
		if text == "" {
			return nil, NewProblem(BadRequest, "the input is empty")
		}
		return []*schema.Message{schema.UserMessage(text)}, nil
	}
	var messages []*schema.Message
	if err := checkReading(b.Input, &messages); len(b.Input) > 0 && err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b.Input, &messages); err != nil {
		return nil, &Problem{Code: BadRequest, Title: "input is a text or a list of messages", Cause: err}
	}
	return messages, nil
}

func (s *Server) postRun(w http.ResponseWriter, r *http.Request, c *Caller) error {
	var body newRun
	if _, err := s.ReadJSON(r, &body); err != nil {
		return err
	}
	messages, err := body.messages()
	if err != nil {
		return err
	}
	run, err := c.Start(r.Context(), Start{Agent: r.PathValue("agent"), Thread: body.Thread, Messages: messages,
		Replaces: body.Replaces, ClientTools: body.Tools, Format: body.Format, Labels: body.Labels,
		Sampling:       Sampling(body.Options),
		IdempotencyKey: r.Header.Get("Idempotency-Key")})
	if err != nil {
		return err
	}
	return s.sendStarted(w, r, c, run)
}

// sendStarted answers a request that has started a run, as it wants: with the run, at once or when it has ended, or with
// its events.
func (s *Server) sendStarted(w http.ResponseWriter, r *http.Request, c *Caller, run Run) (err error) {
	w.Header().Set("Location", prefixOf(r)+"/runs/"+run.ID)
	if wantsEvents(r) {
		return s.streamNative(w, r, c, StreamConfig{Run: run.ID})
	}
	if wait := preferredWait(r); wait > 0 {
		if run, err = c.Result(r.Context(), run.ID, wait); err != nil {
			return err
		}
	}
	SendJSON(w, http.StatusCreated, run)
	return nil
}

// prefixOf returns the part of a request's path before the paths of the server: the server may be mounted below a prefix
// (http.StripPrefix).
func prefixOf(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	prefix, below := strings.CutSuffix(path, r.URL.EscapedPath())
	if !below || !strings.HasPrefix(path, "/") {
		return ""
	}
	return prefix
}

func wantsEvents(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// maxWait is the time for which a request may wait for a run.
const maxWait = 5 * time.Minute

// preferredWait is the time for which a client wants to wait (RFC 7240), 0 if it does not say.
func preferredWait(r *http.Request) time.Duration {
	for _, p := range strings.Split(r.Header.Get("Prefer"), ",") {
		if value, found := strings.CutPrefix(strings.TrimSpace(p), "wait="); found {
			if n, err := strconv.Atoi(value); err == nil && n > 0 {
				return min(time.Duration(n)*time.Second, maxWait)
			}
		}
	}
	return 0
}

func (s *Server) getRuns(w http.ResponseWriter, r *http.Request, c *Caller) error {
	q := r.URL.Query()
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	all, err := c.Runs(r.Context(), Query{Agent: q.Get("agent"), Thread: q.Get("thread"), Status: runs.Status(q.Get("status")),
		Before: q.Get("before"), Limit: limit})
	if err != nil {
		return err
	}
	page := map[string]any{"runs": all}
	if len(all) > 0 {
		page["next"] = all[len(all)-1].Cursor()
	}
	SendJSON(w, http.StatusOK, page)
	return nil
}

// limitOf is the number of items that a client wants, 0 if it does not say.
func limitOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, NewProblem(BadRequest, "limit is a number above 0")
	}
	return n, nil
}

func (s *Server) getRun(w http.ResponseWriter, r *http.Request, c *Caller) error {
	run, err := c.Result(r.Context(), r.PathValue("run"), preferredWait(r))
	if err != nil {
		return err
	}
	SendJSON(w, http.StatusOK, run)
	return nil
}

// endMark stands behind the position of the last event of a stream: who comes back with it has seen everything.
const endMark = ".end"

func (s *Server) getEvents(w http.ResponseWriter, r *http.Request, c *Caller) error {
	q := r.URL.Query()
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = q.Get("after")
	}
	follow := q.Get("follow") == "true"
	text, ended := strings.CutSuffix(text, endMark)
	after, _ := runs.ParseCursor(text) // whatever it is, what follows is right
	run, err := c.Run(r.Context(), r.PathValue("run"))
	if err != nil {
		return err
	}
	if !wantsEvents(r) && r.Header.Get("Accept") == "application/json" {
		return s.eventsPage(w, r, c, &run, after)
	}
	if ended && (run.HasEnded() || !follow) && s.rests(r.Context(), run.ID, after) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return s.streamNative(w, r, c, StreamConfig{Run: run.ID, After: after, KeepOpen: follow})
}

// streamNative writes the events of a run as they are.
func (s *Server) streamNative(w http.ResponseWriter, r *http.Request, c *Caller, conf StreamConfig) error {
	conf.Translate = func(e *runlog.Event, out *Frames) {
		mark := ""
		if e.Type == runlog.RunEnd {
			mark = endMark
		}
		out.sendEvent(mark)
	}
	conf.Broken = func(p *Problem, out *Frames) {
		if p.Code == ShuttingDown {
			out.Raw("retry: 1000\n")
			out.SendJSON("", "bye", p)
			return
		}
		out.SendJSON("", "error", p)
	}
	return s.Stream(w, r, c, conf)
}

// eventsPage answers with the events that are there. What is there of a run that has not ended is what comes without a
// pause.
func (s *Server) eventsPage(w http.ResponseWriter, r *http.Request, c *Caller, run *Run, after runs.Cursor) error {
	const most, pause = 1000, 50 * time.Millisecond
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	quiet := time.AfterFunc(lookFor, stop)
	defer quiet.Stop()
	hasAll := run.Status == runs.Done || run.Status == runs.Failed // then the events end by themselves
	if hasAll {
		quiet.Stop()
	}
	events := []runlog.Event{}
	for e, err := range c.Watch(ctx, run.ID, after) {
		if err != nil {
			if ctx.Err() != nil && r.Context().Err() == nil {
				break
			}
			return err
		}
		if !hasAll {
			quiet.Reset(pause)
		}
		if events = append(events, e); len(events) == most {
			break
		}
	}
	page := map[string]any{"events": events}
	if len(events) > 0 {
		page["next"] = events[len(events)-1].Cursor().String()
	}
	SendJSON(w, http.StatusOK, page)
	return nil
}

func (s *Server) postStop(w http.ResponseWriter, r *http.Request, c *Caller) error {
	var body struct {
		Mode      string `json:"mode"`
		TimeoutMS int64  `json:"timeout_ms"`
		Reason    string `json:"reason"`
	}
	if _, err := s.ReadJSON(r, &body); err != nil {
		return err
	}
	switch body.Mode {
	case "", "safe", "now":
	default: // after_model and after_tools are no requests that stores keep
		return NewProblem(BadRequest, "mode is safe or now")
	}
	if body.TimeoutMS < 0 || body.TimeoutMS > time.Hour.Milliseconds() || len(body.Reason) > 500 {
		return NewProblem(BadRequest, "timeout_ms is at most an hour, reason at most 500 bytes")
	}
	run := r.PathValue("run")
	err := c.Stop(r.Context(), run, StopRequest{Now: body.Mode == "now", Reason: body.Reason,
		Timeout: time.Duration(body.TimeoutMS) * time.Millisecond})
	if err != nil {
		return err
	}
	return s.sendRun(w, r, c, run, http.StatusAccepted)
}

func (s *Server) sendRun(w http.ResponseWriter, r *http.Request, c *Caller, id string, status int) error {
	run, err := c.Run(r.Context(), id)
	if err != nil {
		return err
	}
	SendJSON(w, status, run)
	return nil
}

func (s *Server) postReplies(w http.ResponseWriter, r *http.Request, c *Caller) error {
	var body struct {
		Replies map[string]json.RawMessage `json:"replies"`
		Partial bool                       `json:"partial"`
	}
	if _, err := s.ReadJSON(r, &body); err != nil {
		return err
	}
	run, err := c.Reply(r.Context(), r.PathValue("run"), body.Replies, body.Partial)
	if err != nil {
		return err
	}
	return s.sendContinued(w, r, c, run)
}

func (s *Server) postContinue(w http.ResponseWriter, r *http.Request, c *Caller) error {
	run, err := c.Continue(r.Context(), r.PathValue("run"))
	if err != nil {
		return err
	}
	return s.sendContinued(w, r, c, run)
}

// sendContinued answers a request that has a run continue: with the run, at once or when it has ended, or with its events.
func (s *Server) sendContinued(w http.ResponseWriter, r *http.Request, c *Caller, run Run) (err error) {
	if !c.owns(&run) { // its outcome is for others
		SendJSON(w, http.StatusAccepted, run)
		return nil
	}
	if wantsEvents(r) {
		return s.streamNative(w, r, c, StreamConfig{Run: run.ID, AfterToken: run.Token})
	}
	if wait := preferredWait(r); wait > 0 {
		if run, err = c.Result(r.Context(), run.ID, wait); err != nil {
			return err
		}
	}
	SendJSON(w, http.StatusAccepted, run)
	return nil
}

func (s *Server) getSteps(w http.ResponseWriter, r *http.Request, c *Caller) error {
	steps, err := c.Steps(r.Context(), r.PathValue("run"))
	if err != nil {
		return err
	}
	SendJSON(w, http.StatusOK, steps)
	return nil
}

func (s *Server) postFork(w http.ResponseWriter, r *http.Request, c *Caller) error {
	var body struct {
		At   int       `json:"at"`
		Edit *StepEdit `json:"edit"`
		Hold bool      `json:"hold"`
	}
	if _, err := s.ReadJSON(r, &body); err != nil {
		return err
	}
	run, err := c.Fork(r.Context(), Fork{Run: r.PathValue("run"), At: body.At, Edit: body.Edit, Hold: body.Hold,
		IdempotencyKey: r.Header.Get("Idempotency-Key")})
	if err != nil {
		return err
	}
	return s.sendStarted(w, r, c, run)
}

func (s *Server) getQuestions(w http.ResponseWriter, r *http.Request, c *Caller) error {
	q := r.URL.Query()
	questions, err := c.Questions(r.Context(), q.Get("thread"), q.Get("agent"), q.Get("tool"))
	if err != nil {
		return err
	}
	SendJSON(w, http.StatusOK, map[string]any{"questions": questions})
	return nil
}

func (s *Server) getThreads(w http.ResponseWriter, r *http.Request, c *Caller) error {
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	threads, err := c.Threads(r.Context(), r.URL.Query().Get("before"), limit)
	if err != nil {
		return err
	}
	page := map[string]any{"threads": threads}
	if len(threads) > 0 {
		page["next"] = threads[len(threads)-1].Cursor()
	}
	SendJSON(w, http.StatusOK, page)
	return nil
}

func (s *Server) getThread(w http.ResponseWriter, r *http.Request, c *Caller) error {
	thread, err := c.Thread(r.Context(), r.PathValue("thread"))
	if err != nil {
		return err
	}
	SendJSON(w, http.StatusOK, thread)
	return nil
}

func (s *Server) getMessages(w http.ResponseWriter, r *http.Request, c *Caller) error {
	messages := []ThreadMessage{}
	for m, err := range c.Messages(r.Context(), r.PathValue("thread")) {
		if err != nil {
			return err
		}
		messages = append(messages, m)
	}
	SendJSON(w, http.StatusOK, map[string]any{"messages": messages})
	return nil
}

func (s *Server) deleteThread(w http.ResponseWriter, r *http.Request, c *Caller) error {
	if err := c.DeleteThread(r.Context(), r.PathValue("thread")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) postTicket(w http.ResponseWriter, r *http.Request, c *Caller) error {
	var body struct {
		Run string `json:"run"`
	}
	if _, err := s.ReadJSON(r, &body); err != nil {
		return err
	}
	text, err := c.Ticket(r.Context(), body.Run)
	if err != nil {
		return err
	}
	SendJSON(w, http.StatusCreated, map[string]string{"ticket": text})
	return nil
}
