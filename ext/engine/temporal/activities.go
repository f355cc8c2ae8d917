package temporalengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
)

const (
	// mostOutcome is the number of bytes that the outcome of an attempt may have in the history, and mostSummaries the part
	// of them that summaries of questions may have.
	mostOutcome   = 8 << 10
	mostSummaries = 3 << 10
	// mostDetails is the number of bytes that Config.Details may have.
	mostDetails = 2 << 10
	// longestSummary is the most of a summary, and of a name.
	longestSummary = 200
	// lookAtKey is the longest interval at which a run is looked at that waits for another one of its key to end.
	lookAtKey = 5 * time.Minute
)

// retried is an error after which an attempt is tried again. It says nothing of what is in the run.
func retried(id, errType, why string, after time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(fmt.Sprintf("run %q: %s", id, why), errType,
		temporal.ApplicationErrorOptions{NextRetryDelay: after})
}

// notFound ends a workflow whose run is no more.
func notFound(id string) error {
	return temporal.NewNonRetryableApplicationError(
		fmt.Sprintf("run %q is not in the store: it has expired, or was removed", id), ErrTypeNotFound, nil)
}

// attempt is the activity that executes a run until it ends or waits.
func (e *TypedEngine[M]) attempt(ctx context.Context, in attemptInput) (outcome, error) {
	info, exists, err := e.d.Inspect(ctx, in.ID)
	switch {
	case err != nil:
		return outcome{}, e.broken(ctx, in.ID, err)
	case !exists:
		return outcome{}, notFound(in.ID)
	case info.Tenant != e.options.Tenant:
		return outcome{}, retried(in.ID, ErrTypeWrongWorker, "this worker is not that of its tenant", dispatch.WrongWorkerDelay)
	case info.Status == runs.Ready && info.Owner == "" && time.Until(info.WakeAt) > 0: // its time has not come
		return e.outcome(ctx, info)
	}
	for {
		o, err := e.execute(ctx, in.ID)
		if err != nil {
			return e.refused(ctx, info, err)
		}
		// What follows is short, and is done also by a worker that ends.
		ctx := context.WithoutCancel(ctx)
		info.Status, info.Waiting, info.WakeAt = o.Status, o.Questions, o.WakeAt
		switch o.Status {
		case runs.Ready:
			if time.Until(o.WakeAt) <= 0 {
				return outcome{}, retried(in.ID, ErrTypeMoved, "its worker ends; another one continues", time.Millisecond)
			}
		case runs.Waiting: // and may have its answers already
			now, exists, err := e.d.Inspect(ctx, in.ID)
			if err != nil || !exists {
				break
			}
			if now.Status == runs.Ready && now.Owner == "" {
				continue
			}
			if now.Status == runs.Waiting || now.Status == runs.Paused {
				info = now
			}
		default:
			e.ended(ctx, info, in.Detached && o.Status != runs.Paused)
		}
		return e.outcome(ctx, info)
	}
}

// execute executes an attempt, with heartbeats that say how far it is. It drains when the worker ends, and when Temporal
// wants the activity to end, for whatever reason: who cancels a workflow has the run stopped in the store, too.
func (e *TypedEngine[M]) execute(ctx context.Context, id string) (dispatch.TypedResult[M], error) {
	over, begin := make(chan struct{}), make(chan struct{})
	defer close(over)
	heartbeat := activity.GetInfo(ctx).HeartbeatTimeout
	var meter dispatch.Meter
	go func() {
		beat := time.NewTicker(max(heartbeat/3, 100*time.Millisecond))
		defer beat.Stop()
		for {
			select {
			case <-over:
				return
			case <-beat.C:
				activity.RecordHeartbeat(ctx, meter.Progress())
				continue
			case <-activity.GetWorkerStopChannel(ctx):
			case <-ctx.Done():
			}
			break
		}
		close(begin)
		for {
			select {
			case <-over:
				return
			case <-beat.C: // it may still take Config.StopGrace
				activity.RecordHeartbeat(ctx, meter.Progress())
			}
		}
	}()
	return e.d.Execute(context.WithoutCancel(ctx), id, dispatch.WithDrain(begin, e.options.StopGrace),
		dispatch.WithMeter(&meter), dispatch.WithTTL(heartbeat*2/3))
}

