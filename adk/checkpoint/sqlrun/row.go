package sqlrun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// columns are the columns of a row that are read, in their order: all but due_at, which follows from the others.
const columns = `no, id, status, token, held, lease_until, nonce, life, attempts, next_seq, steps, bytes, has, stops, ` +
	`updated_at, expires_at, tenant, born, agent, queue, serial, parent, priority, created_at, data`

// row holds the row of an ID: of a run, if its status is not "", and otherwise of what was stored without a lease. Code that
// changes it has it locked, and saves it. What each append changes has a column of its own (see appendRow); the rest is in
// data, and in the values: the answers and the result of a run.
type row struct {
	storekit.Row
	no  int64
	key string
	// nonce is drawn by the client that makes, takes or settles the run: one that lost the reply recognises its own write
	// by it.
	nonce int64
	// life is the number of records that the lease has appended, and nextSeq the number of the last record of the journal.
	life, nextSeq int64
	// has says which values there are.
	has valueKind
	// stops counts the requests to stop.
	stops int64

	// now is the time of the database when the row was read.
	now time.Time
	// was holds the dependents of the row, as it was read.
	was dependents
}

// dependents holds what changes with a row in other places.
type dependents struct {
	asks     []ask
	answers  int
	stopping *runs.StopRequest
	// due: a worker could take the run. blocks: runs of its key had to wait for it.
	due, blocks bool
}

func (r *row) dependents() dependents {
	_, due := r.DueAt(r.now)
	return dependents{asksOf(r.Run.Waiting), len(r.Answers), r.Stopping, due, r.BlocksKey()}
}

// isRun reports whether the row is the row of a run.
func (r *row) isRun() bool { return r.Run.Status != "" }

// unreadable is the error of a row whose data cannot be read, with what its columns say.
type unreadable struct {
	*storekit.RowError
	row *row
}

func (e *unreadable) Unwrap() error { return e.RowError }

// shown returns the row for lists: by its columns, of which one may be damaged.
func (e *unreadable) shown() *row {
	e.row.Run.Error = e.Unreadable().Error
	return e.row
}

// scanRow reads columns and the time. The error of data that cannot be read is an unreadable.
func scanRow(from interface{ Scan(...any) error }) (*row, error) {
	r := new(row)
	var status runs.Status
	var token, held, leaseUntil, attempts, steps, bytes, updated, now int64
	var expires sql.NullInt64
	var data []byte
	var f fixed
	err := from.Scan(&r.no, &r.key, &status, &token, &held, &leaseUntil, &r.nonce, &r.life, &attempts, &r.nextSeq, &steps,
		&bytes, &r.has, &r.stops, &updated, &expires, &f.tenant, &f.born, &f.agent, &f.queue, &f.serial, &f.parent, &f.priority,
		&f.created, &data, &now)
	if err != nil {
		return nil, err
	}
	f.id, f.token, f.held, f.nonce, f.has, f.stops = r.key, token, held, r.nonce, int64(r.has), r.stops
	saved, bad := decodeRow(data, r.no, &f)
	if bad == nil {
		r.Row = *saved
	} else if held == 1 {
		r.Run.Owner = "somebody"
	}
	r.now = at(now)
	i := &r.Run
	if id, ok := decode(r.key); ok {
		i.ID = id
	} else if bad != nil {
		i.ID = r.key
	}
	i.Status, i.Token, i.LeaseUntil, i.Attempts = status, uint64(token), at(leaseUntil), int(attempts)
	i.Steps, i.Bytes, i.Updated, i.Expires = int(steps), bytes, at(updated), at(expires.Int64)
	if bad == nil {
		bad = saved.CheckMoved(storekit.Moved{Life: r.life, Status: i.Status, Attempts: i.Attempts, Steps: i.Steps, Expires: i.Expires})
	}
	if bad == nil && r.nextSeq != steps {
		bad = fmt.Errorf("%w: its columns steps and next_seq are %d and %d", runs.ErrUnreadable, steps, r.nextSeq)
	}
	if r.life > 0 {
		r.TakenSteps = -1 // so that giving the lease back leaves the run running
	}
	r.was = r.dependents()
	if bad != nil {
		r.was.blocks = true // perhaps: it is not known which key it has
		return nil, &unreadable{storekit.NewRowError(i.ID, bad), r}
	}
	return r, nil
}

// at is a time, the zero one for 0.
func at(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros)
}

// micros returns a time in microseconds, 0 for none: what at reads.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return storekit.Micros(t)
}

