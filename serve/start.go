package serve

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Start is a run that a client wants.
type Start struct {
	// Agent is the name of the agent. Required.
	Agent string
	// Thread is the client's name of the thread that the run is the next turn of: up to 128 letters, digits, and any of
	// "._:-". "" is none.
	Thread string
	// Stateless says that the client has the history of the thread: Messages are all that the agent sees, nothing is kept,
	// and the thread is a name by which the run is found, one run at a time. It is implied on a server that keeps no
	// threads if the history of the client is trusted; otherwise such a server refuses a thread.
	Stateless bool
	// Messages holds the new messages: messages of role user. With TrustHistory, or Config.TrustHistory, also what was
	// said before. At least one is required, unless Replaces says which were.
	Messages []*schema.Message
	// MessageIDs are the IDs by which the client knows Messages, in their order, "" for none. Of a thread that the server
	// keeps, messages that it has by their IDs (see [ThreadMessage]) are left out: a client may not know what has arrived.
	// That none is left is a bad_request, unless Replaces says which question is asked again.
	MessageIDs []string
	// Replaces is a run of the thread that this one takes the place of, as the same turn: what was said in it and behind it
	// is left out of the thread when this run begins. Without Messages the question of that run is asked again. If it has
	// not ended it is stopped.
	Replaces string
	// TrustHistory takes Messages of any role. It is for protocols whose clients have the history, with Stateless.
	TrustHistory bool
	// ClientTools are tools that the client carries out itself (see [ClientTools]).
	ClientTools []ClientTool
	// Format describes the answer, nil for the agent's choice (see [ClientFormats]).
	Format *Format
	// SessionValues sets the session values at the beginning of the run, for protocols: their types must be registered
	// (schema.RegisterName), and their keys are not to begin with "weft.serve.".
	SessionValues map[string]any
	// Sampling replaces settings of the agent's models in the run.
	Sampling Sampling
	// Labels are the application's, for lists: up to 10.
	Labels map[string]string
	// IdempotencyKey is any text of the client's: the same key and request again give the same run, another request with it
	// is a conflict. "" has every request start a run.
	IdempotencyKey string
}

// Start starts a run, and returns it: it is due, and not executed yet. It does not wait.
func (c *Caller) Start(ctx context.Context, start Start) (Run, error) {
	job, err := c.jobOf(ctx, &start)
	if err != nil {
		return Run{}, err
	}
	return c.makeRun(ctx, making{id: job.ID, tags: job.Tags, make: func() (runs.Info, error) {
		return c.submit(ctx, &start, &job)
	}})
}

// submit makes a run of a job, if its thread and the limits let it.
func (c *Caller) submit(ctx context.Context, start *Start, job *dispatch.Job) (info runs.Info, err error) {
	if err := c.dropKnownMessages(ctx, start, job); err != nil {
		return info, err
	}
	if err := c.checkReplaced(ctx, job); err != nil {
		return info, err
	}
	preempted, err := c.checkThread(ctx, job)
	if err != nil {
		return info, err
	}
	release, err := c.checkRates(ctx)
	if err != nil {
		return info, err
	}
	defer release()
	if err := c.stopFor(ctx, preempted); err != nil {
		return info, err
	}
	if err := c.server.makeThread(ctx, c.principal, job); err != nil {
		return info, err
	}
	return c.server.runs.submit(ctx, *job)
}

// jobOf checks a request, and makes the job of it.
func (c *Caller) jobOf(ctx context.Context, start *Start) (job dispatch.Job, err error) {
	s := c.server
	agent, known := s.agents[start.Agent]
	if !known {
		return job, NewProblem(NotFound, "there is no agent %q", start.Agent)
	}
	if err := c.authorize(ctx, Action{Verb: StartRun, Agent: start.Agent, Thread: start.Thread}); err != nil {
		return job, err
	}
	owner := c.principal.owner()
	job = dispatch.Job{ID: newRunID(), Agent: start.Agent, Messages: start.Messages, Streaming: true,
		Tags: map[string]string{tagOwner: owner}}
	if start.Replaces != "" && start.Thread == "" {
		return job, NewProblem(BadRequest, "a run that takes the place of another one is in its thread: say which")
	}
	if len(start.Messages) > 0 || start.Replaces == "" {
		if job.Messages, err = s.takeMessages(start.Messages, start.TrustHistory || s.settings.trustHistory); err != nil {
			return job, err
		}
	}
	if job.Messages, err = identified(job.Messages, start.MessageIDs); err != nil {
		return job, err
	}
	if err := c.putInThread(&job, start); err != nil {
		return job, err
	}
	if err := addLabels(job.Tags, start.Labels); err != nil {
		return job, err
	}
	if job.SessionValues, err = s.sessionValues(agent, start); err != nil {
		return job, ProblemOf(err)
	}
	if sampling, err := start.Sampling.encode(); err != nil {
		return job, err
	} else if sampling != "" {
		job.Tags[tagSampling] = sampling
	}
	if s.settings.maxRunTime > 0 {
		job.Deadline = time.Now().Add(s.settings.maxRunTime)
	}
	if c.traceparent != "" {
		job.SessionValues = put(job.SessionValues, submittedBy, any(c.traceparent))
	}
	if start.IdempotencyKey == "" {
		return job, nil
	}
	request, err := requestOf(start, &job)
	if err != nil {
		return job, ProblemOf(err)
	}
	job.ID, job.Tags, err = keyed(owner, start.IdempotencyKey, request, job.Tags)
	return job, err
}

