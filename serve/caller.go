package serve

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// A Caller is what one client may do: its runs and threads, and questions of others that wait for it. Protocols are made
// of it. Its errors are *Problems. It is safe for concurrent use.
type Caller struct {
	server    *Server
	principal Principal
	// traceparent is the span of the request, "" if there is none.
	traceparent string
}

// Caller authenticates a request. Handlers within [Server.Protect] get the one that was authenticated there.
func (s *Server) Caller(r *http.Request) (*Caller, error) {
	if c, ok := r.Context().Value(callerKey{}).(*Caller); ok && c.server == s {
		return c, nil
	}
	p, err := s.authenticate(r)
	if err != nil {
		return nil, ProblemOf(err)
	}
	return &Caller{server: s, principal: p, traceparent: s.traceparentOf(r)}, nil
}

// Principal is the authenticated caller.
func (c *Caller) Principal() Principal { return c.principal }

// access is the kind of access that a principal has to a run.
type access int

const (
	noAccess   access = iota
	asApprover        // a question of the run waits for the principal
	asOwner
)

// inspect returns a run that the principal may do something with. A run of others is one that there is not.
func (c *Caller) inspect(ctx context.Context, id string, verb Verb) (runs.Info, access, error) {
	missing := NewProblem(NotFound, "there is no such run")
	if !clientID.MatchString(id) {
		return runs.Info{}, noAccess, missing
	}
	info, exists, err := c.server.runs.Inspect(ctx, id)
	if err != nil {
		return info, noAccess, ProblemOf(err)
	}
	how := noAccess
	switch {
	case !exists || c.server.isDeleted(ctx, &info):
	case info.Tags[tagOwner] == c.principal.owner():
		how = asOwner
	default:
		for _, p := range info.Waiting {
			if c.principal.mayAnswer(p, false) {
				how = asApprover
			}
		}
	}
	if how == noAccess || how == asApprover && !verb.isApprovers() {
		return info, noAccess, missing
	}
	err = c.authorize(ctx, Action{Verb: verb, Agent: info.Agent, Run: id, Thread: info.Tags[tagThread]})
	return info, how, err
}

// Agents returns the agents that the principal may know, by name, with what clients can do with them.
func (c *Caller) Agents(ctx context.Context) []AgentInfo {
	return slices.DeleteFunc(c.server.Agents(), func(a AgentInfo) bool {
		return c.authorize(ctx, Action{Verb: ListAgents, Agent: a.Name}) != nil
	})
}

// mayList reports whether a run may be in a list of the principal: it may be read, and its thread is not deleted.
func (c *Caller) mayList(ctx context.Context, info *runs.Info) bool {
	return !c.server.isDeleted(ctx, info) && c.authorize(ctx, readAction(info)) == nil
}

// readAction returns the action of reading a run, for Authorize.
func readAction(info *runs.Info) Action {
	return Action{Verb: ReadRun, Agent: info.Agent, Run: info.ID, Thread: info.Tags[tagThread]}
}

// Run returns a run.
func (c *Caller) Run(ctx context.Context, id string) (Run, error) {
	info, _, err := c.inspect(ctx, id, ReadRun)
	if err != nil {
		return Run{}, err
	}
	return c.server.runOf(info), nil
}

// Result returns a run, with its result if it is done. It waits, up to a time, until the run has ended or waits, or the
// server shuts down.
func (c *Caller) Result(ctx context.Context, id string, wait time.Duration) (Run, error) {
	run, err := c.Run(ctx, id)
	if err != nil {
		return run, err
	}
	if run.Status == runs.Done {
		wait = max(wait, time.Minute)
	}
	if wait <= 0 {
		return run, nil
	}
	waiting, stop := context.WithTimeout(ctx, wait)
	defer stop()
	defer context.AfterFunc(c.server.draining, stop)()
	result, err := c.server.runs.wait(waiting, id)
	if err != nil && (waiting.Err() == nil || ctx.Err() != nil) {
		return run, ProblemOf(err)
	}
	run, err = c.Run(ctx, id)
	if result != nil {
		run.Result = publicMessage(result)
	}
	return run, err
}

