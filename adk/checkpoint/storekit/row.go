package storekit

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weftgo/weft/runs"
)

// Bounds of what is kept of a run.
const (
	mostTags   = 16
	longestTag = 128
	// largestValue is the largest size of a checkpoint, a record, an answer or a result.
	largestValue = 64 << 20
	defaultTTL   = 30 * time.Second
	shortestTTL  = time.Second
)

// Row is the state of a run that a store keeps beside its checkpoint and its journal. Its methods are the transitions of
// [runs.Status], and all that a store decides about a run: they read no clock, do no I/O and lock nothing. The caller must not
// share the row, and writes it back if they succeed.
type Row struct {
	// Run is shown to all callers. Its Tenant is set by the store that lists it.
	Run runs.Info
	// ParentPoint is the question of the parent that waits for the run.
	ParentPoint string
	// Born grows from run to run: the order in which runs of one key are executed. Row.Info puts it into the RunInfo;
	// that in Run has none.
	Born uint64
	TTL  time.Duration
	// Taken is the status that the run had when its lease was taken, and TakenSteps how many records it had.
	Taken      runs.Status
	TakenSteps int
	Answers    []runs.Reply
	Result     []byte
	// Stopping is a request to stop that the holder of the lease has not settled yet.
	Stopping *runs.StopRequest
}

// New makes a run that is ready.
func New(id string, n runs.Spec, born uint64, now time.Time) (*Row, error) {
	if err := checkTags(id, n.Tags); err != nil {
		return nil, err
	}
	r := &Row{Born: born, ParentPoint: n.ParentPoint, Run: runs.Info{ID: id, Agent: n.Agent, Queue: n.Queue, Parent: n.Parent,
		Key: n.Key, Status: runs.Ready, Tags: maps.Clone(n.Tags), Priority: n.Priority, Deadline: n.Deadline, Build: n.Build,
		Trace: n.Trace, Created: now, Updated: now, WakeAt: n.NotBefore}}
	if r.Run.WakeAt.IsZero() {
		r.Run.WakeAt = now
	}
	for _, record := range n.Records {
		if err := CheckSize("submit", id, record); err != nil {
			return nil, err
		}
		r.Run.Steps++
		r.Run.Bytes += int64(len(record))
	}
	return r, nil
}

func checkTags(id string, tags map[string]string) error {
	if len(tags) > mostTags {
		return Failed("make the run of", id, fmt.Errorf("%d tags are too many: at most %d are possible", len(tags), mostTags))
	}
	for key, value := range tags {
		if len(key) > longestTag || len(value) > longestTag {
			return Failed("make the run of", id, fmt.Errorf("a tag is too long: at most %d bytes are possible", longestTag))
		}
	}
	return nil
}

// ttlOf returns the TTL of a request: the default without one, and no less than a second.
func ttlOf(req runs.LeaseRequest) time.Duration {
	if req.TTL <= 0 {
		return defaultTTL
	}
	return max(req.TTL, shortestTTL)
}

// Held reports whether a lease of the run has not ended.
func (r *Row) Held(now time.Time) bool { return r.Run.Owner != "" && now.Before(r.Run.LeaseUntil) }

// Busy returns the error for a caller that asks for a run that is held.
func (r *Row) Busy() error {
	return &runs.BusyError{ID: r.Run.ID, Owner: r.Run.Owner, Until: r.Run.LeaseUntil, Token: r.Run.Token}
}

// Refuse returns an error about the run, with its present information.
func (r *Row) Refuse(err error) error { return &runs.Error{Err: err, Info: r.Info()} }

// Info returns a copy of what callers may see of the run.
func (r *Row) Info() runs.Info {
	i := r.Run
	i.Born = r.Born
	i.Tags = maps.Clone(i.Tags)
	i.Waiting = ownedPoints(i.Waiting)
	return i
}