// putInThread says which thread a job is in, if it is in one.
func (c *Caller) putInThread(job *dispatch.Job, start *Start) (err error) {
	if start.Thread == "" {
		return nil
	}
	s := c.server
	if job.Key, err = s.threadOf(c.principal, start); err != nil {
		return err
	}
	job.Tags[tagThread] = start.Thread
	if start.Replaces != "" {
		job.Tags[tagReplaces] = start.Replaces
	}
	if s.isStateless(start) {
		job.Tags[tagStateless] = "true"
	}
	switch s.settings.busy {
	case RejectBusy:
		job.OnBusy = dispatch.Reject
	case PreemptBusy:
		job.OnBusy = dispatch.Interrupt
	}
	return nil
}

// requestOf returns the text by which a request is compared when it is sent again. What not all releases know is in it
// only if it is there: while a fleet is replaced, both must say the same.
func requestOf(start *Start, job *dispatch.Job) (string, error) {
	tools, _ := job.SessionValues[clientToolsKey].(string)
	parts := []any{start.Agent, start.Thread, job.Messages, start.Labels, tools, start.Sampling, start.Replaces,
		start.SessionValues, start.Stateless}
	if format := job.SessionValues[clientFormatKey]; format != nil {
		parts = append(parts, format)
	}
	data, err := json.Marshal(parts)
	return string(data), err
}

// addLabels adds the labels of a client to the tags of a run.
func addLabels(tags, labels map[string]string) error {
	if len(labels) > maxLabels {
		return NewProblem(BadRequest, "there are more than %d labels", maxLabels)
	}
	for key, value := range labels {
		if key == "" || len(key) > 128 || len(value) > 128 || strings.HasPrefix(key, tagPrefix) {
			return NewProblem(BadRequest, "label %.64q is empty, longer than 128 bytes, or begins with %q", key, tagPrefix)
		}
		tags[key] = value
	}
	return nil
}

// sessionValues returns the values that a run begins with: of the protocol, and what the client has brought.
func (s *Server) sessionValues(agent *served, start *Start) (map[string]any, error) {
	tools, err := s.encodeClientTools(start.ClientTools)
	if err == nil {
		err = agent.tools.check(start.ClientTools)
	}
	if err != nil {
		return nil, err
	}
	format, err := s.encodeFormat(agent, start.Format)
	if err != nil {
		return nil, err
	}
	values := maps.Clone(start.SessionValues)
	for key, text := range map[string]string{clientToolsKey: tools, clientFormatKey: format} {
		if text != "" {
			values = put(values, key, any(text))
		}
	}
	return values, nil
}

// isStateless reports whether the client has the history of the thread of a run.
func (s *Server) isStateless(start *Start) bool {
	return start.Stateless || !s.KeepsThreads() && (start.TrustHistory || s.settings.trustHistory)
}

// threadOf is the key of the thread that a run is in.
func (s *Server) threadOf(p Principal, start *Start) (key string, err error) {
	switch stateless := s.isStateless(start); {
	case stateless && start.Replaces != "":
		return "", NewProblem(BadRequest, "the client has the history of the thread: send what is to be answered in place of replaces")
	case stateless:
		return threadKey(p, start.Thread)
	}
	return s.conversationOf(p, start.Thread)
}

