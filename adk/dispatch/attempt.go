package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

// stopSource names the process or person that stopped an attempt, which owns it.
//
//	from    to      when
//	none    drain   its worker ends, or its context has
//	none    user    the runner has a request of the store
//	drain   user    the same
type stopSource int

const (
	stoppedByNobody stopSource = iota
	stoppedByDrain
	stoppedByUser
)

// attempt is the lease that a runner executes a stretch on. It passes everything on to the lease of the store, and
// decides the outcome of the run: what only the dispatcher knows, such as when it is tried again and which runs it waits
// for, goes into the same settlement.
type attempt[M adk.MessageType] struct {
	runs.Lease
	d     *TypedDispatcher[M]
	info  runs.Info
	clock core.StoreClock
	drain *drain
	// meter measures the stretch, nil if it is not measured.
	meter *Meter
	// over is closed when the stretch has ended.
	over chan struct{}
	// record is the record of the stretch, nil if there is none.
	record *runlog.Recorder
	// turn gives the turn of a suspect back, nil if the run is none.
	turn func()

	mu sync.Mutex // guards the fields below
	// sign is the time at which the last write was begun that made the lease count, until the runner has it.
	sign time.Time
	// by names who had it stopped.
	by stopSource
	// settled is the settlement that ended the stretch, nil while it has not ended.
	settled *runs.Settlement
	// failed is the last error of the store, other than that the lease is lost.
	failed error
	// used: the runner has used the lease.
	used bool
	// written counts the records of the stretch that the store has.
	written int
	// ignoreDrain ends the wait for the drain, nil if there is no wait.
	ignoreDrain func() bool
}

// takenLease is a lease with when it was asked for, and the clock of its store.
type takenLease struct {
	runs.Lease
	asked time.Time
	clock core.StoreClock
}

// newTakenLease makes one of a lease that has just been taken.
func newTakenLease(lease runs.Lease, asked time.Time) *takenLease {
	return &takenLease{lease, asked, core.NewStoreClock(lease.Info())}
}

// hold makes the lease of a stretch.
func (d *TypedDispatcher[M]) hold(lease *takenLease, info runs.Info, o executeOptions) *attempt[M] {
	h := &attempt[M]{Lease: lease.Lease, d: d, info: info, clock: lease.clock, sign: lease.asked, drain: o.drain,
		meter: o.meter, over: make(chan struct{})}
	h.meter.begin(lease.Token())
	if d.conf.Log != nil {
		h.record = d.conf.Log.Record(runlog.About{ID: info.ID, Conversation: info.Key, Labels: info.Tags,
			TakenOver: info.Status == runs.Running}, lease.Token())
	}
	return h
}

// release ends what waits for requests to stop the stretch.
func (h *attempt[M]) release() {
	close(h.over)
	h.endTurn()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ignoreDrain != nil {
		h.ignoreDrain()
	}
}

// SignOfLife is from when on the lease counts: see core.SignOfLife. (F7)
func (h *attempt[M]) SignOfLife() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sign
}

// keepUntilUsed renews the lease until the runner uses it, which renews it from then on, or until stop is called: what
// makes the runner may take longer than the lease.
func (h *attempt[M]) keepUntilUsed() (stop func() bool) {
	every := h.TTL() / 3
	var timer *time.Timer
	h.mu.Lock()
	defer h.mu.Unlock()
	timer = time.AfterFunc(every, func() {
		if h.isUsed() {
			return
		}
		begun := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), h.TTL())
		defer cancel()
		err := h.Renew(ctx)
		h.mu.Lock()
		defer h.mu.Unlock()
		if err == nil {
			h.sign = begun
		}
		if !h.used && h.settled == nil && !errors.Is(err, runs.ErrLeaseLost) {
			timer.Reset(every)
		}
	})
	return timer.Stop
}