// Query says which runs are listed; what is empty does not matter.
type Query struct {
	Agent, Thread string
	Status        runs.Status
	// Before is the Cursor of the last run that was seen. Limit is how many, up to 100; 0 is 20.
	Before string
	Limit  int
}

// Cursor returns the position behind the run, for the After of a list.
func (r *Run) Cursor() string { return r.info.Page() }

// cursor matches positions in lists: the time of a change, and the ID of what changed.
var cursor = regexp.MustCompile(`^[0-9a-f]{1,16}\..+$`)

// isCursor reports whether a list can continue behind a position; "" is its beginning.
func isCursor(text string) bool { return text == "" || cursor.MatchString(text) }

func badCursor() error {
	return NewProblem(BadRequest, "before is none of the positions that lists come with")
}

// Runs lists runs of the principal, the one that changed last first.
func (c *Caller) Runs(ctx context.Context, q Query) ([]Run, error) {
	query, err := runsOf(c.principal, q.Thread)
	if err == nil {
		err = c.authorize(ctx, Action{Verb: ReadRun, Agent: q.Agent, Thread: q.Thread})
	}
	if err != nil {
		return nil, err
	}
	if !isCursor(q.Before) {
		return nil, badCursor()
	}
	query.Agent, query.After = q.Agent, q.Before
	switch q.Status {
	case "":
	case Stopped, runs.Paused:
		query.Status = []runs.Status{runs.Paused}
	case runs.Ready, runs.Running, runs.Waiting, runs.Done, runs.Failed:
		query.Status = []runs.Status{runs.Status(q.Status)}
	default:
		return nil, NewProblem(BadRequest, "there is no status %.32q", q.Status)
	}
	limit := 20
	if q.Limit > 0 {
		limit = min(q.Limit, 100)
	}
	if c.server.settings.authorize == nil && c.server.remover != nil && q.Status != Stopped && q.Status != runs.Paused {
		query.Limit = limit // nothing is left out that the store does not leave out
	}
	all := []Run{}
	for info, err := range c.server.runs.List(ctx, query) {
		if err != nil {
			return nil, ProblemOf(err)
		}
		if q.Status != "" && statusOf(&info) != q.Status || !c.mayList(ctx, &info) {
			continue
		}
		if all = append(all, c.server.runOf(info)); len(all) == limit {
			break
		}
	}
	return all, nil
}

// LastRun returns the run of a thread that was started last, and false if there is none. It needs no conversation: the
// runs of a thread whose history the client has (Start.Stateless) are found, too.
func (c *Caller) LastRun(ctx context.Context, thread string) (last Run, exists bool, err error) {
	all, err := c.Runs(ctx, Query{Thread: thread, Limit: 100})
	for _, r := range all {
		if !exists || r.Created.After(last.Created) {
			last, exists = r, true
		}
	}
	return last, exists, err
}

// Executed returns the run of a thread that is executed or due, and false if there is none.
func (c *Caller) Executed(ctx context.Context, thread string) (Run, bool, error) {
	run, exists, err := c.LastRun(ctx, thread)
	return run, exists && (run.Status == runs.Ready || run.Status == runs.Running), err
}