// checkReplaced refuses a run instead of one that is no turn of the thread, and gives it the question of that one if it
// has none of its own.
func (c *Caller) checkReplaced(ctx context.Context, job *dispatch.Job) error {
	replaced := job.Tags[tagReplaces]
	if replaced == "" {
		return nil
	}
	thread := conversation.Open(c.server.settings.conversations, job.Key)
	t, found, err := thread.Find(ctx, replaced)
	if err != nil {
		return ProblemOf(err)
	}
	if found && len(job.Messages) == 0 {
		job.Messages = t.Asked
	}
	if found && len(job.Messages) > 0 {
		return nil
	}
	info, exists, err := c.server.runs.Inspect(ctx, replaced) // one that has not begun has no turn yet, or has said nothing
	switch {
	case err != nil:
		return ProblemOf(err)
	case !exists || info.Key != job.Key:
		return NewProblem(NotFound, "the thread has no such turn")
	}
	for t, err := range thread.Turns(ctx) {
		switch {
		case err != nil:
			return ProblemOf(err)
		case t.ID == replaced:
			return NewProblem(Conflict, "another run has taken the place of that one: read the thread again").of(replaced)
		}
	}
	if len(job.Messages) == 0 {
		return NewProblem(BadRequest, "the thread does not have the question of that run: send the messages")
	}
	return nil
}

// checkThread refuses a run in a thread that has one which has not ended, as the configuration says. It returns the runs
// that give way: one that is replaced, one that is to be stopped because its clients have gone away, and if the
// configuration says so, those that wait for answers.
func (c *Caller) checkThread(ctx context.Context, job *dispatch.Job) (preempted []string, err error) {
	if job.Key == "" {
		return nil, nil
	}
	s := c.server
	active := 0
	for info, err := range s.runs.List(ctx, runs.Query{Key: job.Key,
		Status: []runs.Status{runs.Ready, runs.Running, runs.Waiting}}) {
		switch {
		case err != nil:
			return nil, ProblemOf(err)
		case info.ID == job.Tags[tagReplaces] || s.watchers.isAbandoned(info.ID):
			preempted, job.OnBusy = append(preempted, info.ID), dispatch.Enqueue // until it has stopped
		case info.Status == runs.Waiting && s.settings.abandonInterrupts:
			preempted = append(preempted, info.ID)
		case info.Status == runs.Waiting:
			return nil, NewProblem(QuestionsOpen, "the thread waits for an answer").of(info.ID)
		case s.settings.busy == RejectBusy:
			return nil, NewProblem(Busy, "another run of the thread has not ended").of(info.ID)
		default:
			active++
		}
	}
	if s.settings.busy == QueueBusy && active >= queueLength {
		return nil, NewProblem(TooMany, "%d runs of the thread have not ended", active)
	}
	return preempted, nil
}

// stopFor stops runs of a thread that give way to another one.
func (c *Caller) stopFor(ctx context.Context, all []string) error {
	stop := runs.StopRequest{Immediate: true, Reason: "another message came", By: c.principal.ID, Children: true}
	for _, id := range all {
		if err := c.server.runs.Stop(ctx, id, stop); err != nil && !errors.Is(err, runs.ErrEnded) {
			return ProblemOf(err)
		}
	}
	return nil
}

// checkRates refuses what is too much. Otherwise the run has a place among the runs of the principal, until it is in the
// store: then release is called.
func (c *Caller) checkRates(ctx context.Context) (release func(), err error) {
	s, owner := c.server, c.principal.owner()
	l := s.settings.limits
	own := map[string]string{tagOwner: owner}
	asking, err := s.runs.count(ctx, runs.Query{Tags: own, Status: waiting, Limit: l.WaitingPerPrincipal})
	if err != nil {
		return nil, ProblemOf(err)
	}
	if asking >= l.WaitingPerPrincipal {
		return nil, &Problem{Code: TooMany, Title: "too many of your runs wait for answers: answer or stop some", RetryAfter: time.Minute}
	}
	release, ok, err := s.reserved.take(owner, l.RunsPerPrincipal, func() (int, error) {
		return s.runs.count(ctx, runs.Query{Tags: own, Status: executedOrDue, Limit: l.RunsPerPrincipal})
	})
	if err != nil {
		return nil, ProblemOf(err)
	}
	if !ok {
		return nil, &Problem{Code: TooMany, Title: "you have too many runs that have not ended", RetryAfter: 5 * time.Second}
	}
	if err := c.checkLoad(ctx, owner); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// checkLoad refuses a run that is too much for the server, or for a minute of the principal.
func (c *Caller) checkLoad(ctx context.Context, owner string) error {
	s := c.server
	l := s.settings.limits
	if room, err := s.load.add(ctx, s.runs, l.Runs); err != nil {
		return ProblemOf(err)
	} else if !room {
		return &Problem{Code: TooMany, Title: "the server has too many runs", RetryAfter: 5 * time.Second}
	}
	if after, ok := s.starts.allow(owner, l.StartsPerMinute); !ok {
		return &Problem{Code: TooMany, Title: "you start too many runs", RetryAfter: after}
	}
	return nil
}