// Acquire takes the lease, and returns the run as it was before.
func (r *Row) Acquire(token uint64, req runs.LeaseRequest, now time.Time) (before runs.Info, err error) {
	if r.Held(now) && !req.Steal {
		return before, r.Busy()
	}
	before = r.Info()
	r.Taken, r.TakenSteps, r.TTL = r.Run.Status, r.Run.Steps, ttlOf(req)
	if r.Run.Status == runs.Ready {
		r.Run.Status = runs.Running
	}
	owner := req.Owner
	if owner == "" {
		owner = "somebody"
	}
	r.Run.Token, r.Run.Owner, r.Run.LeaseUntil = token, owner, now.Add(r.TTL)
	r.Run.Attempts++
	r.Run.Updated = now
	return before, nil
}

// Holds reports whether a lease may still write: no other process took the run since, and it was not settled.
// Rule distributed/F3.
func (r *Row) Holds(token uint64) bool { return r.Run.Token == token && r.Run.Owner != "" }

// Renew extends the lease: its holder has shown that it is alive.
func (r *Row) Renew(now time.Time) { r.Run.LeaseUntil = now.Add(r.TTL) }

// Appended counts a record that the holder has appended, and extends its lease.
func (r *Row) Appended(size int, now time.Time) {
	if r.Run.Steps > r.TakenSteps { // the first one says only that it lives
		r.Run.Attempts = 1
	}
	r.Run.Steps++
	r.Run.Bytes += int64(size)
	r.Run.Status, r.Run.Expires = runs.Running, time.Time{} // what runs does not expire, also when its holder dies
	r.Run.Updated = now
	r.Renew(now)
}

// Settle gives the lease back. Checkpoint and journal are the caller's to change.
func (r *Row) Settle(s runs.Settlement, kept runs.Retention, now time.Time) error {
	if s.Status == "" {
		r.release(s.WakeAt, kept, now)
		return nil
	}
	switch s.Status {
	case runs.Ready, runs.Waiting, runs.Paused, runs.Done, runs.Failed:
	default:
		return Failed("settle", r.Run.ID, fmt.Errorf("it cannot be settled as %q", s.Status))
	}
	stop := r.Stopping
	r.free()
	r.Run.Attempts, r.Answers = 0, nil
	r.Run.Status, r.Run.Error, r.Run.WakeAt, r.Run.Updated = s.Status, s.Err, s.WakeAt, now
	r.Run.Waiting, r.Result = nil, nil
	if s.Usage != (runs.Usage{}) {
		r.Run.Usage = s.Usage
	}
	if s.Status == runs.Ready && s.Err != "" {
		r.Run.Retries++
	} else {
		r.Run.Retries = 0
	}
	switch s.Status {
	case runs.Waiting:
		r.Run.Waiting = askedPoints(s.Waiting)
	case runs.Done:
		r.Result = Owned(s.Result)
	case runs.Ready:
		if s.WakeAt.IsZero() {
			r.Run.WakeAt = now
		}
	}
	keep := s.Keep
	if keep == 0 {
		keep = kept.For(s.Status)
	}
	r.Run.Expires = time.Time{}
	if keep > 0 {
		r.Run.Expires = now.Add(keep)
	}
	if stop != nil && (s.Status == runs.Ready || s.Status == runs.Waiting) { // its holder did not heed it
		return r.Stop(*stop, kept, now)
	}
	return nil
}

// Progressed marks the run as running when the holder has appended records without a call of [Row.Appended].
func (r *Row) Progressed() {
	r.Run.Status, r.Run.Expires = runs.Running, time.Time{}
	r.TakenSteps = -1
}

