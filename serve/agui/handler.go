package agui

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/page"
)

// Config configures a Handler. The zero value works.
type Config struct {
	// Agent is the agent that is run, if the pattern that the handler is mounted at has no {agent}.
	Agent string
	// OnDisconnect decides about a run whose client goes away. The default stops it after 30 seconds.
	OnDisconnect *serve.Disconnect
	// TrustHistory takes all messages of a client for what was said, instead of the history of the server. AllowSystem
	// takes system messages, too.
	TrustHistory, AllowSystem bool
	// AllowState takes the state that a client sends with a message as the one that the run begins with (see [State]).
	AllowState bool
	// HideReasoning leaves out what models think.
	HideReasoning bool
	// HideTools leaves out of the capabilities which tools the agent has, and which agents are below it.
	HideTools bool
	// Steps shows the nodes of graphs.
	Steps bool
	// ShowSubagents shows what sub-agents say to clients of before 1.0, which cannot tell it apart.
	ShowSubagents bool
}

// Handler serves the protocol: a POST is a run, or an answer to one that waits; a POST that was sent before is given the
// same run. A GET with ?threadId= watches the run of a thread again from its beginning, and is answered with 204 if none is
// executed; a GET of a path that ends with /{threadId}/runs/{runId} watches that run, whether it has ended or not. Both
// continue behind the header Last-Event-ID, if there is one. A GET of a path that ends with /capabilities says what the
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
	run, behind, again, err := h.begin(r.Context(), c, h.agent(r), in)
	if err != nil {
		return in.refuse(w, err)
	}
	t := h.translator(in.ThreadID, in.RunID, run, in.isLegacy())
	t.parentRunID, t.has, t.again = in.ParentRunID, in.resultsShown(), again
	if h.conf.AllowState && behind == 0 && isState(in.State) {
		t.state.take(in.State)
	}
	return h.stream(w, r, c, run, shownTo{behind: behind, page: newTranscript(in.body)}, t)
}

func (h *handler) translator(thread, runID string, run serve.Run, legacy bool) *translator {
	t := newTranslator(thread, runID, h.conf, legacy, nil)
	t.run, t.descriptions = run.ID, map[string]string{}
	for _, a := range h.server.Agents() {
		for below := range a.About.All() {
			t.descriptions[below.Name] = below.Description
		}
	}
	return t
}

// refuse answers a request that is wrong. What is wrong with an answer, or with a message instead of one, is an error of
// the run, as the protocol has it; the rest is one of HTTP.
func (in *input) refuse(w http.ResponseWriter, err error) error {
	p := serve.ProblemOf(err)
	answers := len(in.Resume) > 0 && page.HasCode(err, serve.BadRequest, serve.NotFound)
	if !answers && !page.HasCode(err, serve.QuestionsOpen, serve.AlreadyAnswered, serve.Expired) {
		return err
	}
	t := newTranslator(in.ThreadID, in.RunID, Config{}, in.isLegacy(), nil)
	var events []any
	t.send = func(e event) { events = append(events, e) }
	t.broken(p.Title, string(p.Code))
	page.Send(w, nil, events...)
	return nil
}

// begin starts the run of a request, or answers one. Events up to behind belong to earlier requests. again: the request was
// made before.
func (h *handler) begin(
	ctx context.Context, c *serve.Caller, agent string, in *input,
) (run serve.Run, behind uint64, again bool, err error) {
	if len(in.Resume) > 0 || len(in.results()) > 0 {
		last, exists, err := c.LastRun(ctx, in.ThreadID)
		if err != nil {
			return run, 0, false, err
		}
		if exists {
			a, err := h.answer(ctx, c, in, last)
			if a.answered || err != nil {
				return a.run, a.behind, a.again, err
			}
		}
		if len(in.Resume) > 0 {
			return run, 0, false, serve.NewProblem(serve.AlreadyAnswered, "the thread waits for no answer")
		}
	}
	start := serve.Start{Agent: agent, Thread: in.ThreadID, ClientTools: in.Tools,
		IdempotencyKey: in.key(in.RunID)}
	if start.SessionValues, err = in.sessionValues(h.conf.AllowState); err != nil {
		return run, 0, false, err
	}
	if run, again, err = c.RunOfKey(ctx, start.IdempotencyKey); err != nil {
		return run, 0, false, err
	}
	if again {
		in.leaveOut(run.ID)
	} else {
		if start.Replaces, err = h.replaced(ctx, c, in); err != nil {
			return run, 0, false, err
		}
	}
	run, err = page.Start(ctx, h.server, c, start, in, page.Trust{History: h.conf.TrustHistory, System: h.conf.AllowSystem})
	return run, 0, again, err
}

// key is the idempotency key of a run of a client.
func (in *input) key(run string) string { return keyOf(in.ThreadID, run) }

func keyOf(thread, run string) string { return page.Key("ag-ui", thread, run) }

// answering is the effect of answers: the run, and what of it belongs to earlier requests. again: they were given before.
type answering struct {
	run             serve.Run
	behind          uint64
	answered, again bool
}

// answer answers a run that waits: all that it asks at once, as the protocol has it. Answers that were given before are no
// error: what came of them is shown again.
func (h *handler) answer(ctx context.Context, c *serve.Caller, in *input, waiting serve.Run) (a answering, err error) {
	answers := map[string]json.RawMessage{}
	if waiting.Status == runs.Waiting {
		answers = in.answers(waiting.Questions)
	}
	asked := slices.ContainsFunc(waiting.Questions, func(q runs.Question) bool { return answers[q.ID] != nil })
	if !asked {
		behind, found := c.RepliedBefore(ctx, waiting.ID, in.answers)
		switch {
		case found:
			return answering{waiting, behind, true, true}, nil
		case len(answers) > 0:
			return a, serve.NewProblem(serve.NotFound, "the thread does not wait for this answer")
		}
		return a, nil
	}
	for _, q := range waiting.Questions {
		if answers[q.ID] == nil && !q.Optional && !q.Answered {
			return a, serve.NewProblem(serve.QuestionsOpen, "question %s, about a call of %q, has no answer: "+
				"all that a run waits for is answered at once", q.ID, q.Tool)
		}
	}
	if err := h.checkNothingNew(ctx, c, in); err != nil {
		return a, err
	}
	run, err := c.Reply(ctx, waiting.ID, answers, false)
	return answering{run: run, behind: run.Token, answered: err == nil}, err
}

// checkNothingNew refuses a new message of the user beside answers: it would be lost.
func (h *handler) checkNothingNew(ctx context.Context, c *serve.Caller, in *input) error {
	at := page.Trailing(in.Messages, (*inMessage).isUser)
	if at == len(in.Messages) || h.conf.TrustHistory || !h.server.KeepsThreads() {
		return nil
	}
	known := map[string]bool{}
	for m, err := range c.Messages(ctx, in.ThreadID) {
		if err != nil {
			return err
		}
		known[m.ID], known[m.ClientID] = true, true
	}
	for _, m := range in.Messages[at:] {
		if m.ID != "" && !known[m.ID] {
			return serve.NewProblem(serve.BadRequest, "there is a new message beside answers: send it when the run has ended")
		}
	}
	return nil
}
