package agui

import (
	"net/http"
	"slices"
	"strings"
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
	// AllowState takes the state that a client sends with a message as the one that the run begins with (see [State]).
	AllowState bool
	// HideReasoning leaves out what models think.
	HideReasoning bool
	// Steps shows the nodes of graphs.
	Steps bool
	// ShowSubagents shows what sub-agents say to clients of before 1.0, which cannot tell it apart.
	ShowSubagents bool
}

// Handler serves the protocol: a POST is a run, or an answer; a GET with ?threadId= watches the run of a thread again from
// its beginning, and is answered with 204 if none is executed; a GET of a path that ends with /capabilities says what the
// agent and the server can do.
func Handler(server *serve.Server, conf Config) http.Handler {
	h := &handler{server, conf, serve.CancelAfter(30 * time.Second)}
	if conf.OnDisconnect != nil {
		h.onDisconnect = *conf.OnDisconnect
	}
	return page.Handler(server, h.run, h.get)
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
	t := newTranslator(in.ThreadID, in.RunID, h.conf, in.isLegacy(), nil)
	t.parentRunID = in.ParentRunID
	if h.conf.AllowState && behind == 0 {
		t.state.take(in.State)
	}
	return h.stream(w, r, c, run, behind, t)
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
	if h.conf.AllowState {
		if start.SessionValues, err = stateOf(in.State); err != nil {
			return run, 0, err
		}
	}
	run, err = page.Start(ctx, h.server, c, start, in, page.Trust{History: h.conf.TrustHistory, System: h.conf.AllowSystem})
	return run, 0, err
}

// get answers what asks for something.
func (h *handler) get(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
	if strings.HasSuffix(r.URL.Path, "/capabilities") {
		return h.capabilities(w, r)
	}
	return h.watch(w, r, c)
}

// capabilities says what the agent and the server can do, as clients ask for it before they show anything.
func (h *handler) capabilities(w http.ResponseWriter, r *http.Request) error {
	agents := h.server.Agents()
	at := slices.IndexFunc(agents, func(a serve.AgentInfo) bool { return a.Name == h.agent(r) })
	if at < 0 {
		return serve.NewProblem(serve.NotFound, "there is no agent %q", h.agent(r))
	}
	type flags map[string]bool
	serve.SendJSON(w, http.StatusOK, map[string]any{
		"identity":       map[string]string{"name": agents[at].Name, "description": agents[at].Description, "type": "weft"},
		"transport":      flags{"streaming": true, "resumable": true},
		"tools":          flags{"supported": true, "parallelCalls": true, "clientProvided": h.server.TakesClientTools()},
		"state":          flags{"snapshots": true, "deltas": true, "persistentState": h.conf.AllowState, "memory": h.server.KeepsThreads()},
		"multiAgent":     flags{"supported": true, "delegation": true, "handoffs": true},
		"reasoning":      flags{"supported": !h.conf.HideReasoning, "streaming": !h.conf.HideReasoning},
		"humanInTheLoop": flags{"supported": true, "approvals": true, "interrupts": true, "approveWithEdits": true},
	})
	return nil
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
	return h.stream(w, r, c, run, 0, newTranslator(thread, run.ID, h.conf, false, nil))
}

// stream writes the events of a run.
func (h *handler) stream(
	w http.ResponseWriter, r *http.Request, c *serve.Caller, run serve.Run, behind uint64, t *translator,
) error {
	var out *serve.Frames
	t.send = func(e event) { out.SendJSON(out.ID(), "", e) }
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
