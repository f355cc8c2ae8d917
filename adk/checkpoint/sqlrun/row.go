package sqlrun

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/internal/core"
)

const (
	defaultTTL  = 30 * time.Second
	shortestTTL = time.Second
	mostTags    = 16
	longestTag  = 128
)

// columns are those of a row, in the order in which they are read.
const columns = `no, born, id, status, token, owner, lease_until, taken, nonce, life, attempts, agent, queue, ` +
	`serial, parent, priority, wake_at, deadline, next_seq, steps, bytes, saved, asks, created_at, updated_at, ` +
	`expires_at, error, stop, details`

// row is that of a run, as it is in the database: names are keys or escaped, times are microseconds, 0 is none. Its
// methods are the transitions of checkpoint.Status that are made in Go; those that happen most often, append and
// renewal, are statements (append.go), and must agree with them. They do no I/O: whoever calls them has the row locked,
// and saves it.
type row struct {
	no int64
	// born grows from run to run: the order in which runs of one key are executed.
	born   int64
	id     string
	status checkpoint.Status
	// token is that of the lease taken last. owner is "" when that was given back: then it no longer writes.
	token      int64
	owner      string
	leaseUntil int64
	// taken is the status that the run had when the lease was taken, life how many records the lease has appended, and
	// nonce is drawn by who makes or takes the run.
	taken                              checkpoint.Status
	nonce, life, attempts              int64
	agent, queue, serial, parent       string
	priority, wakeAt, deadline         int64
	nextSeq, steps, bytes, saved, asks int64
	created, updated, expires          int64
	err                                string
	stop                               *checkpoint.StopRequest
	details                            details

	// now is the time of the database when the row was read.
	now        int64
	tenantName string
}

// details are what no query looks for. All text is escaped; names are here if their keys are hashes.
type details struct {
	ID     string            `json:"id,omitempty"`
	Parent string            `json:"parent,omitempty"`
	Point  string            `json:"point,omitempty"`
	Key    string            `json:"key,omitempty"`
	Tags   map[string]string `json:"tags,omitempty"`
	Build  string            `json:"build,omitempty"`
	Trace  string            `json:"trace,omitempty"`
	// Retries counts how often in a row the run was settled as ready with an error.
	Retries int `json:"retries,omitempty"`
}

func (d *details) text() string {
	b, _ := json.Marshal(d) // strings only
	return string(b)
}

func (d *details) read(text string) error {
	if err := json.Unmarshal([]byte(text), d); err != nil {
		return fmt.Errorf("the details of a run cannot be read: %w", err)
	}
	return nil
}

// scanRow reads columns and the time.
func scanRow(from interface{ Scan(...any) error }) (*row, error) {
	r := new(row)
	var expires sql.NullInt64
	var stop sql.NullString
	var text string
	err := from.Scan(&r.no, &r.born, &r.id, &r.status, &r.token, &r.owner, &r.leaseUntil, &r.taken, &r.nonce, &r.life,
		&r.attempts, &r.agent, &r.queue, &r.serial, &r.parent, &r.priority, &r.wakeAt, &r.deadline, &r.nextSeq,
		&r.steps, &r.bytes, &r.saved, &r.asks, &r.created, &r.updated, &expires, &r.err, &stop, &text, &r.now)
	if err != nil {
		return nil, err
	}
	r.expires = expires.Int64
	if err := r.details.read(text); err != nil {
		return nil, err
	}
	r.stop, err = readStop(stop)
	return r, err
}

func readStop(text sql.NullString) (*checkpoint.StopRequest, error) {
	if !text.Valid {
		return nil, nil
	}
	stop := new(checkpoint.StopRequest)
	if err := json.Unmarshal([]byte(text.String), stop); err != nil {
		return nil, fmt.Errorf("a request to stop cannot be read: %w", err)
	}
	return stop, nil
}

func (r *row) stopText() any {
	if r.stop == nil {
		return nil
	}
	b, _ := json.Marshal(r.stop) // numbers, strings and booleans
	return string(b)
}

// name is the ID of the run.
func (r *row) name() string { return decode(r.id, r.details.ID) }

// info is what is shown of the run.
func (r *row) info(waiting []checkpoint.WaitPoint) checkpoint.RunInfo {
	info := checkpoint.RunInfo{
		Tenant: r.tenantName, ID: r.name(), Agent: unescape(r.agent), Queue: unescape(r.queue),
		Parent: decode(r.parent, r.details.Parent), Key: decode(r.serial, r.details.Key), Status: r.status,
		Token: uint64(r.token), Owner: unescape(r.owner), LeaseUntil: at(r.leaseUntil), Waiting: waiting,
		Priority: int(r.priority), Attempts: int(r.attempts), Steps: int(r.steps), Bytes: r.bytes,
		Created: at(r.created), Updated: at(r.updated), WakeAt: at(r.wakeAt), Expires: at(r.expires),
		Retries:  r.details.Retries,
		Deadline: at(r.deadline), Build: unescape(r.details.Build), Trace: unescape(r.details.Trace),
		Error: unescape(r.err),
	}
	if len(r.details.Tags) > 0 {
		info.Tags = make(map[string]string, len(r.details.Tags))
		for name, value := range r.details.Tags {
			info.Tags[unescape(name)] = unescape(value)
		}
	}
	return info
}

// at is a time, the zero one for 0.
func at(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros)
}

// micros is the opposite of at.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// after is the time a while after another one, or the last one.
func after(now int64, d time.Duration) int64 {
	if us := d.Microseconds(); now <= math.MaxInt64-us {
		return now + us
	}
	return math.MaxInt64
}

func notFound(id string) error { return &core.CheckPointNotFoundError{ID: id} }