// lock reads the row of an ID and locks it; nil if there is none.
func (t *transaction) lock(ctx context.Context, id string) (*row, error) {
	return t.lockBy(ctx, `tenant = $1 AND id = $2`, t.tenant, encode(id))
}

// lockNo reads the row with a number and locks it; nil if there is none.
func (t *transaction) lockNo(ctx context.Context, no int64) (*row, error) {
	return t.lockBy(ctx, `no = $1`, no)
}

func (t *transaction) lockBy(ctx context.Context, where string, args ...any) (*row, error) {
	r, err := scanRow(t.one(ctx, `SELECT {columns}, {now} FROM {runs} WHERE `+where+`{for_update}`, args...))
	return t.own(ctx, r, err)
}

// lockRun is lock for a run that must exist: what was written without a lease is none.
func (t *transaction) lockRun(ctx context.Context, id string) (*row, error) {
	r, err := t.lock(ctx, id)
	if err == nil && (r == nil || !r.isRun()) {
		return nil, storekit.NotFound(id)
	}
	return r, err
}

// own reads what else belongs to a row that was locked. That there is no row is no error.
func (t *transaction) own(ctx context.Context, r *row, err error) (*row, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.Run.Tenant = t.name
	if r.has&answersValue == 0 {
		return r, nil
	}
	var data []byte
	err = t.one(ctx, `SELECT data FROM {vals} WHERE run = $1 AND kind = $2`, r.no, answersValue).Scan(&data)
	if err != nil {
		return nil, err
	}
	if data, err = checkValue(r.Run.ID, data, r.no, answersValue); err == nil {
		r.Answers, err = decodeAnswers(data)
	}
	if err != nil {
		return nil, &unreadable{storekit.NewRowError(r.Run.ID, err), r}
	}
	r.was.answers = len(r.Answers)
	return r, nil
}

// plain makes the row of an ID that has none: it is no run. It returns nil if another process made one meanwhile.
func (t *transaction) plain(ctx context.Context, id string) (*row, error) {
	no, err := t.next(ctx)
	if err != nil {
		return nil, err
	}
	data, err := encodeRow(&row{Row: storekit.Row{Run: runs.Info{ID: id}, Born: uint64(no)}, no: no, key: encode(id)}, t.tenant)
	if err != nil {
		return nil, err
	}
	made, err := t.exec(ctx, `INSERT INTO {runs} (no, born, tenant, id, status, token, held, lease_until, nonce, life,
			attempts, agent, queue, serial, parent, priority, next_seq, steps, bytes, has, stops, created_at, updated_at, data)
		VALUES ($1, $1, $2, $3, '', 0, 0, 0, 0, 0, 0, '', '', '', '', 0, 0, 0, 0, 0, 0, 0, {now}, $4)
		ON CONFLICT (tenant, id) DO NOTHING`, no, t.tenant, encode(id), data)
	if err != nil || made == 0 {
		return nil, err
	}
	return t.lockNo(ctx, no)
}

// lockOrMake reads and locks the row of an ID, or makes it.
func (t *transaction) lockOrMake(ctx context.Context, id string) (*row, error) {
	for range 10 {
		r, err := t.lock(ctx, id)
		if r != nil || err != nil {
			return r, err
		}
		if r, err = t.plain(ctx, id); r != nil || err != nil {
			return r, err
		}
	}
	return nil, fmt.Errorf("the row is made and removed all the time")
}

// save writes the row, and what depends on it.
func (t *transaction) save(ctx context.Context, r *row) error {
	if r.Stopping != nil && r.Stopping != r.was.stopping {
		r.stops++
	}
	is := r.dependents()
	if err := t.saveAnswers(ctx, r); err != nil {
		return err
	}
	if err := t.saveAsks(ctx, r, is.asks); err != nil {
		return err
	}
	if is.due && !r.was.due {
		t.woken = append(t.woken, runs.Due{Queues: []string{r.Run.Queue}, Agents: []string{r.Run.Agent}})
	}
	ends := r.was.blocks && !is.blocks
	r.was = is
	if err := t.write(ctx, r); err != nil || !ends {
		return err
	}
	t.woken = append(t.woken, runs.Due{}) // the next run of the key is due; its queue is not known
	return t.nextOfKey(ctx, r)
}