// Questions lists what waits for the principal, the oldest first: questions of its own runs, and questions of other runs
// that name it or one of its scopes.
func (c *Caller) Questions(ctx context.Context, thread, agent, tool string) ([]OpenQuestion, error) {
	questions := []OpenQuestion{}
	add := func(q runs.Query) error {
		q.Status, q.Agent = []runs.Status{runs.Waiting}, agent
		for info, err := range c.server.runs.List(ctx, q) {
			if err != nil {
				return ProblemOf(err)
			}
			isOwner := info.Tags[tagOwner] == c.principal.owner()
			if q.WaitingFor != "" && isOwner || !c.mayList(ctx, &info) { // its own are among the others
				continue
			}
			for _, p := range info.Waiting {
				if isForClients(p.Kind) && !p.Answered && c.principal.mayAnswer(p, isOwner) && (tool == "" || p.Tool == tool) {
					questions = append(questions, OpenQuestion{Run: info.ID, Thread: info.Tags[tagThread], Question: p})
				}
			}
		}
		return nil
	}
	own, err := runsOf(c.principal, thread)
	if err == nil {
		err = c.authorize(ctx, Action{Verb: ReadRun, Agent: agent, Thread: thread})
	}
	if err != nil {
		return nil, err
	}
	if err := add(own); err != nil {
		return nil, err
	}
	if thread == "" {
		for _, name := range append([]string{c.principal.ID}, c.principal.Scopes...) {
			if err := add(runs.Query{WaitingFor: name}); err != nil {
				return nil, err
			}
		}
	}
	return sortedQuestions(questions), nil
}

// CancelRequest says how to stop a run.
type StopRequest struct {
	// Now gives calls in flight up. Otherwise the run stops where nothing is lost.
	Now bool
	// Timeout is after what time it is stopped at once, 0 never.
	Timeout time.Duration
	Reason  string
}

// Cancel stops a run. It returns when the request is kept; the run stops a little later. What was said so far is kept in
// its thread. A run that has ended is already_answered.
func (c *Caller) Stop(ctx context.Context, id string, how StopRequest) error {
	info, _, err := c.inspect(ctx, id, StopRun)
	if err != nil {
		return err
	}
	switch status := statusOf(&info); {
	case hasEnded(status):
		return NewProblem(AlreadyAnswered, "the run has ended").of(id)
	case status == runs.Paused:
		return NewProblem(Conflict, "the run is paused: nothing of it is executed").of(id)
	}
	if how.Reason == "" {
		how.Reason = "a client has stopped it"
	}
	err = c.server.runs.Stop(ctx, id, runs.StopRequest{Immediate: how.Now, Timeout: how.Timeout, Reason: how.Reason,
		By: c.principal.ID, Children: true})
	if err != nil {
		return ProblemOf(err).of(id)
	}
	return nil
}

// Events yields what happened in a run behind a position, then what happens, until the run has ended; a run that waits is
// followed. They are events for clients: texts of errors, and what models were asked, are left out (see Config). An
// error, a *Problem, is the last item: shutting_down, for callers that wait for an event while the server shuts down.
func (c *Caller) Watch(ctx context.Context, id string, after runs.Cursor) iter.Seq2[runlog.Event, error] {
	return func(yield func(runlog.Event, error) bool) {
		if _, _, err := c.inspect(ctx, id, ReadRun); err != nil {
			yield(runlog.Event{}, err)
			return
		}
		reading, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		defer context.AfterFunc(c.server.draining, func() { stop(errDraining) })()
		for e, err := range c.server.runs.Events(reading, id, after) {
			if err != nil {
				if context.Cause(reading) == errDraining {
					err = &Problem{Code: ShuttingDown, Title: "the server shuts down: connect again", Run: id, RetryAfter: time.Second}
				}
				yield(e, ProblemOf(err))
				return
			}
			if !yield(c.server.publicEvent(e), nil) {
				return
			}
		}
	}
}

// errDraining is the reason for which a caller does not wait for an event any longer.
var errDraining = errors.New("the server shuts down")

// Ticket makes a text with which, for a minute, one request may watch a run instead of whatever it authenticates with.
func (c *Caller) Ticket(ctx context.Context, run string) (string, error) {
	if _, _, err := c.inspect(ctx, run, ReadRun); err != nil {
		return "", err
	}
	text, err := c.server.tickets.make(c.principal, run)
	if err != nil {
		return "", ProblemOf(err)
	}
	return text, nil
}
