package aisdk

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/page"
)

// Config configures a Handler. The zero value is for clients of version 6.
type Config struct {
	// Version is the major version of the AI SDK that the page uses: 6 or 7. The default is 6.
	Version int
	// OnDisconnect is what becomes of a run whose page goes away. The default stops it after 30 seconds.
	OnDisconnect *serve.Disconnect
	// StaticTools are the names of tools that the page has parts of its own for; others are dynamic.
	StaticTools []string
	// TrustHistory takes all messages of a page for what was said, in place of the history of the server. AllowSystem takes
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
	ctx := r.Context()
	if in.last().Role == "assistant" && !h.conf.TrustHistory {
		waiting, exists, err := c.LastRun(ctx, in.ID)
		if err != nil {
			return err
		}
		if !exists || waiting.Status != serve.Waiting {
			return &serve.Problem{Code: serve.AlreadyAnswered, Title: "the chat waits for no answer"}
		}
		run, err := c.Answer(ctx, waiting.ID, in.answers(waiting.Questions), false)
		if err != nil {
			return err
		}
		return h.stream(w, r, c, run, run.Token, in.last().ID)
	}
	start := serve.Start{Agent: h.agent, Thread: in.ID, ClientTools: in.Tools}
	if in.isAgain() && h.server.KeepsThreads() && !h.conf.TrustHistory {
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
	continued := behind == 0
	return h.server.Stream(w, r, c, serve.StreamConfig{Run: run.ID, Behind: behind, OnDisconnect: h.onDisconnect,
		Header: http.Header{"X-Vercel-Ai-Ui-Message-Stream": {"v1"}},
		Translate: func(e *runlog.Event, frames *serve.Frames) {
			out = frames
			if !continued && e.Token > behind {
				continued = true
				t.again()
			}
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