// NotifyStops implements core.StopNotifier: requests come from the store, and from the worker when it drains.
func (h *attempt[M]) NotifyStops(stop func(runs.StopRequest)) {
	core.NotifyStops(h.Lease, h.over, func(how runs.StopRequest) {
		h.stopped(stoppedByUser)
		stop(how)
	})
	ignore := h.drain.onRequest(func(how runs.StopRequest) {
		h.stopped(stoppedByDrain)
		stop(how)
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ignoreDrain = ignore
}

// Unwrap returns the lease of the store, for what it offers beside a runs.Lease.
func (h *attempt[M]) Unwrap() runs.Lease { return h.Lease }

// stopped notes who has the run stopped.
func (h *attempt[M]) stopped(by stopSource) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.by = max(h.by, by)
}

// note remembers that the lease is used, and whether the store failed.
func (h *attempt[M]) note(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.used = true
	switch {
	case errors.Is(err, runs.ErrLeaseLost):
		h.d.count(CountFenced, h.info)
	case err != nil:
		h.failed = err
	}
	return err
}

// Renew measures how long the store takes.
func (h *attempt[M]) Renew(ctx context.Context) error {
	begun := time.Now()
	err := h.Lease.Renew(ctx)
	h.d.observe(ObserveRenewal, time.Since(begun), h.info)
	if errors.Is(err, runs.ErrLeaseLost) {
		h.d.count(CountFenced, h.info)
	}
	return err
}

func (h *attempt[M]) Get(ctx context.Context, id string) ([]byte, bool, error) {
	data, exists, err := h.Lease.Get(ctx, id)
	return data, exists, h.note(err)
}

func (h *attempt[M]) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	records, err := h.Lease.ReadRecords(ctx, id)
	return records, h.note(err)
}

func (h *attempt[M]) AppendRecord(ctx context.Context, id string, record []byte) error {
	err := h.note(h.Lease.AppendRecord(ctx, id, record))
	if err == nil {
		h.meter.step()
		h.wrote()
	}
	return err
}

// wrote counts a record of a suspect: the first one says only that it is executed, and the next one that it is innocent.
func (h *attempt[M]) wrote() {
	if h.turn == nil {
		return
	}
	h.mu.Lock()
	h.written++
	isStep := h.written > 1
	h.mu.Unlock()
	if isStep {
		h.endTurn()
	}
}

// endTurn lets the next suspect be executed.
func (h *attempt[M]) endTurn() {
	if h.turn != nil {
		h.turn()
	}
}

func (h *attempt[M]) RemoveRecords(ctx context.Context, id string) error {
	return h.note(h.Lease.RemoveRecords(ctx, id))
}

func (h *attempt[M]) Replies(ctx context.Context) ([]runs.Reply, error) {
	answers, err := h.Lease.Replies(ctx)
	return answers, h.note(err)
}

// Settle decides what the runner says and settles the run in the store.
func (h *attempt[M]) Settle(ctx context.Context, s runs.Settlement) error {
	if s.Status == "" { // the stretch settles it: it knows why the runner could not continue
		return h.note(nil)
	}
	h.decide(ctx, &s)
	if h.record != nil {
		s.Usage = h.record.Usage(h.info.Usage)
	}
	err := h.note(h.Lease.Settle(ctx, s))
	if err == nil {
		h.mu.Lock()
		h.settled = &s
		h.mu.Unlock()
	}
	return err
}

// end returns how the stretch ended, nil if the store was not given an end.
func (h *attempt[M]) end() *runs.Settlement {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.settled
}

// isUsed reports whether the runner has used the lease.
func (h *attempt[M]) isUsed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.used
}

func (h *attempt[M]) stoppedBy() stopSource {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.by
}

// decide turns the settlement of the runner into the one that the store gets.
func (h *attempt[M]) decide(ctx context.Context, s *runs.Settlement) {
	if h.isLate() && s.Status != runs.Done {
		late := &deadlineError{h.info.Deadline}
		*s = runs.Settlement{Status: runs.Failed, Err: late.Error(), Cause: late, Checkpoint: s.Checkpoint,
			DropRecords: s.DropRecords}
	}
	switch s.Status {
	case runs.Paused:
		if h.stoppedBy() != stoppedByUser { // no user wanted it to stop: another worker continues
			s.Status, s.Err = runs.Ready, ""
		}
	case runs.Waiting:
		h.decideWaiting(ctx, s)
	case runs.Failed:
		h.decideFailed(s)
	}
	if s.Status == runs.Done || s.Status == runs.Failed {
		h.d.answerParent(h.info, s)
	}
}