// refused returns the outcome or the error for an attempt that ended with err, so that the state of the run is not
// known.
func (e *TypedEngine[M]) refused(ctx context.Context, before runs.Info, err error) (outcome, error) {
	id := before.ID
	var busy *runs.BusyError
	switch {
	case errors.Is(err, runs.ErrNotFound):
		return outcome{}, notFound(id)
	case errors.Is(err, dispatch.ErrWrongWorker):
		return outcome{}, retried(id, ErrTypeWrongWorker, "this worker does not execute agent "+before.Agent, dispatch.WrongWorkerDelay)
	case !errors.As(err, &busy):
		return outcome{}, e.broken(ctx, id, err)
	}
	if info, exists, err := e.d.Inspect(ctx, id); err == nil && exists && info.Owner == "" && info.Key != "" {
		// Another run of its key is in front. The worker that executes that one signals when it ends.
		o, err := e.outcome(ctx, info)
		o.WakeIn = lookAtKey
		return o, err
	}
	rest := min(max(time.Until(busy.Until), 0), time.Minute) + time.Duration(rand.Int64N(int64(time.Second)))
	return outcome{}, retried(id, ErrTypeBusy, "somebody else has it", rest)
}

// broken logs an error, whose text may say anything, and returns one that says nothing.
func (e *TypedEngine[M]) broken(ctx context.Context, id string, err error) error {
	activity.GetLogger(ctx).Warn("a run was broken off; whoever takes it continues", "run", id, "error", err)
	return temporal.NewApplicationError(
		fmt.Sprintf("run %q was broken off: the log of the worker has the reason", id), ErrTypeBroken)
}

// ended signals the end of a run to who waits for it: its parent, and the next run of its key. It is a service:
// they look by themselves now and then.
func (e *TypedEngine[M]) ended(ctx context.Context, run runs.Info, parent bool) {
	var err error
	if parent && run.Parent != "" {
		err = e.changed(ctx, run.Parent, Changed{})
	}
	if run.Key != "" {
		err = errors.Join(err, e.signalNext(ctx, run.Key))
	}
	if err != nil {
		activity.GetLogger(ctx).Warn("runs that wait for a run were not signaled when it ended", "run", run.ID, "error", err)
	}
}

// signalNext has the next run of a key begin.
func (e *TypedEngine[M]) signalNext(ctx context.Context, key string) error {
	var next runs.Info
	for run, err := range e.d.List(ctx, runs.Query{Key: key, Status: []runs.Status{runs.Ready}}) {
		if err != nil {
			return err
		}
		if next.ID == "" || run.Created.Before(next.Created) {
			next = run
		}
	}
	if next.ID == "" {
		return nil
	}
	return e.signal(ctx, next, Changed{})
}

// outcome returns what the workflow is told about a run.
func (e *TypedEngine[M]) outcome(ctx context.Context, info runs.Info) (outcome, error) {
	o := outcome{Agent: cut(info.Agent, longestSummary), Tenant: cut(info.Tenant, longestSummary), Status: info.Status, Details: e.describe(info)}
	switch info.Status {
	case runs.Ready:
		o.WakeIn = fromNow(info.WakeAt)
	case runs.Waiting, runs.Paused:
		if err := e.questions(ctx, info, &o); err != nil {
			return outcome{}, e.broken(ctx, info.ID, err)
		}
	}
	return o, nil
}

// questions fills in what a run waits for, as far as there is room in the history. Runs that it waits for and that there
// is no room for get workflows of their own, which signal when they end.
func (e *TypedEngine[M]) questions(ctx context.Context, info runs.Info, o *outcome) error {
	children, err := e.openChildren(ctx, info)
	if err != nil {
		return err
	}
	room := room{outcome: mostOutcome - sizeOf(o) - len(`,"Waiting":[],"WakeIn":,"LookIn":,"More":`) - 3*20,
		summaries: mostSummaries}
	for _, p := range info.Waiting {
		point := Question{ID: p.ID, Kind: p.Kind, For: p.For, Optional: p.Optional, Answered: p.Answered,
			Text: cut(p.Text, longestSummary)}
		child, open := children[childOf(p)]
		if open {
			point.Child, point.TaskQueue = child.ID, e.TaskQueue(child.Queue)
		}
		if room.take(&point) {
			o.Waiting = append(o.Waiting, point)
		} else {
			o.More++
			if open {
				err = errors.Join(err, e.start(ctx, child))
			}
		}
		if info.Status == runs.Waiting && !p.Answered && !p.Expires.IsZero() {
			o.WakeIn = sooner(o.WakeIn, fromNow(p.Expires))
		}
	}
	if len(children) > 0 || info.Status == runs.Waiting && !info.WakeAt.IsZero() {
		o.LookIn = fromNow(info.WakeAt)
	}
	return err
}