// release gives the lease back and changes nothing else. A run that became ready while it was held, by an answer or
// because it was continued, stays so. A request to stop that its holder did not heed pauses it. wakeAt is the time from which
// a worker takes it; zero leaves the time it had, and means at once for a run that was being executed.
func (r *Row) release(wakeAt time.Time, kept runs.Retention, now time.Time) {
	if r.Run.Steps == r.TakenSteps && r.Taken != "" && r.Run.Status != runs.Ready {
		r.Run.Status = r.Taken
	}
	if !wakeAt.IsZero() || r.Run.Status == runs.Running {
		r.Run.WakeAt = wakeAt
	}
	r.Run.Attempts = max(r.Run.Attempts-1, 0)
	stop := r.Stopping
	r.free()
	if stop != nil {
		_ = r.Stop(*stop, kept, now) // one that has ended stays so
	}
}

// free ends the lease.
func (r *Row) free() { r.Run.Owner, r.Run.LeaseUntil, r.Stopping = "", time.Time{}, nil }

// AskedAgain updates the question at which the parent of the run waits for it. Stores call it when a parent that was resumed
// for something else meanwhile submits its child once more, under another question. It reports whether the row has changed.
// Rule distributed/D8.
func (r *Row) AskedAgain(n runs.Spec) bool {
	if n.Parent == "" || n.Parent != r.Run.Parent || n.ParentPoint == r.ParentPoint {
		return false
	}
	r.ParentPoint = n.ParentPoint
	return true
}

// isLate reports whether a question has expired before its answer came. The end of a child run is never late.
// Rule distributed/C11.
func isLate(p *runs.Question, now time.Time) bool {
	return !p.Expires.IsZero() && !now.Before(p.Expires) && p.Kind != runs.KindRun
}

// Answer takes all answers or none. That a run is paused which waits for them changes only that it stays so.
// Rule distributed/C7.
func (r *Row) Reply(answers []runs.Reply, now time.Time) error {
	isWaiting := r.Run.Status == runs.Waiting || r.Run.Status == runs.Paused
	waiting := slices.Clone(r.Run.Waiting)
	answers, err := EncodedReplies(answers)
	if err != nil {
		return err
	}
	for _, a := range answers {
		if err := CheckSize("answer", r.Run.ID, a.Data); err != nil {
			return err
		}
		i := slices.IndexFunc(waiting, func(p runs.Question) bool { return p.ID == a.To })
		switch {
		case i >= 0 && waiting[i].Answered && !isWaiting: // another caller was faster
			return r.Refuse(fmt.Errorf("%w; %w", runs.ErrReplied, runs.ErrNotWaiting))
		case i >= 0 && waiting[i].Answered:
			return r.Refuse(runs.ErrReplied)
		case i < 0 || !isWaiting:
			return r.Refuse(runs.ErrNotWaiting)
		case isLate(&waiting[i], now): // whether or not a worker has looked since
			return r.Refuse(fmt.Errorf("%w; %w", runs.ErrReplyLate, runs.ErrNotWaiting))
		}
		waiting[i].Answered = true
	}
	if !isWaiting {
		return r.Refuse(runs.ErrNotWaiting)
	}
	r.Run.Waiting = waiting
	for _, a := range answers {
		a.Data, a.At = slices.Clone(a.Data), now
		r.Answers = append(slices.Clip(r.Answers), a)
	}
	r.Run.Updated = now
	if r.Run.Status == runs.Waiting && isAnswered(waiting) { // also while a process holds the run: it is due once the lease ends
		r.wake(now)
	}
	return nil
}

// isAnswered reports whether a run that waits for these questions can continue.
// Rule distributed/C8.
func isAnswered(waiting []runs.Question) bool {
	needed := func(p runs.Question) bool { return !p.Optional && !p.Answered }
	return !slices.ContainsFunc(waiting, needed) &&
		slices.ContainsFunc(waiting, func(p runs.Question) bool { return p.Answered })
}

// wake makes the run ready now. The questions stay: their answers are not used up.
func (r *Row) wake(now time.Time) {
	r.Run.Status, r.Run.WakeAt, r.Run.Updated, r.Run.Expires = runs.Ready, now, now, time.Time{}
}