func (t *transaction) write(ctx context.Context, r *row) error {
	if r.Run.Status != runs.Ready || r.Run.Owner != "" {
		r.has &^= isBehind
	}
	f := r.fixed(t.tenant)
	data, err := encodeRow(r, t.tenant)
	if err != nil {
		return err
	}
	var due any
	if from, ok := r.DueFrom(); ok && r.has&isBehind == 0 {
		due = micros(from)
	}
	i := &r.Run
	_, err = t.exec(ctx, `UPDATE {runs} SET born = $2, status = $3, token = $4, held = $5, lease_until = $6, nonce = $7,
			life = $8, attempts = $9, agent = $10, queue = $11, serial = $12, parent = $13, priority = $14, due_at = $15,
			next_seq = $16, steps = $17, bytes = $18, has = $19, stops = $20, created_at = $21, updated_at = $22,
			expires_at = $23, data = $24
		WHERE no = $1`,
		r.no, f.born, string(i.Status), f.token, f.held, micros(i.LeaseUntil), f.nonce, r.life, i.Attempts,
		f.agent, f.queue, f.serial, f.parent, f.priority, due, r.nextSeq, i.Steps, i.Bytes,
		r.has, f.stops, f.created, micros(i.Updated), null(micros(i.Expires)), data)
	return err
}

// null is NULL for 0.
func null(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// remove removes the row and everything of it.
func (t *transaction) remove(ctx context.Context, r *row) error {
	if err := t.dropRecords(ctx, r); err != nil {
		return err
	}
	for _, table := range perRun {
		if _, err := t.exec(ctx, `DELETE FROM `+table+` WHERE run = $1`, r.no); err != nil {
			return err
		}
	}
	if r.was.blocks {
		// It is behind no other one any more, and must not be found as the next one.
		if _, err := t.exec(ctx, `UPDATE {runs} SET status = '' WHERE no = $1`, r.no); err != nil {
			return err
		}
		if err := t.nextOfKey(ctx, r); err != nil {
			return err
		}
		t.woken = append(t.woken, runs.Due{})
	}
	_, err := t.exec(ctx, `DELETE FROM {runs} WHERE no = $1`, r.no)
	return err
}

// ask is a key by which lists find runs: the kind of an unanswered question, and whom it waits for, "" if it waits for no
// one in particular.
type ask struct{ kind, whom string }

// asksOf returns the asks of the questions of a run, in order, each once.
func asksOf(waiting []runs.Question) (asks []ask) {
	for _, p := range waiting {
		if p.Answered {
			continue
		}
		kind := encode(string(p.Kind))
		if len(p.For) == 0 {
			asks = append(asks, ask{kind, ""})
		}
		for _, whom := range p.For {
			asks = append(asks, ask{kind, encode(whom)})
		}
	}
	slices.SortFunc(asks, func(a, b ask) int {
		if c := strings.Compare(a.kind, b.kind); c != 0 {
			return c
		}
		return strings.Compare(a.whom, b.whom)
	})
	return slices.Compact(asks)
}

// saveAsks has the table of questions say what the row does.
func (t *transaction) saveAsks(ctx context.Context, r *row, asks []ask) error {
	if slices.Equal(r.was.asks, asks) {
		return nil
	}
	if len(r.was.asks) > 0 {
		if _, err := t.exec(ctx, `DELETE FROM {asks} WHERE run = $1`, r.no); err != nil {
			return err
		}
	}
	for _, a := range asks {
		_, err := t.exec(ctx, `INSERT INTO {asks} (run, kind, whom, tenant, status, updated_at, id)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`, r.no, a.kind, a.whom, t.tenant, string(r.Run.Status), micros(r.Run.Updated), r.key)
		if err != nil {
			return err
		}
	}
	return nil
}

// saveAnswers writes the answers if there are others than when the row was read. The row has to be written.
func (t *transaction) saveAnswers(ctx context.Context, r *row) error {
	if len(r.Answers) == r.was.answers {
		return nil
	}
	if len(r.Answers) == 0 {
		return t.drop(ctx, r, answersValue)
	}
	data, err := encodeAnswers(r.Answers)
	if err != nil {
		return err
	}
	return t.put(ctx, r, answersValue, data)
}

// Answers are written like a row that has nothing else.

func encodeAnswers(answers []runs.Reply) ([]byte, error) {
	r := storekit.Row{Answers: answers}
	return r.Encode()
}

func decodeAnswers(data []byte) ([]runs.Reply, error) {
	r, err := storekit.DecodeRow(data)
	if err != nil {
		return nil, err
	}
	return r.Answers, nil
}