// room counts the bytes that are left of an outcome for questions.
type room struct{ outcome, summaries int }

// take reports whether there is room for a question, if need be without its summary, and without whom it waits for.
func (r *room) take(p *Question) bool {
	if len(p.Text) > r.summaries {
		p.Text = ""
	}
	size := sizeOf(p) + len(",")
	if size > r.outcome {
		p.Text, p.For = "", nil
		size = sizeOf(p) + len(",")
	}
	if size > r.outcome {
		return false
	}
	r.outcome -= size
	r.summaries -= len(p.Text)
	return true
}

// sizeOf is the number of bytes that a value has in the history.
func sizeOf(v any) int {
	data, err := json.Marshal(v)
	if err != nil { // there is nothing in our types that is no JSON
		return mostOutcome
	}
	return len(data)
}

// openChildren are the runs that a run waits for and that have not ended.
func (e *TypedEngine[M]) openChildren(
	ctx context.Context, info runs.Info,
) (map[string]runs.Info, error) {
	waits := false
	for _, p := range info.Waiting {
		waits = waits || p.Kind == runs.KindRun && !p.Answered
	}
	children := map[string]runs.Info{}
	if !waits {
		return children, nil
	}
	for child, err := range e.d.List(ctx, runs.Query{Parent: info.ID}) {
		if err != nil {
			return nil, err
		}
		if child.Status != runs.Done && child.Status != runs.Failed {
			children[child.ID] = child
		}
	}
	return children, nil
}

// childOf is the run that a question waits for, "" if it is no such question.
func childOf(p runs.Question) string {
	var info struct {
		Run string `json:"run"`
	}
	if p.Kind != runs.KindRun || json.Unmarshal(p.Info, &info) != nil {
		return ""
	}
	return info.Run
}

// describe calls Config.Details. A panic of it is no reason to fail.
func (e *TypedEngine[M]) describe(info runs.Info) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint("Config.Details: panic: ", v)
		}
	}()
	return cut(e.details(info), mostDetails)
}

// fromNow returns the time from now until a time, at least a moment, 0 for the zero time.
func fromNow(at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return max(time.Until(at), 100*time.Millisecond)
}

// sooner is the shorter of two durations of which 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// cut cuts a text between runes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for i := range text {
		if i > most-len("…")-4 {
			return text[:i] + "…"
		}
	}
	return text
}

// answerQuestion is the activity that gives an answer to the store.
func (e *TypedEngine[M]) answerQuestion(ctx context.Context, in replyInput) error {
	var encoded runs.Reply
	var err error
	if len(in.Answer.Data) == 0 || string(in.Answer.Data) == "null" {
		encoded, err = runs.EncodeReply(in.Answer.To, nil)
	} else {
		encoded, err = runs.EncodeReply(in.Answer.To, runs.JSONReply(in.Answer.Data))
	}
	if err != nil {
		return temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("run %q: the answer is no JSON", in.ID), ErrTypeInvalid, nil)
	}
	encoded.By = in.Answer.By
	return e.control(ctx, in.ID, e.d.Reply(ctx, in.ID, encoded))
}

// stop is the activity that stops a run in the store.
func (e *TypedEngine[M]) stop(ctx context.Context, in stopInput) error {
	s := in.Stop
	switch {
	case s.Timeout == 0:
		s.Timeout = e.options.StopGrace
	case s.Timeout < 0:
		s.Timeout = 0
	}
	return e.control(ctx, in.ID, e.stopRun(ctx, in.ID, runs.StopRequest{
		Immediate: s.Immediate, Timeout: s.Timeout, Reason: s.Reason, By: s.By, Children: s.Children}))
}

// resume is the activity that has a run continue in the store.
func (e *TypedEngine[M]) resume(ctx context.Context, id string) error {
	return e.control(ctx, id, e.continueRun(ctx, id))
}

// control returns the error of a request for an error of the store, which refuses it or could not be reached.
func (e *TypedEngine[M]) control(ctx context.Context, id string, err error) error {
	refused := func(errType, why string) error {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("run %q: %s", id, why), errType, nil)
	}
	switch {
	case err == nil, errors.Is(err, runs.ErrEnded):
		return nil
	case errors.Is(err, runs.ErrNotFound):
		return notFound(id)
	case errors.Is(err, runs.ErrReplied):
		return refused(ErrTypeReplied, "the question was answered before")
	case errors.Is(err, runs.ErrNotWaiting):
		return refused(ErrTypeNotWaiting, "it does not wait for that")
	}
	return e.broken(ctx, id, err)
}