// Stop asks the holder to stop, or pauses a run that no process holds: a lease that has ended is taken away, as its holder
// may be alive and continue.
func (r *Row) Stop(how runs.StopRequest, kept runs.Retention, now time.Time) error {
	switch r.Run.Status {
	case runs.Done, runs.Failed:
		return r.Refuse(runs.ErrEnded)
	case runs.Paused:
		if !r.Held(now) {
			return nil
		}
	}
	if r.Held(now) {
		r.Stopping = &how
		return nil
	}
	r.free()
	r.Run.Status, r.Run.Error, r.Run.Updated, r.Run.Expires = runs.Paused, how.Reason, now, time.Time{}
	if keep := kept.For(runs.Paused); keep > 0 {
		r.Run.Expires = now.Add(keep)
	}
	return nil
}

// Continue makes a paused run ready, or lets it wait on.
func (r *Row) Continue(now time.Time) error {
	switch {
	case r.Run.Status == runs.Paused && len(r.Run.Waiting) > 0 && !isAnswered(r.Run.Waiting):
		r.Run.Status, r.Run.Updated, r.Run.Expires = runs.Waiting, now, time.Time{}
	case r.Run.Status == runs.Paused:
		r.wake(now)
	case r.Run.Status == runs.Ready || r.Run.Status == runs.Running:
	default:
		err := runs.ErrNotWaiting
		if r.Run.Status != runs.Waiting {
			err = runs.ErrEnded
		}
		return r.Refuse(err)
	}
	return nil
}

// DueFrom returns the time from which a worker has to take the run, unless it is held then, and false if there is none. For a
// run that is held it is the end of the lease.
func (r *Row) DueFrom() (from time.Time, ok bool) {
	switch r.Run.Status {
	case runs.Ready:
		return r.Run.WakeAt, true
	case runs.Running:
		if r.Run.Owner == "" { // it was given back
			return r.Run.WakeAt, true
		}
		return r.Run.LeaseUntil, true
	case runs.Waiting:
		return r.Run.WakeAt, !r.Run.WakeAt.IsZero()
	}
	return from, false
}

// DueAt returns the time since which a worker can take the run, and false if none can.
func (r *Row) DueAt(now time.Time) (since time.Time, due bool) {
	since, due = r.DueFrom()
	return since, due && !r.Held(now) && !since.After(now)
}

// BlocksKey reports whether later runs of its key have to wait for the run.
// Rule distributed/D10.
func (r *Row) BlocksKey() bool {
	switch r.Run.Status {
	case runs.Ready, runs.Running, runs.Waiting:
		return r.Run.Key != ""
	}
	return r.Run.Key != "" && r.Run.Owner != "" // a lease was taken to continue with it
}

// IsBehind reports whether the run cannot be taken because of another one of its key: one that was made before and has
// not ended, or one that is being executed.
// Rule distributed/D10.
func (r *Row) IsBehind(other *Row, now time.Time) bool {
	return r.Run.Key != "" && other.Run.Key == r.Run.Key && other.Run.ID != r.Run.ID &&
		(other.Born < r.Born && other.BlocksKey() || other.Held(now))
}

// Expired reports whether the run is to be swept.
func (r *Row) Expired(now time.Time) bool {
	return !r.Run.Expires.IsZero() && now.After(r.Run.Expires) && !r.Held(now)
}

// IsAmong reports whether the run is one that is looked for.
func (r *Row) IsAmong(d runs.Due) bool {
	return (len(d.Queues) == 0 && r.Run.Queue != OwnQueue || slices.Contains(d.Queues, r.Run.Queue)) &&
		(len(d.Agents) == 0 || slices.Contains(d.Agents, r.Run.Agent))
}

// Before orders runs that are due: priority, then since when, then as they were made.
func (r *Row) Before(other *Row, since, otherSince time.Time) bool {
	switch {
	case r.Run.Priority != other.Run.Priority:
		return r.Run.Priority > other.Run.Priority
	case !since.Equal(otherSince):
		return since.Before(otherSince)
	}
	return r.Born < other.Born
}
