package agui

import (
	"net/http"
	"time"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/page"
)

// Config configures a Handler. The zero value works.
type Config struct {
	// Agent is the agent that is run, if the pattern that the handler is mounted at has no {agent}.
	Agent string
	// OnDisconnect is what becomes of a run whose client goes away. The default stops it after 30 seconds.
	OnDisconnect *serve.Disconnect
	// TrustHistory takes all messages of a client for what was said, in place of the history of the server. AllowSystem
	// takes system messages, too.
	TrustHistory, AllowSystem bool
	// HideReasoning leaves out what models think.
	HideReasoning bool
	// Steps shows the nodes of graphs.
	Steps bool
	// ShowSubagents shows what sub-agents say to clients of before 1.0, which cannot tell it apart.
	ShowSubagents bool
}

// Handler serves the protocol: a POST is a run, or an answer; a GET with ?threadId= watches the run of a thread again from
// its beginning, and is answered with 204 if none is executed.
func Handler(server *serve.Server, conf Config) http.Handler {
	h := &handler{server, conf, serve.CancelAfter(30 * time.Second)}
	if conf.OnDisconnect != nil {
		h.onDisconnect = *conf.OnDisconnect
	}
	return page.Handler(server, h.run, h.watch)
}

type handler struct {
	server       *serve.Server
	conf         Config
	onDisconnect serve.Disconnect
}

// agent is the agent that a request names.
func (h *handler) agent(r *http.Request) string {
	if name := r.PathValue("agent"); name != "" {
		return name
	}
	return h.conf.Agent
}

// run starts a run, or answers the one of the thread that waits.
func (h *handler) run(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
	in, err := readInput(h.server, r)
	if err != nil {
		return err
	}
	run, behind, err := h.begin(r, c, in)
	if err != nil {
		return err
	}
	return h.stream(w, r, c, run, behind, in.ThreadID, in.RunID, in.ParentRunID, in.isLegacy())
}

// begin starts the run of a request, or answers one. Events up to behind belong to earlier requests.
func (h *handler) begin(r *http.Request, c *serve.Caller, in *input) (run serve.Run, behind uint64, err error) {
	ctx := r.Context()
	if len(in.Resume) > 0 || len(in.results()) > 0 {
		waiting, exists, err := c.LastRun(ctx, in.ThreadID)
		if err != nil {
			return run, 0, err
		}
		if exists && waiting.Status == serve.Waiting {
			answers := in.clientResults(waiting.Questions)
			if len(in.Resume) > 0 {
				answers = in.answers(waiting.Questions)
			}
			if len(answers) > 0 {
				run, err = c.Answer(ctx, waiting.ID, answers, false)
				return run, run.Token, err
			}
		}
		if len(in.Resume) > 0 {
			return run, 0, &serve.Problem{Code: serve.AlreadyAnswered, Title: "the thread waits for no answer"}
		}
	}
	start := serve.Start{Agent: h.agent(r), Thread: in.ThreadID, ClientTools: in.Tools}
	run, err = page.Start(ctx, h.server, c, start, in, page.Trust{History: h.conf.TrustHistory, System: h.conf.AllowSystem})
	return run, 0, err
}

// watch shows the run of a thread that is executed.
func (h *handler) watch(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
	thread := r.URL.Query().Get("threadId")
	run, exists, err := c.Executed(r.Context(), thread)
	if err != nil {
		return err
	}
	if !exists {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return h.stream(w, r, c, run, 0, thread, run.ID, "", false)
}

// stream writes the events of a run.
func (h *handler) stream(
	w http.ResponseWriter, r *http.Request, c *serve.Caller, run serve.Run, behind uint64,
	threadID, runID, parent string, legacy bool,
) error {
	var out *serve.Frames
	t := newTranslator(threadID, runID, h.conf, legacy, func(e event) { out.SendJSON(out.ID(), "", e) })
	t.parentRunID = parent
	return h.server.Stream(w, r, c, serve.StreamConfig{Run: run.ID, Behind: behind, OnDisconnect: h.onDisconnect,
		Translate: func(e *runlog.Event, frames *serve.Frames) {
			if out = frames; e.Token > behind {
				t.begin()
			}
			t.add(e)
		},
		Broken: func(p *serve.Problem, frames *serve.Frames) {
			out = frames
			t.broken(p.Title, string(p.Code))
		}})
}