// isHeld reports whether somebody has a lease that has not ended.
func (r *row) isHeld() bool { return r.owner != "" && r.now < r.leaseUntil }

// counts reports whether the lease with a token may still write. (F3)
func (r *row) counts(token uint64) bool { return r.owner != "" && r.token == int64(token) }

// busy is the error of who wants a run that is held.
func (r *row) busy() error {
	return &checkpoint.BusyError{ID: r.name(), Owner: unescape(r.owner), Until: at(r.leaseUntil),
		Token: uint64(r.token)}
}

// is makes an error about the run as it is now.
func (r *row) is(err error, waiting []checkpoint.WaitPoint) error {
	return &checkpoint.RunError{Err: err, Info: r.info(waiting)}
}

// become makes a run of a row that was none.
func (r *row) become(id string, born int64, n *checkpoint.NewRun) error {
	if len(n.Tags) > mostTags {
		err := fmt.Errorf("%d tags are too many: at most %d are possible", len(n.Tags), mostTags)
		return failed("make the run of", id, err)
	}
	tags := make(map[string]string, len(n.Tags))
	for name, value := range n.Tags {
		if len(name) > longestTag || len(value) > longestTag {
			return failed("make the run of", id, fmt.Errorf("a tag is too long: at most %d bytes are possible",
				longestTag))
		}
		tags[escape(name)] = escape(value)
	}
	r.born, r.status = born, checkpoint.Ready
	r.agent, r.queue, r.serial, r.parent = escape(n.Agent), escape(n.Queue), encode(n.Key), encode(n.Parent)
	r.priority, r.deadline, r.created, r.updated = int64(n.Priority), micros(n.Deadline), r.now, r.now
	if r.wakeAt = micros(n.NotBefore); r.wakeAt == 0 {
		r.wakeAt = r.now
	}
	r.details = details{ID: hashed(id), Parent: hashed(n.Parent), Point: escape(n.ParentPoint), Key: hashed(n.Key),
		Tags: tags, Build: escape(n.Build), Trace: escape(n.Trace)}
	return nil
}

// take gives out the lease.
func (r *row) take(token, nonce int64, owner string, ttl time.Duration) {
	r.taken, r.life, r.nonce = r.status, 0, nonce
	if r.status == checkpoint.Ready {
		r.status = checkpoint.Running
	}
	if owner == "" {
		owner = "somebody"
	}
	r.token, r.owner, r.leaseUntil = token, escape(owner), after(r.now, ttl)
	r.attempts++
	r.updated = r.now
}

// free ends the lease.
func (r *row) free() { r.owner, r.leaseUntil, r.stop = "", 0, nil }

// release gives the lease back and changes nothing else, but when the run is due. A run that became ready while it was
// held, by an answer or because it was continued, stays so. A request to stop that its holder did not heed pauses it.
func (r *row) release(wakeAt int64, kept checkpoint.Retention) {
	if r.life == 0 && r.taken != "" && r.status != checkpoint.Ready {
		r.status = r.taken
	}
	if wakeAt != 0 {
		r.wakeAt = wakeAt
	}
	r.attempts = max(r.attempts-1, 0)
	stop := r.stop
	r.free()
	if stop != nil {
		r.stopBy(*stop, kept)
	}
}

// settle gives the lease back, and says what the run has come to. What is stored elsewhere is the caller's to change.
func (r *row) settle(s *checkpoint.Settlement, kept checkpoint.Retention) error {
	switch s.Status {
	case checkpoint.Ready, checkpoint.Waiting, checkpoint.Paused, checkpoint.Done, checkpoint.Failed:
	default:
		return failed("settle", r.name(), fmt.Errorf("it cannot be settled as %q", s.Status))
	}
	stop := r.stop
	r.free()
	r.attempts = 0
	if s.Status == checkpoint.Ready && s.Err != "" {
		r.details.Retries++
	} else {
		r.details.Retries = 0
	}
	r.status, r.err, r.wakeAt, r.updated = s.Status, escape(s.Err), micros(s.WakeAt), r.now
	if s.Status == checkpoint.Ready && r.wakeAt == 0 {
		r.wakeAt = r.now
	}
	keep := s.Keep
	if keep == 0 {
		keep = kept.For(s.Status)
	}
	r.keep(keep)
	if stop != nil && (s.Status == checkpoint.Ready || s.Status == checkpoint.Waiting) {
		r.stopBy(*stop, kept) // its holder did not heed it
	}
	return nil
}

// keep has the run expire after a time, never if that is not positive.
func (r *row) keep(d time.Duration) {
	r.expires = 0
	if d > 0 {
		r.expires = after(r.now, d)
	}
}

// wakeUp makes the run ready. The questions stay: their answers are not used up.
func (r *row) wakeUp() {
	r.status, r.wakeAt, r.updated, r.expires = checkpoint.Ready, r.now, r.now, 0
}

// isAnswered reports whether a run with these questions can continue. (C8)
func isAnswered(waiting []checkpoint.WaitPoint) bool {
	answered := false
	for i := range waiting {
		if !waiting[i].Answered && !waiting[i].Optional {
			return false
		}
		answered = answered || waiting[i].Answered
	}
	return answered
}

// dueAt is when a worker may take the run, NULL for never. Of a run that is held it is a time before the end of the
// lease: appends do not always move it.
func (r *row) dueAt() any {
	switch r.status {
	case checkpoint.Ready:
		return r.wakeAt
	case checkpoint.Running:
		return r.leaseUntil
	case checkpoint.Waiting:
		return null(r.wakeAt)
	}
	return nil
}

// becomesDue reports whether a worker can take the run now.
func (r *row) becomesDue() bool {
	return r.status == checkpoint.Ready && !r.isHeld() && r.wakeAt <= r.now
}