// isLate reports whether the deadline of the run is over.
func (h *attempt[M]) isLate() bool {
	return !h.info.Deadline.IsZero() && !h.clock.Now().Before(h.info.Deadline)
}

// deadlineError is the reason for which a run failed whose deadline is over.
type deadlineError struct{ deadline time.Time }

func (e *deadlineError) Error() string {
	return fmt.Sprintf("the deadline of the run is over since %s", e.deadline.UTC().Format(time.RFC3339))
}

// Is makes it an error of a context whose deadline is over.
func (e *deadlineError) Is(target error) bool { return target == context.DeadlineExceeded }

// decideFailed has a run tried again whose failure may pass.
func (h *attempt[M]) decideFailed(s *runs.Settlement) {
	cause := s.Cause
	if cause == nil {
		cause = errors.New(s.Err)
	}
	h.mu.Lock()
	if h.failed != nil {
		cause = storeError{cause}
	}
	h.mu.Unlock()
	var late *deadlineError
	var poisoned *PoisonedError
	if errors.As(cause, &late) || errors.As(cause, &poisoned) { // another attempt fails the same way
		return
	}
	if after, again := h.d.retry(cause, h.info.Retries+1); again {
		s.Status, s.WakeAt = runs.Ready, h.clock.Now().Add(after)
	}
}

// answerParent gives the result to the run that waits for this one.
func (d *TypedDispatcher[M]) answerParent(info runs.Info, s *runs.Settlement) {
	if info.Parent == "" {
		return
	}
	answer := &ChildResult{Err: s.Err}
	if s.Status == runs.Done {
		m, _, err := adk.DecodeResult[M](s.Result)
		if answer.Message = m; err != nil {
			answer.Err = err.Error()
		}
	}
	encoded, err := runs.EncodeReply("", answer)
	if err != nil { // such as a message with an Extra of a type that is not registered
		encoded, _ = runs.EncodeReply("", &ChildResult{Err: "the result of the run cannot be handed on: " + err.Error()})
	}
	s.Answer = encoded.Data
}

// decideWaiting submits the runs that are waited for, and has the run wake up when a timer ends or an answer is
// overdue.
func (h *attempt[M]) decideWaiting(ctx context.Context, s *runs.Settlement) {
	s.WakeAt = earlier(s.WakeAt, h.info.Deadline)
	for i := range s.Waiting {
		p := &s.Waiting[i]
		if !p.Expires.IsZero() {
			s.WakeAt = earlier(s.WakeAt, p.Expires)
		}
		job, ok, err := jobIn[M](s.Infos[p.ID])
		if !ok {
			continue
		}
		var made runs.Child
		if err == nil {
			made, err = h.d.childOf(ctx, h.info, p.ID, job)
		}
		if err != nil {
			*s = runs.Settlement{Status: runs.Failed, Err: err.Error(), Cause: err, Checkpoint: s.Checkpoint,
				DropRecords: s.DropRecords}
			return
		}
		s.Children = append(s.Children, made)
		p.Info, _ = json.Marshal(childInfo{made.ID, made.Run.Agent})
		look := lookAtChildren
		if h.waitedFor(made.ID) {
			look = lookAgainAtChildren
		}
		s.WakeAt = earlier(s.WakeAt, h.clock.Now().Add(look))
	}
	if len(s.Children) == 0 {
		return
	}
	if err := h.d.checkChildren(ctx, h.info.ID, len(s.Children)); err != nil {
		*s = runs.Settlement{Status: runs.Failed, Err: err.Error(), Cause: err, Checkpoint: s.Checkpoint,
			DropRecords: s.DropRecords}
	}
}

// earlier is the earlier of two times of which the zero one is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
