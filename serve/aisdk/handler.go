package aisdk

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/page"
)

// Config configures a Handler. The zero value is for clients of version 6.
type Config struct {
	// Version is the major version of the AI SDK that the page uses: 6 or 7. The default is 6.
	Version int
	// OnDisconnect decides about a run whose page goes away. The default stops it after 30 seconds.
	OnDisconnect *serve.Disconnect
	// StaticTools are the names of tools that the page has parts of its own for; others are dynamic.
	StaticTools []string
	// TrustHistory takes all messages of a page for what was said, instead of the history of the server. AllowSystem takes
	// system messages, too.
	TrustHistory, AllowSystem bool
	// HideReasoning leaves out what models think.
	HideReasoning bool
}

// Handler serves an agent: a POST is a message, or an answer to what the agent asked; a GET of a path that ends with
// /{chat}/stream watches the run of a chat again, and is answered with 204 if none is executed. It panics if
// Config.Version is one that it does not speak.
func Handler(server *serve.Server, agent string, conf Config) http.Handler {
	if conf.Version == 0 {
		conf.Version = 6
	}
	if conf.Version != 6 && conf.Version != 7 {
		panic(fmt.Sprintf("aisdk: Config.Version is 6 or 7, and not %d", conf.Version))
	}
	h := &handler{server, agent, conf, serve.CancelAfter(30 * time.Second)}
	if conf.OnDisconnect != nil {
		h.onDisconnect = *conf.OnDisconnect
	}
	return page.Handler(server, h.post, h.reconnect)
}

type handler struct {
	server       *serve.Server
	agent        string
	conf         Config
	onDisconnect serve.Disconnect
}

// post starts a run, or answers the one of the chat that waits.
func (h *handler) post(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
	in, err := readInput(h.server, r)
	if err != nil {
		return err
	}
	if in.last().Role == "assistant" {
		answered, err := h.answer(w, r, c, in)
		if answered || err != nil {
			return err
		}
	}
	ctx := r.Context()
	start := serve.Start{Agent: h.agent, Thread: in.ID, ClientTools: in.Tools}
	switch {
	case !in.isAgain():
		if in.last().isUser() && in.last().ID != "" { // the same message is of the same run
			start.IdempotencyKey = page.Key("ai-sdk", in.ID, in.last().ID)
		}
	case h.server.KeepsThreads() && !h.conf.TrustHistory:
		if start.Replaces, err = in.replaced(c.Messages(ctx, in.ID)); err != nil {
			return err
		}
	}
	run, err := page.Start(ctx, h.server, c, start, in, page.Trust{History: h.conf.TrustHistory, System: h.conf.AllowSystem})
	if err != nil {
		return err
	}
	return h.stream(w, r, c, run, 0, messageOf(run.ID))
}

// answer answers the run of the chat that waits, by the last message of the page. It is false if none does, and the
// history of the page is taken.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, c *serve.Caller, in *input) (answered bool, err error) {
	ctx := r.Context()
	last, exists, err := c.LastRun(ctx, in.ID)
	if err != nil {
		return false, err
	}
	if !exists || last.Status != runs.Waiting || in.knowsNoneOf(last.Questions) {
		if exists { // what came of the answers may not have arrived
			if behind, found := c.RepliedBefore(ctx, last.ID, in.answers); found {
				return true, h.stream(w, r, c, last, behind, in.last().ID)
			}
		}
		if h.conf.TrustHistory && (!exists || last.Status != runs.Waiting) {
			return false, nil
		}
		return false, serve.NewProblem(serve.AlreadyAnswered, "the chat waits for no such answer")
	}
	answers := in.answers(last.Questions)
	run, err := c.Reply(ctx, last.ID, answers, in.hasAll(answers, last.Questions))
	switch {
	case err != nil:
		return false, err
	case run.Status == runs.Waiting && run.Token == last.Token:
		h.showRest(w, run, in.last().ID)
		return true, nil
	}
	return true, h.stream(w, r, c, run, run.Token, in.last().ID)
}

// showRest shows the questions that a run still waits for, which are none of those that the page answers.
func (h *handler) showRest(w http.ResponseWriter, run serve.Run, messageID string) {
	var chunks []any
	t := newTranslator(run.ID, messageID, h.conf, func(c chunk) { chunks = append(chunks, c) })
	t.begin()
	for _, q := range run.Questions {
		if !q.Answered {
			t.points = append(t.points, q)
		}
	}
	t.asks()
	t.send(chunk{"type": "finish", "finishReason": "tool-calls"})
	page.Send(w, streamHeader, append(chunks, "[DONE]")...)
}

// streamHeader marks a stream of the protocol for clients.
var streamHeader = http.Header{"X-Vercel-Ai-Ui-Message-Stream": {"v1"}}

// reconnect shows the run of a chat that is executed.
func (h *handler) reconnect(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
	path, found := strings.CutSuffix(r.URL.Path, "/stream")
	chat := path[strings.LastIndexByte(path, '/')+1:]
	if !found || chat == "" {
		return &serve.Problem{Code: serve.NotFound, Title: "there is no such path"}
	}
	run, exists, err := c.Executed(r.Context(), chat)
	if err != nil {
		return err
	}
	if !exists {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return h.stream(w, r, c, run, 0, messageOf(run.ID))
}

// stream writes the chunks of a run. Events up to behind belong to earlier requests.
func (h *handler) stream(
	w http.ResponseWriter, r *http.Request, c *serve.Caller, run serve.Run, behind uint64, messageID string,
) error {
	var out *serve.Frames
	t := newTranslator(run.ID, messageID, h.conf, func(c chunk) { out.SendJSON(out.ID(), "", c) })
	return h.server.Stream(w, r, c, serve.StreamConfig{Run: run.ID, AfterToken: behind, OnDisconnect: h.onDisconnect,
		Header: streamHeader,
		Translate: func(e *runlog.Event, frames *serve.Frames) {
			out = frames
			if t.add(e); e.Type == runlog.RunEnd {
				out.Send("", "", []byte("[DONE]"))
			}
		},
		Broken: func(p *serve.Problem, frames *serve.Frames) {
			out = frames
			t.broken(p.Title)
			out.Send("", "", []byte("[DONE]"))
		}})
}
